#!/usr/bin/env bash
# Installs the packages as a new user would, in fresh roots of Debian, and measures the time from the package to the first
# irregularity: scripts/test-packages.sh [bookworm|trixie|arm64|armhf...], after scripts/package.sh. Then an update, removal and purging,
# once more with a systemd that starts, restarts and stops the services; the packages of other architectures run under qemu. Needs root,
# mmdebstrap, jq and a Debian mirror: minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/roots.sh
. scripts/roots.sh
# An organiser has so many seconds from the package to the first irregularity.
PATIENCE=300

# older PACKAGE FILE: the same package as a version before it.
older() {
    local tree=$work/older
    dpkg-deb -R "$1" "$tree"
    sed -i 's/^Version: /Version: 0~before+/' "$tree/DEBIAN/control"
    dpkg-deb --root-owner-group -Znone --build "$tree" "$2" >/dev/null
    rm -r "$tree"
}

# evening ROOT: what is done after the installation, until an irregularity is told.
evening() {
    install_steps "$1/root"
    inside "$1" /root/first-steps.sh
}

# install_steps FOLDER
install_steps() {
    install -m 755 scripts/first-steps.sh "$1/first-steps.sh"
    cp fixtures/vienna-1910.dgtcap "$1/"
}

# suite NAME: everything for amd64 in one root.
suite() {
    local root=$work/$1 deb began took
    need jq jq
    deb=$(package amd64)
    say "$1: a fresh root"
    fresh "$1" "$root" ca-certificates,systemd
    cp "$deb" "$root/root/new.deb"
    older "$deb" "$root/root/old.deb"
    apt "$root" update
    apt "$root" install --yes --download-only /root/new.deb mosquitto-clients
    services "$1" "$root"

    began=$(date +%s)
    apt "$root" install --yes /root/new.deb mosquitto-clients
    evening "$root" || fail "$1: no irregularity was told"
    took=$(($(date +%s) - began))
    say "$1: from the package to the first irregularity: $took s"
    [ "$took" -le "$PATIENCE" ] || fail "$1: that is more than $PATIENCE s"

    [ "$(chroot "$root" stat -c '%U:%G %a' /var/lib/dgt2mqtt)" = "dgt2mqtt:dgt2mqtt 700" ] || fail "$1: the state folder is not the daemon's own"
    chroot "$root" id -nG dgt2mqtt | grep -qw dialout || fail "$1: the user is not in the group dialout"
    # The unit with the drop-in of the package, whose user is there.
    chroot "$root" systemd-analyze verify dgt2mqtt.service dgt2mqtt-dashboard.service dgt2mqtt-archive.service || fail "$1: systemd does not take the units"
    chroot "$root" systemd-analyze security --offline=true --threshold=20 --no-pager /usr/lib/systemd/system/dgt2mqtt.service >/dev/null ||
        fail "$1: the unit is not as closed as it was"
    [ -L "$root/etc/systemd/system/multi-user.target.wants/dgt2mqtt.service" ] || fail "$1: the unit is not enabled"
    lifecycle "$1" "$root"
}

