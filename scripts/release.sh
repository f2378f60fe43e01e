#!/usr/bin/env bash
# What docs/release.md asks for, as two steps:
#   scripts/release.sh prepare VERSION   writes version and date into the files that have them
#   scripts/release.sh build             packages, bills of materials and checksums in target/release-VERSION
# Nothing is committed, tagged or sent anywhere: that is for a person who has looked.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

ADD_ON=packaging/home-assistant/dgt2mqtt/config.yaml

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

version() { sed -n '/^\[package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml; }

prepare() {
    local new=$1 old
    old=$(version)
    [[ $new =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+\.[0-9]+)?$ ]] || fail "$new is no version: write 1.2.3, or 1.2.3-rc.1 before it"
    # As Debian sorts them: 1.2.3~rc.1 comes before 1.2.3.
    if [ "$old" = "$new" ] || [ "$(printf '%s\n' "${old/-/\~}" "${new/-/\~}" | sort -V | tail -1)" != "${new/-/\~}" ]; then
        fail "$new does not come after $old, which is the version now"
    fi
    grep -q '^## \[Unreleased\]$' CHANGELOG.md || fail "CHANGELOG.md has no section [Unreleased]: nothing would be told of this version"
    sed -i "/^\[package\]/,/^\[/ s/^version = \"$old\"/version = \"$new\"/" Cargo.toml
    # The lock has our own version as well; nothing else in it changes.
    sed -i "/^name = \"dgt2mqtt\"$/ { n; s/^version = \"$old\"/version = \"$new\"/ }" Cargo.lock
    sed -i "s/^version: .*/version: $new/" "$ADD_ON"
    sed -i "s/^## \[Unreleased\]$/## [Unreleased]\n\n## [$new] - $(date --utc +%F)/" CHANGELOG.md
    printf 'The version is %s now. Next: look at git diff, and go on with docs/release.md\n' "$new" >&2
}

build() {
    local version folder target=${CARGO_TARGET_DIR:-target} pair
    version=$(version)
    [ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed: a release is made of a commit"
    folder=$target/release-$version
    rm -rf "$folder" && mkdir -p "$folder"
    scripts/package.sh amd64 arm64 armhf
    for pair in amd64:x86_64-unknown-linux-gnu arm64:aarch64-unknown-linux-gnu armhf:armv7-unknown-linux-gnueabihf; do
        cp "$target/packages/dgt2mqtt_${version/-/\~}_${pair%%:*}.deb" "$folder"
        scripts/sbom.py "${pair#*:}" >"$folder/dgt2mqtt_${version}_${pair%%:*}.cdx.json"
    done
    git archive --format=tar.gz --prefix="dgt2mqtt-$version/" --output="$(realpath "$folder")/dgt2mqtt-$version.tar.gz" HEAD
    (cd "$folder" && sha256sum -- * >SHA256SUMS)
    printf 'The release is in %s\n' "$folder" >&2
}

case "${1:-}" in
prepare) [ $# = 2 ] || fail "say which version: scripts/release.sh prepare VERSION" && prepare "$2" ;;
build) build ;;
*) fail "say what: scripts/release.sh prepare VERSION, or scripts/release.sh build" ;;
esac
