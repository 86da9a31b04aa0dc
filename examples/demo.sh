#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: records a small shop server under load and asks the recording which requests
# burnt the CPU, and which ones waited. Takes about ten seconds, listens on loopback only, leaves one file.
#
# usage: [BUILD=build] examples/demo.sh [RECORDING]     (default: BUILD/demo.jfr)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
recording=${1:-$build/demo.jfr}
weft=$build/weft
scratch=$(mktemp -d "${TMPDIR:-/tmp}/weft-demo.XXXXXX")
recorder=

clean_up() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null || true
	rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

fail() {
	echo "demo: $*" >&2
	exit 1
}

say() {
	printf '\n%s\n' "$*"
}

run() { # shows a command, then runs it
	say "\$ $*"
	"$@"
}

for program in weft examples/shop-server examples/shop-load; do
	[ -x "$build/$program" ] || fail "$build/$program is not built: run make first"
done

say "\$ $weft record -e cpu,wall --wall-filter context -o $recording -- $build/examples/shop-server -p 0"
"$weft" record -e cpu,wall --wall-filter context -o "$recording" -- \
	"$build/examples/shop-server" -p 0 -P "$scratch/port" &
recorder=$!
for _ in $(seq 100); do
	[ -s "$scratch/port" ] && break
	kill -0 "$recorder" 2>/dev/null || fail "the server did not start"
	sleep 0.1
done
[ -s "$scratch/port" ] || fail "the server did not listen within ten seconds"
run "$build/examples/shop-load" -p "$(cat "$scratch/port")" -n "${DEMO_REQUESTS:-20000}" -t 40

say "The server ends by SIGTERM, and with it the recording:"
kill -TERM "$recorder"
wait "$recorder" || fail "weft record ended with status $?"
recorder=

say "Which route burnt the CPU?"
run "$weft" report --by tag:route "$recording"
say "Which request cost the most?"
run "$weft" report --by span --top 10 "$recording"
say "And in which function?"
run "$weft" report --by function --top 15 "$recording"

say "And which route kept its customers waiting, on a CPU or not?"
run "$weft" report --event wall --by tag:route "$recording"

say "The recording opens elsewhere too:"
cat <<END
  $weft report --by stack --where tag:route=/checkout $recording
  jfr summary $recording            (JDK; or drag it into JDK Mission Control)
  $weft convert $recording --to collapsed -o demo.txt   (flamegraph.pl, speedscope.app)
  $weft convert $recording --to pprof -o demo.pb.gz && go tool pprof -http : demo.pb.gz
END