# services NAME ROOT: with a systemd: what README says, word for word, an update in mid-game, a reload, removal.
services() {
    local name=$1 began took pid
    boot "$2"
    began=$(date +%s)
    within apt-get install --yes /root/old.deb mosquitto-clients >>"$work/apt.log" 2>&1 || fail "$name: the package cannot be installed under systemd"
    install_steps "/proc/$init/root/root"
    within /root/first-steps.sh || { within journalctl --no-pager -u dgt2mqtt >&2 && fail "$name: no irregularity was told under systemd"; }
    took=$(($(date +%s) - began))
    say "$name: under systemd, from the package to the first irregularity: $took s"
    [ "$took" -le "$PATIENCE" ] || fail "$name: that is more than $PATIENCE s"
    sealed "$name"
    within journalctl --no-pager -o cat -u dgt2mqtt DGT_KIND=press_without_move | grep -q . || fail "$name: the log has no fields"
    within systemctl reload dgt2mqtt
    until within journalctl --no-pager -o cat -u dgt2mqtt | grep -q 'the configuration was read again'; do sleep 0.2; done

    # Both games go on, and the new program follows them to the end.
    pid=$(within systemctl show --property MainPID --value dgt2mqtt)
    within apt-get install --yes /root/new.deb >>"$work/apt.log" 2>&1 || fail "$name: the update fails under systemd"
    [ "$(within systemctl show --property MainPID --value dgt2mqtt)" != "$pid" ] || fail "$name: the update has not restarted the daemon"
    # shellcheck disable=SC2016 # the inner shell fills these in
    within timeout "$PATIENCE" sh -c 'until [ "$(dgt2mqtt journal | grep -c "\"game_ended\"")" = 2 ]; do sleep 1; done' ||
        fail "$name: the games do not end after the update"
    within dgt2mqtt journal >"$work/$name.jsonl"
    jq --slurp --exit-status 'group_by(.board) | length == 2 and all(
        map(.seq) == [range(1; length + 1)] and
        (map(select(.type == "game_started" or .type == "game_ended") | [.type, .game, .result]) == [["game_started", 1, null], ["game_ended", 1, "1-0"]]))' \
        "$work/$name.jsonl" >/dev/null || fail "$name: the update in mid-game has changed the games: $(tail -3 "$work/$name.jsonl")"
    [ "$(within systemctl show --property NRestarts --value dgt2mqtt)" = 0 ] || fail "$name: the daemon was restarted by systemd"
    say "$name: updated in mid-game under systemd: the same games, $(wc -l <"$work/$name.jsonl") events, every number once"

    within apt-get remove --yes dgt2mqtt >>"$work/apt.log" 2>&1 || fail "$name: removal fails under systemd"
    ! within systemctl is-active --quiet dgt2mqtt || fail "$name: the daemon runs after its removal"
    within test -s /var/lib/dgt2mqtt/journal.sqlite || fail "$name: removal took the journal"
    unboot
}

# sealed NAME: what the running daemon may do is what the unit says.
sealed() {
    local pid status line
    pid=$(within systemctl show --property MainPID --value dgt2mqtt)
    [ "$(within stat -c %U "/proc/$pid")" = dgt2mqtt ] || fail "$1: the daemon runs as somebody else"
    status=$(within cat "/proc/$pid/status")
    for line in 'NoNewPrivs:	1' 'Seccomp:	2' 'CapEff:	0000000000000000' 'CapBnd:	0000000000000000'; do
        grep -qx "$line" <<<"$status" || fail "$1: the daemon is not as closed as the unit says: $line is missing"
    done
    for line in /etc/probe /usr/probe /var/lib/probe; do
        ! within nsenter --target "$pid" --mount touch "$line" 2>/dev/null || fail "$1: the daemon may write $line"
    done
    within nsenter --target "$pid" --mount touch /var/lib/dgt2mqtt/probe || fail "$1: the daemon may not write its state"
}

# purged NAME ROOT: nothing is left but the user.
purged() {
    local left
    left=$(find "$2/etc" "$2/usr" "$2/var/lib" -path "$2/var/lib/dpkg" -prune -o -name '*dgt2mqtt*' -print)
    [ -z "$left" ] || fail "$1: purging leaves $left"
}

# lifecycle NAME ROOT: an update from the version before, removal and purging.
lifecycle() {
    local root=$2 kept=$2/var/lib/dgt2mqtt/journal.sqlite config=$2/etc/dgt2mqtt/dgt2mqtt.toml events file
    apt "$root" purge --yes dgt2mqtt
    purged "$1" "$root"

    apt "$root" install --yes /root/old.deb
    tar -xzf tests/upgrade/journal-0.1.0.tar.gz -C "$root/var/lib/dgt2mqtt"
    chroot "$root" chown -R dgt2mqtt: /var/lib/dgt2mqtt
    inside "$root" dgt2mqtt init --yes --name hall --port usb:NONE
    echo '# mine' >>"$config"
    echo '# mine' >>"$root/etc/dgt2mqtt/dgt2mqtt.example.toml"
    apt "$root" install --yes /root/new.deb
    for file in "$config" "$root/etc/dgt2mqtt/dgt2mqtt.example.toml"; do
        grep -q '# mine' "$file" || fail "$1: the update lost what was written into $file"
    done
    events=$(inside "$root" dgt2mqtt journal | wc -l)
    [ "$events" = 20 ] || fail "$1: the update left $events events of 20"
    say "$1: updated, with the journal and the configuration"

    apt "$root" remove --yes dgt2mqtt
    [ ! -e "$root/usr/bin/dgt2mqtt" ] || fail "$1: the program is still there"
    for file in "$kept" "$config"; do
        [ -s "$file" ] || fail "$1: removal took $file"
    done
    apt "$root" install --yes /root/new.deb
    apt "$root" purge --yes dgt2mqtt
    purged "$1" "$root"
    say "$1: removed and purged"
}

