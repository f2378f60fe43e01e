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
booted=''
trap '[ -z "$booted" ] || kill -KILL "$booted"; rm -rf "$work"' EXIT

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

# boot ROOT: a systemd in it, with processes and a network of its own, for `within`. What it changes there is lost with it.
boot() {
    mkdir -p "$work/nothing"
    unshare --pid --fork --kill-child --mount --cgroup --uts --ipc --net \
        tests/systemd/boot.sh "$work/nothing" "$1" </dev/null >"$work/boot.log" 2>&1 &
    booted=$!
    local state=''
    until [[ $state == running || $state == degraded ]]; do
        kill -0 "$booted" 2>/dev/null || { cat "$work/boot.log" >&2 && fail "no systemd can be booted here"; }
        sleep 0.2
        init=$(tr -d ' ' <"/proc/$booted/task/$booted/children" 2>/dev/null) || continue
        [ -z "$init" ] || state=$(within systemctl is-system-running 2>/dev/null || true)
    done
    nsenter --target "$init" --net ip link set lo up
    # Here services are started.
    within rm -f /usr/sbin/policy-rc.d
}

# within COMMAND...: beside the systemd that was booted.
within() {
    nsenter --target "$init" --pid --mount --cgroup --uts --ipc --net \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

unboot() {
    # `unshare` hears nothing less, and all within end with it.
    { kill -KILL "$booted" && wait "$booted"; } 2>/dev/null || true
    booted=''
}
