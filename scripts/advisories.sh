#!/usr/bin/env bash
# Looks whether the packages that we use have advisories against them (cargo-deny, deny.toml).
#
# Ends with 0 where none has, 1 where one has, and 3 where nothing was checked: cargo-deny is missing, or there is no
# database of advisories at hand and none can be fetched. Then it says "unchecked".
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

unchecked() {
    echo "advisories are unchecked: $1" >&2
    exit 3
}

cargo deny --version >/dev/null 2>&1 || unchecked "cargo-deny is missing (cargo install cargo-deny)"
offline=()
if ls "${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/*/crates >/dev/null 2>&1; then
    offline=(--offline)
else
    cargo deny --locked fetch db >/dev/null 2>&1 ||
        unchecked "there is no database at hand, and none can be fetched"
fi
cargo deny --locked "${offline[@]}" check advisories || exit 1