# foreign ARCH QEMU LIBRARIES: what a package for another processor says, held against what this one's does.
foreign() {
    local tree=$work/$1 here=$work/here qemu=$2 libraries=$3 run
    dpkg-deb -x "$(package "$1")" "$tree"
    [ -d "$here" ] || dpkg-deb -x "$(package amd64)" "$here"
    run=("$qemu" -L "$libraries" "$tree/usr/bin/dgt2mqtt")
    printf '[gateway]\nname = "hall"\n[[board]]\nid = "demo"\nport = "usb:1"\n[journal]\npath = "journal.sqlite"\n' >"$tree/t.toml"
    tar -xzf tests/upgrade/journal-0.1.0.tar.gz -C "$tree"
    cp "$tree"/t.toml "$tree"/journal.sqlite* "$here"
    local words
    for words in "check -c t.toml" "journal -c t.toml" "pgn -c t.toml" "schema event"; do
        # shellcheck disable=SC2086 # words
        cmp <(cd "$tree" && "${run[@]}" $words) <(cd "$here" && "$here/usr/bin/dgt2mqtt" $words) || fail "$1: $words says something else"
    done
    cmp <("${run[@]}" replay fixtures/*.dgtcap) <("$here/usr/bin/dgt2mqtt" replay fixtures/*.dgtcap) ||
        fail "$1: replay says something else"
    say "$1: check, journal, pgn, schema and replay of $(find fixtures -name '*.dgtcap' | wc -l) captures say the same, byte by byte"

    program=${run[*]} native=$here/usr/bin/dgt2mqtt config=$tree/run.toml
    export program native config
    export -f evening_abroad
    unshare --net --pid --fork --kill-child --mount bash -euc evening_abroad || fail "$1: no irregularity was told"
    say "$1: init and run follow a board until an irregularity is told"
}

# evening_abroad: the daemon of another processor, at a board over TCP: its serial ports do not work under qemu.
evening_abroad() {
    ip link set lo up
    mosquitto -p 1883 >/dev/null 2>&1 &
    until mosquitto_pub -t ready -n 2>/dev/null; do sleep 0.1; done
    "$native" simulate fixtures/vienna-1910.dgtcap --listen 127.0.0.1:2000 >/dev/null &
    # shellcheck disable=SC2086 # words
    $program init --yes --config "$config" --name abroad --port tcp://127.0.0.1:2000
    # shellcheck disable=SC2086 # words
    STATE_DIRECTORY=$(dirname "$config")/state $program run --config "$config" >"$config.log" 2>&1 &
    mosquitto_sub -q 1 -t 'dgt2mqtt/abroad/board/+/event/irregularity' -C 1 -W 300 | cut -c1-160 | grep . || { tail -20 "$config.log" >&2 && return 1; }
}

export PATH="$PATH:/usr/sbin:/sbin"
[ $# -gt 0 ] || set -- bookworm trixie arm64 armhf
for name in "$@"; do
    case $name in
    arm64 | armhf)
        need mosquitto mosquitto
        need mosquitto_sub mosquitto-clients
        ;;&
    arm64) foreign arm64 qemu-aarch64-static /usr/aarch64-linux-gnu ;;
    armhf) foreign armhf qemu-arm-static /usr/arm-linux-gnueabihf ;;
    *) suite "$name" ;;
    esac
done
say "all is well"
