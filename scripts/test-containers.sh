#!/usr/bin/env bash
# Does what the Dockerfiles say, step by step, in roots of Debian in place of the images, which come from registries; then runs what they
# start: scripts/test-containers.sh [--binary FILE] [image|add-on...]. The add-on wants the package: scripts/package.sh.
# Needs root, mmdebstrap, jq, mosquitto and a Debian mirror. Compiling takes as long as a package.
#
#   --binary FILE   puts this program where the image would be compiled
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/roots.sh
. scripts/roots.sh

COMPILING='cargo build --locked --profile dist --bin dgt2mqtt'
binary=''

# base IMAGE ROOT: what stands for the image.
base() {
    case $1 in
    docker.io/library/rust:*-slim-bookworm) fresh bookworm "$2" ca-certificates ;;
    gcr.io/distroless/cc-debian12:nonroot)
        # Libraries, no shell.
        (mkdir -p "$2"/{tmp,proc,dev} "$work/debs" && cd "$work/debs" && apt-get download -qq libc6 libgcc-s1 base-files 2>/dev/null &&
            for deb in ./*.deb; do dpkg-deb -x "$deb" "$2"; done)
        echo 'nonroot:x:65532:65532::/home/nonroot:/sbin/nologin' >"$2/etc/passwd"
        echo '127.0.0.1 localhost' >"$2/etc/hosts"
        ;;
    "\${BUILD_FROM}") fresh bookworm "$2" ca-certificates ;;
    *) fail "nothing stands for the image $1" ;;
    esac
}

# context FOLDER: what the list of the Dockerfile lets through.
context() {
    local line
    mkdir -p "$1"
    while read -r line; do
        case $line in
        '' | '#'* | '*') ;;
        '!'*) cp -r "${line#!}" "$1" ;;
        *) fail "the list of what is copied says more than this script knows: $line" ;;
        esac
    done <packaging/container/Dockerfile.dockerignore
}

# copy ROOT FOLDER CONTEXT WORDS...: as COPY does.
copy() {
    local root=$1 folder=$2 from=$3 owner='' target word source
    shift 3
    while [[ $1 == --* ]]; do
        case $1 in
        --from=*) from=${stages[${1#--from=}]} ;;
        --chown=*) owner=${1#--chown=} ;;
        *) fail "COPY $1 is not known here" ;;
        esac
        shift
    done
    target=${*: -1}
    [[ $target == /* ]] || target=$folder/$target
    for word in "${@:1:$#-1}"; do
        # A word may be a pattern.
        for source in "$from"/$word; do
            if [ -d "$source" ]; then
                mkdir -p "$root$target" && cp -r "$source/." "$root$target"
            else
                mkdir -p "$(dirname "$root${target}x")" && cp "$source" "$root$target"
            fi
        done
    done
    [ -z "$owner" ] || chown -R "$owner" "$root$target"
}

# compile ROOT COMMAND: runs it there, with the network, our Rust and its crates.
compile() {
    local rust crates=${CARGO_HOME:-$HOME/.cargo}/registry
    rust=$(rustc --print sysroot)
    mkdir -p "$1/opt/rust" "$1/opt/cargo/registry"
    # shellcheck disable=SC2016 # the inner shell fills these in
    unshare --mount --pid --fork --kill-child sh -ec '
        mount --bind "$2" "$1/opt/rust" && mount --bind "$3" "$1/opt/cargo/registry" && mount -t proc proc "$1/proc"
        exec chroot "$1" /usr/bin/env PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin CARGO_HOME=/opt/cargo sh -ec "$4"
    ' sh "$1" "$rust" "$crates" "$2"
}

declare -A stages=() said=()

# steps DOCKERFILE CONTEXT: does all of them; the root of the last stage is $root, and what the image starts is in $said.
steps() {
    local line word rest folder=/ command
    said=()
    while IFS= read -r line; do
        read -r word rest <<<"$line"
        case $word in
        ARG | STOPSIGNAL) ;;
        FROM)
            root=$work/stage-${#stages[@]}-$RANDOM folder=/
            say "FROM $rest"
            base "${rest%% *}" "$root"
            [[ $rest != *' AS '* ]] || stages[${rest##* }]=$root
            ;;
        WORKDIR) folder=$rest && mkdir -p "$root$folder" ;;
        COPY)
            say "COPY $rest"
            # shellcheck disable=SC2086 # words
            copy "$root" "$folder" "$2" $rest
            ;;
        RUN)
            say "RUN $rest"
            command=$rest
            if [ -n "$binary" ] && [[ $rest == *"$COMPILING"* ]]; then
                say "    (with $binary in place of what would be compiled)"
                cp "$binary" "$root/given"
                command=${rest/$COMPILING/install -D /given target/dist/dgt2mqtt}
            fi
            compile "$root" "cd $folder && $command" >"$work/run.log" 2>&1 || { tail -20 "$work/run.log" >&2 && fail "RUN $rest"; }
            ;;
        ENV | VOLUME | USER | ENTRYPOINT | CMD) said[$word]=$rest ;;
        *) fail "the instruction $word is not known here" ;;
        esac
    done < <(grep -v '^ *#' "$1" | sed -e ':join' -e '/\\$/ { N; s/ *\\\n */ /; b join }' | grep .)
}

