#!/bin/sh
# From the options of the add-on to a configuration, and then the daemon. Home Assistant keeps /data.
set -eu
data=${DGT2MQTT_DATA:-/data}
options=$data/options.json
config=$data/dgt2mqtt.toml

option() { jq --raw-output "$1 // empty" "$options"; }

broker=$(option .broker)
username=$(option .username)
password=$(option .password)
in_clear=$(option .password_in_clear)
if [ -z "$broker" ]; then
    # The broker that Home Assistant knows, with the user that it made for us.
    service=$(curl --silent --show-error --fail --header "Authorization: Bearer $SUPERVISOR_TOKEN" http://supervisor/services/mqtt)
    said() { printf '%s' "$service" | jq --raw-output ".data.$1 // empty"; }
    scheme=mqtt
    [ "$(said ssl)" != true ] || scheme=mqtts
    broker=$scheme://$(said host):$(said port)
    username=$(said username)
    password=$(said password)
    # It stands in a network of the add-ons alone.
    in_clear=true
fi

set -- --yes --force --config "$config" --name "$(option .gateway)" --broker "$broker" --time-control "$(option .time_control)"
[ "$(option .commands)" != true ] || set -- "$@" --commands
if [ -n "$username" ]; then
    (umask 077 && printf '%s' "$password" >"$data/mqtt-password")
    set -- "$@" --username "$username" --password-file "$data/mqtt-password"
    [ "$in_clear" != true ] || set -- "$@" --password-in-clear
fi
# Without a port in the options those that look like a board are asked.
ports=$(option '.boards[]?')
while read -r port; do
    [ -z "$port" ] || set -- "$@" --port "$port"
done <<EOF
$ports
EOF

dgt2mqtt init "$@"
# Entities of the boards, where Home Assistant looks for them.
export DGT2MQTT__HOME_ASSISTANT__PREFIX=homeassistant
export STATE_DIRECTORY="$data"
exec dgt2mqtt run --config "$config"
