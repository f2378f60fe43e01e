#!/usr/bin/env bash
# Looks whether the packages that we use have advisories against them (cargo-deny, deny.toml).
#
# Ends with 0 where none has, 1 where one has, and 3 where nothing was checked: cargo-deny is missing, or there is no
# database of advisories at hand and none can be fetched. Then it says "unchecked". Where one is at hand and no newer one can be
# fetched, it says of which day that is.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

unchecked() {
    echo "advisories are unchecked: $1" >&2
    exit 3
}

cargo deny --version >/dev/null 2>&1 || unchecked "cargo-deny is missing (cargo install cargo-deny)"
databases=("${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/*/crates)
if ! timeout 60 cargo deny --locked fetch db >/dev/null 2>&1; then
    [ -d "${databases[0]}" ] || unchecked "there is no database at hand, and none can be fetched"
    echo "the database of advisories is of $(date -r "${databases[0]}" +%F): none can be fetched now" >&2
fi
cargo deny --locked --offline check advisories || exit 1
