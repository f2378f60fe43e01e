#!/usr/bin/env bash
# Makes packages for Debian 12 and 13 in target/packages: scripts/package.sh [amd64|arm64|armhf...]
# Without a name: for the machine that it runs on. docs/release.md says what the other ones need.
#
#   --binary FILE   packs this program instead of building it (one architecture)
#   --tree FOLDER   leaves what would be packed there, and packs nothing
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

# What an SD card should have to spare for it.
MOST_INSTALLED_KIB=$((15 * 1024))
MOST_PACKED_KIB=$((5 * 1024))
# Whom Debian's tools name; whoever passes packages on sets another one.
MAINTAINER=${DGT2MQTT_MAINTAINER:-The dgt2mqtt developers <dgt2mqtt@localhost.localdomain>}

target=${CARGO_TARGET_DIR:-target}
version=$(sed -n '/^\[package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
# Debian sorts 0.2.0~rc.1 before 0.2.0.
debian_version=${version/-/\~}
# The same commit makes the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

say() { printf '\n== %s\n' "$*" >&2; }
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}
need() {
    command -v "$1" >/dev/null || fail "$1 is missing: apt-get install $2"
}

# triple ARCH: what Rust calls it.
triple() {
    case $1 in
    amd64) echo x86_64-unknown-linux-gnu ;;
    arm64) echo aarch64-unknown-linux-gnu ;;
    armhf) echo armv7-unknown-linux-gnueabihf ;;
    *) fail "no packages are made for $1: amd64, arm64 or armhf" ;;
    esac
}

