# shellcheck shell=bash
# Fresh roots of Debian for test-packages.sh and test-containers.sh, which source it. Needs root, mmdebstrap and a Debian mirror.

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

say() { printf '== %s\n' "$*" >&2; }
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# need COMMAND PACKAGE
need() {
    command -v "$1" >/dev/null || fail "$1 is missing: apt-get install $2"
}

[ "$(id -u)" = 0 ] || fail "this needs root"
need mmdebstrap mmdebstrap
need unshare util-linux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# package ARCH: its newest package.
package() {
    local folder=${CARGO_TARGET_DIR:-target}/packages found
    found=$(find "$folder" -name "dgt2mqtt_*_$1.deb" -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -1 | cut -d' ' -f2-)
    [ -n "$found" ] || fail "no package for $1: scripts/package.sh $1 makes one"
    realpath "$found"
}

# fresh SUITE ROOT PACKAGES: what the installer of Debian leaves, in small.
fresh() {
    mmdebstrap --mode=root --quiet --variant=minbase --include="$3" "$1" "$2" "deb $mirror $1 main"
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$2/etc/hosts"
    # No service is started in a folder.
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"
    chmod 755 "$2/usr/sbin/policy-rc.d"
}

# inside ROOT COMMAND...: runs it there, with processes and a network of its own, which end with it.
inside() {
    local root=$1
    shift
    # shellcheck disable=SC2016 # the inner shell fills these in
    unshare --net --pid --fork --kill-child --mount --uts --ipc sh -ec '
        root=$1
        shift
        hostname hall-pi
        ip link set lo up
        mount -t proc proc "$root/proc"
        mount --bind /dev "$root/dev"
        mount --bind /dev/pts "$root/dev/pts"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
    ' sh "$root" "$@"
}

# apt ROOT ARGUMENT...: as a user calls it, so with what is recommended.
apt() {
    local root=$1
    shift
    chroot "$root" /usr/bin/env DEBIAN_FRONTEND=noninteractive apt-get "$@" >>"$work/apt.log" 2>&1 </dev/null ||
        { tail -20 "$work/apt.log" >&2 && fail "apt-get $*"; }
}