# evening SECONDS COMMAND...: runs what was started, as another process, until an irregularity is told.
evening() {
    "$@" >"$work/started.log" 2>&1 &
    mosquitto_sub -q 1 -t 'dgt2mqtt/+/board/+/event/irregularity' -C 1 -W 120 | cut -c1-160 | grep . ||
        { tail -20 "$work/started.log" >&2 && fail "no irregularity was told"; }
}

# hall: in a network and among processes of its own: a broker, and two boards that a container may open.
hall() {
    ip link set lo up
    mount -t proc proc /proc
    mosquitto -p 1883 >/dev/null 2>&1 &
    until mosquitto_pub -t ready -n 2>/dev/null; do sleep 0.1; done
    "$program" simulate fixtures/vienna-1910.dgtcap --link "$work/board" >/dev/null &
    until [ -e "$work/board" ]; do sleep 0.1; done
    port=$(readlink -f "$work/board")
    chmod 666 "$port"
}

# image: built, and run as docs/containers.md and the compose file do: not as root, on a root that takes no writes.
image() {
    context "$work/context"
    steps packaging/container/Dockerfile "$work/context"
    [ ! -e "$root/bin/sh" ] || fail "the image has a shell"
    program=$root/usr/bin/dgt2mqtt state=${said[ENV]} user=${said[USER]} volumes=${said[VOLUME]} entry=${said[ENTRYPOINT]} words=${said[CMD]}
    say "the program has $(du -k "$program" | cut -f1) KiB; it starts as $user: $entry $words"
    export root program state user volumes entry words
    alone image_runs || fail "the image does not work"
    say "the image: an irregularity was told"
}

image_runs() {
    local place command
    hall
    mkdir "$root.ro" && mount --bind "$root" "$root.ro" && mount -o remount,bind,ro "$root.ro"
    for place in $(jq -r '.[]' <<<"$volumes"); do mount --bind "$root$place" "$root.ro$place"; done
    mount --bind /dev "$root.ro/dev" && mount --bind /dev/pts "$root.ro/dev/pts" && mount -t proc proc "$root.ro/proc"
    contained init --config /etc/dgt2mqtt/dgt2mqtt.toml --name hall --port "$port"
    mapfile -t command < <(jq -r '.[]' <<<"$words")
    evening contained "${command[@]}"
}

# contained WORDS...: the entry point of the image, as its user, in the group that owns serial ports.
contained() {
    env -i "$state" "$(command -v chroot)" --userspec="$user" --groups=20 "$root.ro" "$(jq -r '.[0]' <<<"$entry")" "$@" </dev/null
}

# add_on: built of the package, and run with the broker that Home Assistant names.
add_on() {
    local folder=$work/add-on
    cp -r packaging/home-assistant/dgt2mqtt "$folder"
    cp "$(package amd64)" "$folder"
    steps packaging/home-assistant/dgt2mqtt/Dockerfile "$folder"
    mkdir -p "$root/data" "$work/supervisor/services"
    # What the Supervisor puts there, and what it answers.
    echo '127.0.0.1 localhost supervisor' >"$root/etc/hosts"
    echo '{"data":{"host":"localhost","port":1883,"ssl":false,"username":"addons","password":"a word"}}' >"$work/supervisor/services/mqtt"
    program=$root/usr/bin/dgt2mqtt words=${said[CMD]}
    export root program words
    alone add_on_runs || fail "the add-on does not work"
    grep -q 'username = "addons"' "$root/data/dgt2mqtt.toml" || fail "the add-on does not take the user that Home Assistant made for it"
    say "the add-on: an irregularity was told"
}

add_on_runs() {
    hall
    python3 -m http.server 80 --bind 127.0.0.1 --directory "$work/supervisor" >/dev/null 2>&1 &
    until curl --silent --output /dev/null http://127.0.0.1/; do sleep 0.1; done
    mount --bind /dev "$root/dev" && mount --bind /dev/pts "$root/dev/pts" && mount -t proc proc "$root/proc"
    jq -n --arg port "$port" '{gateway: "addon", boards: [$port], time_control: "standard", commands: true}' >"$root/data/options.json"
    evening env -i PATH="$PATH" SUPERVISOR_TOKEN=x chroot "$root" "$(jq -r '.[0]' <<<"$words")"
}

# alone FUNCTION: with processes, mounts and a network of its own, which end with it.
alone() {
    export work
    export -f hall evening contained image_runs add_on_runs fail say
    unshare --net --pid --fork --kill-child --mount bash -euc "$1"
}

export PATH="$PATH:/usr/sbin:/sbin"
need jq jq
need mosquitto mosquitto
need mosquitto_sub mosquitto-clients
need python3 python3
need curl curl
chosen=()
while [ $# -gt 0 ]; do
    case $1 in
    --binary) binary=$(realpath "$2") && shift 2 ;;
    image | add-on) chosen+=("$1") && shift ;;
    *) fail "say image or add-on" ;;
    esac
done
[ ${#chosen[@]} -gt 0 ] || chosen=(image add-on)
for name in "${chosen[@]}"; do
    if [ "$name" = image ]; then image; else add_on; fi
done
say "all is well"
