#!/bin/sh
# The first steps of a new user after the package: scripts/test-packages.sh runs it in fresh roots, with a systemd and without one.
# Two boards and a broker, `init`, the daemon, and then it waits until an irregularity is told.
set -eu
cd /root
# The package has brought the broker, and systemd has started it; elsewhere as its unit starts it.
if [ ! -d /run/systemd/system ]; then
    install -d -o mosquitto /run/mosquitto /var/log/mosquitto
    mosquitto -c /etc/mosquitto/mosquitto.conf -d
fi
until mosquitto_pub -t ready -n 2>/dev/null; do sleep 0.1; done

# A real board belongs to the group dialout; a pseudo terminal to whoever makes it.
install -d -o dgt2mqtt /run/boards
cp vienna-1910.dgtcap /run/boards/
cd /run/boards
runuser -u dgt2mqtt -- dgt2mqtt simulate vienna-1910.dgtcap vienna-1910.dgtcap --link /run/boards/board >/dev/null &
until [ -e /run/boards/board-2 ]; do sleep 0.1; done

dgt2mqtt init --yes --port /run/boards/board --port /run/boards/board-2
dgt2mqtt check

mosquitto_sub -q 1 -t 'dgt2mqtt/+/board/+/event/irregularity' -C 1 -W 120 >/root/irregularity.json &
subscriber=$!
if [ -d /run/systemd/system ]; then
    systemctl start dgt2mqtt
else
    # The line of the unit, as the user of the unit.
    unit=/usr/lib/systemd/system/dgt2mqtt.service
    user=$(sed -n 's/^User=//p' $unit.d/user.conf)
    # shellcheck disable=SC2046 # words of a command line
    runuser -u "$user" -- env STATE_DIRECTORY=/var/lib/dgt2mqtt $(sed -n 's/^ExecStart=//p' $unit) &
fi
wait $subscriber
cut -c1-160 /root/irregularity.json
# The daemon and all else end with the name space of processes.