# build ARCH: builds the program, without the broker that `demo` carries, which would make the package too large; says where it is.
build() {
    local triple
    triple=$(triple "$1")
    if [ "$1" = "$(dpkg --print-architecture)" ]; then
        cargo build --locked --profile dist --no-default-features --features daemon --bin dgt2mqtt >&2
        echo "$target/dist/dgt2mqtt"
        return
    fi
    # Debian's compiler, whose sources are a package: the standard library is built with the program.
    local gcc=${triple/-unknown/} name=${triple//-/_}
    gcc=${gcc/armv7/arm}-gcc
    need "$gcc" "gcc-${gcc%-gcc}"
    [ -d /usr/lib/rust-web ] || [ -x /usr/bin/rustc ] || fail "rustc-web is missing: apt-get install rustc-web cargo-web rust-web-src"
    env RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
        "CARGO_TARGET_${name^^}_LINKER=$gcc" "CC_$name=$gcc" \
        /usr/bin/cargo build --locked --profile dist --no-default-features --features daemon --bin dgt2mqtt -Zbuild-std=std,panic_unwind --target "$triple" >&2
    echo "$target/$triple/dist/dgt2mqtt"
}

# glibc BINARY: the oldest glibc that has all that it asks for.
glibc() {
    readelf --version-info --wide "$1" | grep -o 'GLIBC_[0-9][0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -1
}

# put MODE SOURCE... FOLDER: as install does, with the folder made.
put() {
    local mode=$1
    shift
    install -d "${*: -1}"
    install -m "$mode" "$@"
}

# compressed FILE: writes standard input there, the same bytes for the same input.
compressed() {
    gzip -9n >"$1"
    chmod 644 "$1"
}

# third_party ARCH: the libraries in the program, and the texts of their licences, each once.
third_party() {
    local crates seen=' ' sum
    crates=$(cargo tree --locked --no-default-features --features daemon --target "$(triple "$1")" --edges normal --prefix none --format '{p} {l}' |
        sed 's/ (\(\*\|proc-macro\))//g' | grep -v '^dgt2mqtt ' | sed 's/ v/ /' | sort -u)
    printf '%s\n' "$crates"
    # The folders in which cargo keeps them are called NAME-VERSION.
    local folder text
    cargo metadata --locked --format-version 1 | grep -o '"manifest_path":"[^"]*"' | cut -d'"' -f4 | xargs -n1 dirname |
        awk -F/ 'NR == FNR { split($0, crate, " "); ours[crate[1] "-" crate[2]]; next } $NF in ours' <(printf '%s\n' "$crates") - |
        while read -r folder; do
            for text in "$folder"/{LICENSE,LICENCE,COPYING,NOTICE}*; do
                [ -f "$text" ] || continue
                sum=$(sha256sum <"$text")
                [[ $seen == *" $sum "* ]] && continue
                seen+="$sum "
                printf '\n---- %s/%s\n\n' "$(basename "$folder")" "$(basename "$text")"
                cat "$text"
            done
        done
}

# relink FOLDER: all pages lie side by side there; pictures are left out, and what else is not there is named only.
relink() {
    local target
    sed -i 's#](docs/#](#g; s#](\.\./#](#g; /^!\[/d' "$1"/*.md
    grep -ohE '\]\([^)#:]+' "$1"/*.md | cut -c3- | sort -u | while read -r target; do
        [ -e "$1/$target" ] || sed -i -E "s#\[([^]]*)\]\(${target}[^)]*\)#\1#g" "$1"/*.md
    done
}

# stage ARCH BINARY TREE: lays out what is installed.
stage() {
    local tree=$3 doc=$3/usr/share/doc/dgt2mqtt
    install -d "$tree/usr/bin"
    install -m 755 -T "$2" "$tree/usr/bin/dgt2mqtt"
    put 644 systemd/dgt2mqtt.service systemd/dgt2mqtt-dashboard.service systemd/dgt2mqtt-archive.service 'systemd/dgt2mqtt-rfcomm@.service' "$tree/usr/lib/systemd/system"
    put 644 packaging/debian/user.conf "$tree/usr/lib/systemd/system/dgt2mqtt.service.d"
    # udev is told by its own folder what may be overridden in /etc.
    put 644 udev/70-dgt2mqtt.rules "$tree/usr/lib/udev/rules.d"
    put 644 docs/dgt2mqtt.example.toml "$tree/etc/dgt2mqtt"

    put 644 README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md docs/*.md docs/mosquitto.acl "$doc"
    put 644 docs/dgt2mqtt.example.toml "$doc"
    put 644 docs/schema/* "$doc/schema"
    put 644 contrib/prometheus/dgt2mqtt.rules.yml contrib/grafana/dgt2mqtt.json contrib/archive/queries.sql scripts/rollout.sh "$doc/contrib"
    relink "$doc"
    put 644 packaging/debian/copyright "$doc"
    install -d "$tree/usr/share/lintian/overrides"
    install -m 644 -T packaging/debian/lintian-overrides "$tree/usr/share/lintian/overrides/dgt2mqtt"
    third_party "$1" | compressed "$doc/third-party.gz"
    printf 'dgt2mqtt (%s) stable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' "$debian_version" "$MAINTAINER" \
        "$(date --utc --date="@$SOURCE_DATE_EPOCH" --rfc-email)" | compressed "$doc/changelog.gz"

    local pages=$work/pages completions=$tree/usr/share/bash-completion/completions page
    # Nothing of the pages is dated. With a date, C libraries and all that uses them would be built anew, and once more after it.
    env -u SOURCE_DATE_EPOCH cargo run --locked --quiet --example pages -- "$pages" >&2
    install -d "$completions"
    for page in "$pages"/man/*.1; do
        gzip -9n "$page"
        put 644 "$page.gz" "$tree/usr/share/man/man1"
    done
    install -m 644 -T "$pages/bash/dgt2mqtt.bash" "$completions/dgt2mqtt"
    put 644 "$pages/zsh/_dgt2mqtt" "$tree/usr/share/zsh/vendor-completions"
    put 644 "$pages/fish/dgt2mqtt.fish" "$tree/usr/share/fish/vendor_completions.d"
    rm -r "$pages"

    local installed
    installed=$(du -sk --apparent-size "$tree" | cut -f1)
    put 755 packaging/debian/{postinst,prerm,postrm} "$tree/DEBIAN"
    (cd "$tree" && find etc -type f -printf '/%p\n' | sort) >"$tree/DEBIAN/conffiles"
    (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
    sed -e "s/@VERSION@/$debian_version/; s/@ARCH@/$1/; s/@MAINTAINER@/$MAINTAINER/" \
        -e "s/@SIZE@/$installed/; s/@GLIBC@/$(glibc "$2")/" packaging/debian/control >"$tree/DEBIAN/control"
    chmod 644 "$tree"/DEBIAN/{conffiles,md5sums,control}
}

# small WHAT KIB MOST
small() {
    [ "$2" -le "$3" ] || fail "the $1 has $2 KiB, of $3 KiB that it may have: see [profile.dist] in Cargo.toml"
}

# pack ARCH BINARY: makes the package and looks at it.
pack() {
    local tree=$work/tree package installed
    install -d "$tree"
    stage "$1" "$2" "$tree"
    install -d "$target/packages"
    package=$target/packages/dgt2mqtt_${debian_version}_$1.deb
    dpkg-deb --root-owner-group -Zxz --build "$tree" "$package" >&2
    installed=$(sed -n 's/^Installed-Size: //p' "$tree/DEBIAN/control")
    rm -r "$tree"
    small "installed package" "$installed" "$MOST_INSTALLED_KIB"
    small "package" "$(du -k --apparent-size "$package" | cut -f1)" "$MOST_PACKED_KIB"
    if command -v lintian >/dev/null; then
        lintian --fail-on error "$package" >&2
    else
        echo "lintian is missing: the package was not looked at (apt-get install lintian)" >&2
    fi
    say "$package: $(du -k --apparent-size "$package" | cut -f1) KiB, installed $installed KiB"
}

binary='' tree='' archs=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
while [ $# -gt 0 ]; do
    case $1 in
    --binary) binary=$2 && shift 2 ;;
    --tree) tree=$2 && shift 2 ;;
    *) triple "$1" >/dev/null && archs+=("$1") && shift ;;
    esac
done
need dpkg-deb dpkg
need readelf binutils
[ ${#archs[@]} -gt 0 ] || archs=("$(dpkg --print-architecture)")
for arch in "${archs[@]}"; do
    program=${binary:-$(build "$arch")}
    if [ -n "$tree" ]; then
        stage "$arch" "$program" "$tree"
    else
        pack "$arch" "$program"
    fi
done
