#!/usr/bin/env bash
# Makes pictures of the arbiter's page: the grid, an irregularity, dark, on a phone.
# usage: scripts/screenshots.sh [FOLDER]     (default: target/screenshots)
# Needs mosquitto, chromium and chromium-driver from the distribution.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"
folder=${1:-target/screenshots}
mkdir -p "$folder"
DGT2MQTT_SHOTS=$(realpath "$folder") cargo test --locked --test dashboard_page -- --ignored --exact pictures
echo "the pictures are in $folder" >&2
