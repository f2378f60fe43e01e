#!/usr/bin/env bash
# Makes pictures of the arbiter's page: the grid, the wall, an irregularity, dark, on a phone, a broadcast, a gateway that is away; of what is put
# right on it; and of the public's view.
# usage: scripts/screenshots.sh [FOLDER]     (default: target/screenshots)
# Needs mosquitto, chromium and chromium-driver from the distribution.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"
folder=${1:-target/screenshots}
mkdir -p "$folder"
DGT2MQTT_SHOTS=$(realpath "$folder")
export DGT2MQTT_SHOTS
cargo test --locked --test browser -- --ignored --exact dashboard_page::pictures
cargo test --locked --test browser dashboard_sight::forty_boards
cargo test --locked --test browser broadcast_public::
cargo test --locked --test browser -- dashboard_hall::what_lichess dashboard_hall::a_page_that_is_opened
cargo test --locked --test browser -- dashboard_record:: dashboard_edits:: dashboard_evenings:: dashboard_kings::boards_are_bound
echo "the pictures are in $folder" >&2
