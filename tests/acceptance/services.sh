#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What processes say of themselves in OpenTelemetry's process context: in the recording, by the JDK's
# tools too, and as keys of reports. Two services burn 700 and 300 ms; then one that changes its
# version while it runs.
. "$(dirname "$0")/lib.sh"
set -o pipefail
have jq || skip_all "jq is not installed"
service=$tools/service

# record OPTION...: in the background, to $work/a.jfr; services say their pids in $work/pids.
record() {
	rm -f "$work/a.jfr"
	"$weft" record -F 999 --chunk-time 200ms -o "$work/a.jfr" "$@" >>"$work/pids" 2>"$work/err" &
	recorder=$!
	started+=("$recorder")
}

# becomes TENTHS COMMAND...: what is known where it does not.
becomes() {
	local pid
	await "$@" && return
	echo "never: $*"
	cat "$work/err" "$work/pids"
	while read -r pid; do
		grep -H . "/proc/$pid/stat" "/proc/$pid/wchan"
	done <"$work/pids"
	rows resource:service.version
	return 1
}

ends() { # the recorder, in good time
	becomes 400 has_ended "$recorder" && wait "$recorder"
}

has_ended() {
	! kill -0 "$1"
}

rows() { # KEY OPTION...: "KEY SAMPLES" lines
	local key=$1
	shift
	bounded "$weft" report --json --top 0 --by "$key" "$@" "$work/a.jfr" 2>"$work/report.err" |
		jq -r '.rows[] | "\(.key) \(.samples)"'
}

tells() { # KEY VALUE: there is a row with at least one sample
	rows "$1" | grep -q "^$2 [1-9]"
}

# has_slept COUNT: so many services wait for their signal.
have_slept() {
	local pid asleep=0
	while read -r pid; do
		[ "$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat")" = S ] && has_used "$pid" 5 &&
			asleep=$((asleep + 1))
	done <"$work/pids"
	[ "$asleep" = "$1" ]
}

wake() {
	local pid
	while read -r pid; do
		kill -USR1 "$pid"
	done <"$work/pids"
}

# Five standard errors of a share of so many samples.
share_is() { # KEY VALUE SHARE
	rows "$1" | awk -v value="$2" -v truth="$3" '
		{ all += $NF; if ($1 == value) seen = $NF }
		END {
			error = sqrt(truth * (1 - truth) / all)
			printf "%s: %.1f %% of %d, true %.1f\n", value, 100 * seen / all, all, 100 * truth
			off = seen / all - truth
			exit (off < 0 ? -off : off) > 5 * error + 0.01
		}'
}

two_services() {
	: >"$work/pids"
	record -- sh -c '"$0" shop 1.0 700 & "$0" "till; \"2\"" 3.1 300 & wait' "$service"
	becomes 400 have_slept 2 && becomes 400 tells resource:service.name shop &&
		becomes 400 tells resource:service.name 'till; "2"' || return 1
	wake
	ends
}

check "two services are recorded" two_services
check "each has its share" share_is resource:service.name shop 0.7
check "--where selects one" same "$(rows resource:service.name | grep '^shop')" \
	"$(rows resource:service.name --where resource:service.name=shop)"
check "each attribute divides them alike" same \
	"$(rows resource:service.name --where resource:service.version=3.1)" \
	"$(rows resource:service.name --where 'resource:service.name=till*')"

overview() {
	bounded "$weft" report "$work/a.jfr" >"$work/out" && grep "^resource    .*service.name=" "$work/out"
}
check "the overview tells them" overview

warns() {
	rows resource:service.nam >/dev/null
	grep "no attribute of a resource 'service.nam'; there are: .*service.name" "$work/report.err"
}
check "an attribute that nobody has is warned of" warns

in_json() {
	bounded "$weft" report --json "$work/a.jfr" |
		jq -e '[.processes[].resource | select(.["service.name"] == "shop" and .team == "till")] |
			length == 1'
}
check "JSON has each process's" in_json

by_jdk() { # HOME
	"$1/bin/jfr" print --json --events weft.Resource "$work/a.jfr" |
		jq -e '[.recording.events[].values | select(.key == "service.name") | .value] | unique ==
			["shop", "till; \"2\""]'
}
for version in 17 25; do
	if home=$(jdk "$version"); then
		check "jfr of JDK $version reads them" by_jdk "$home"
	else
		skip "jfr of JDK $version reads them" "it is not installed"
	fi
done

# The second version's time begins when it was met; the first one's is all before.
changes() {
	: >"$work/pids"
	record -- "$service" shop 1.0 200 2.0 200
	becomes 400 have_slept 1 && becomes 400 tells resource:service.version 1.0 || return 1
	wake
	becomes 400 is_told 2.0 || return 1
	wake
	ends
}

is_told() { # VERSION
	bounded "$weft" print --json --events weft.Resource "$work/a.jfr" | jq -e --arg version "$1" \
		'[.recording.events[].values | select(.value == $version)] | length > 0'
}

check "a service that changes its version is recorded" changes
check "what was before belongs to the version before" tells resource:service.version 1.0
gone() {
	bounded "$weft" report --json "$work/a.jfr" |
		jq -e '.processes[0].resource == {"service.name": "shop", "service.version": "2.0"}'
}
check "an attribute that a newer context lacks is gone" gone

outside() {
	: >"$work/pids"
	"$service" shop 7 100 >>"$work/pids" &
	started+=("$!")
	becomes 400 test -s "$work/pids"
	record -e wall -p "$(cat "$work/pids")"
	becomes 400 tells resource:service.version 7 && wake
	ends
}
check "a process that carries nothing of weft tells it, too" outside

chosen() {
	: >"$work/pids"
	record --context-from weft -- "$service" shop 8 100
	becomes 400 tells resource:service.version 8 && wake
	ends
}
check "--context-from does not leave it out" chosen
finish
