#!/usr/bin/env bash
# Brings the configuration of a whole hall to its machines, one after another.
#
#   scripts/rollout.sh [--dry-run] FILE TARGET...     brings FILE
#   scripts/rollout.sh --back [--dry-run] TARGET...   puts the former file back
#
# A TARGET is a machine as ssh knows it, `pi@row-1` or `row-1.hall.example`; its gateway has the machine's name without
# user and domain. `TARGET=NAME` says another name. `--targets LIST` reads targets from a file, one a line, `#` begins
# a comment. The user at the machine is root or may use sudo without a password.
#
# At each machine the daemon that is installed there checks the file first. A file that it refuses never takes the place
# of the former one. The former file stays beside it as FILE.former.
#
# ROLLOUT_SSH has the options of ssh, ROLLOUT_FILE the place at the machines (/etc/dgt2mqtt/dgt2mqtt.toml).
set -uo pipefail

say() { printf '%s\n' "$*"; }
usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
}

back=no dry=no given=() targets=()
while [ $# -gt 0 ]; do
    case $1 in
    --back) back=yes ;;
    --dry-run) dry=yes ;;
    --targets)
        [ -r "${2:-}" ] || { say "rollout: the list of targets ${2:-} cannot be read" >&2; exit 2; }
        mapfile -t listed < <(sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$2")
        targets+=("${listed[@]}")
        shift
        ;;
    -*) usage ;;
    *) given+=("$1") ;;
    esac
    shift
done
file=
if [ $back = no ]; then
    file=${given[0]:-}
    given=("${given[@]:1}")
    { [ -f "$file" ] && [ -r "$file" ]; } || { say "rollout: name the file of the hall first; \"$file\" is none that can be read" >&2; exit 2; }
fi
targets=("${given[@]}" "${targets[@]}")
[ ${#targets[@]} -gt 0 ] || { say "rollout: name the machines" >&2; usage; }

place=${ROLLOUT_FILE:-/etc/dgt2mqtt/dgt2mqtt.toml}
case $place in *[!A-Za-z0-9_./-]*) say "rollout: ROLLOUT_FILE has a character that a path had better not have" >&2; exit 2 ;; esac
read -ra options <<<"${ROLLOUT_SSH:-}"

# What a machine does; it gets the file on its standard input. Arguments: the act, the place, the gateway, whether only
# to try. It prints why it failed, and leaves the former file in force then.
# shellcheck disable=SC2016 # the machine expands it
remote='
set -u
act=$1 place=$2 gateway=$3 dry=$4
fresh=$place.fresh former=$place.former
umask 077
fail() { rm -f "$fresh"; echo "$*" >&2; exit 1; }

reload() {
    if systemctl --quiet is-active dgt2mqtt; then
        systemctl reload dgt2mqtt
    else
        # A unit that gave up starts again.
        systemctl reset-failed dgt2mqtt 2>/dev/null
        systemctl start dgt2mqtt
    fi || return 1
    waited=0
    until systemctl --quiet is-active dgt2mqtt; do
        waited=$((waited + 1))
        if [ $waited -ge 20 ] || systemctl --quiet is-failed dgt2mqtt; then
            return 1
        fi
        sleep 1
    done
}

# Mode and owner are those of the former file; the first file is as the package installs it.
as_before() {
    if [ -e "$place" ]; then
        chown --reference="$place" "$1" && chmod --reference="$place" "$1"
    else
        chmod 0644 "$1"
    fi
}

case $act in
new)
    cat >"$fresh" || fail "the file cannot be written to $fresh: no room, or no right"
    as_before "$fresh" || fail "$fresh cannot get the mode and owner of $place"
    # The daemon must be that gateway by itself.
    if grep -q gateways "$fresh" && [ "$(uname -n | cut -d. -f1)" != "$gateway" ]; then
        systemctl show --property=Environment dgt2mqtt | grep -qw "DGT2MQTT_GATEWAY=$gateway" ||
            fail "the daemon here would not be $gateway: write Environment=DGT2MQTT_GATEWAY=$gateway under [Service] by systemctl edit dgt2mqtt"
    fi
    # Certificates and passwords are named relative to the folder, so the check takes place in it.
    said=$(dgt2mqtt check --config "$fresh" --gateway "$gateway" 2>&1) || fail "the file is refused here: $said"
    ;;
back)
    [ -f "$former" ] || fail "there is no former file $former"
    said=$(dgt2mqtt check --config "$former" --gateway "$gateway" 2>&1) || fail "the former file is refused here: $said"
    cp -p "$former" "$fresh" || fail "the former file cannot be copied: no room, or no right"
    ;;
esac
if [ "$dry" = yes ]; then
    rm -f "$fresh"
    exit 0
fi
if [ -e "$place" ]; then
    cmp -s "$fresh" "$place" && same=yes || same=no
    if [ $same = no ]; then
        cp -p "$place" "$former.fresh" && mv -f "$former.fresh" "$former" ||
            { rm -f "$former.fresh"; fail "the former file cannot be kept: no room, or no right"; }
    fi
fi
sync "$fresh" 2>/dev/null
mv -f "$fresh" "$place" || fail "the file cannot be put in its place"
reload && exit 0
# The daemon does not go on with it: the former file comes back.
if [ "$act" = new ] && [ "${same:-yes}" = no ]; then
    cp -p "$former" "$fresh" && mv -f "$fresh" "$place" && reload
    echo "the service dgt2mqtt did not go on with the file, which was taken back: look at journalctl -u dgt2mqtt" >&2
else
    echo "the service dgt2mqtt is not active: look at journalctl -u dgt2mqtt" >&2
fi
exit 1
'

quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# bring TARGET GATEWAY: runs the remote part at a machine.
bring() {
    local act=new input=$file run
    [ $back = no ] || act=back input=/dev/null
    # root needs no sudo, and a machine without sudo says so.
    run="if [ \"\$(id -u)\" = 0 ]; then exec sh -c $(quoted "$remote") rollout $act $place $2 $dry; \
else exec sudo -n sh -c $(quoted "$remote") rollout $act $place $2 $dry; fi"
    ssh -o BatchMode=yes -o ConnectTimeout=10 "${options[@]}" -- "$1" "$run" <"$input"
}

failed=()
for target in "${targets[@]}"; do
    machine=${target%%=*}
    name=${machine##*@}
    name=${name%%.*}
    case $target in *=*) name=${target#*=} ;; esac
    case $name in
    '' | *[!a-z0-9_-]*)
        say "FAILED $target: \"$name\" is no name of a gateway; write TARGET=NAME" >&2
        failed+=("$target")
        continue
        ;;
    esac
    if said=$(bring "$machine" "$name" 2>&1); then
        say "ok     $machine ($name)"
    else
        say "FAILED $machine ($name): ${said:-the connection ended without a word}" >&2
        failed+=("$target")
    fi
done
what="has the file" tried=
[ $back = no ] || what="has the former file"
[ $dry = no ] || tried=" Nothing was changed: this was a trial."
if [ ${#failed[@]} -gt 0 ]; then
    say "${#failed[@]} of ${#targets[@]} machines failed and keep what they had: ${failed[*]}$tried" >&2
    exit 1
fi
[ $dry = no ] || what="would take it"
say "Each of the ${#targets[@]} machines $what.$tried"
