#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Typed events, from eight threads to the JDK's own tool: value by value, several processes, full
# rings, a program that is killed, settings from every source, and settings that change meanwhile.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
have python3 || skip_all "python3 is not installed"
here=$(dirname "$0")
home=$(jdk 17) || skip_all "no JDK 17"
jfr=$home/bin/jfr
unset WEFT_SETTINGS

count() { # FILE TYPE
	"$weft" summary --json "$1" | jq "[.events[] | select(.name == \"$2\") | .count] | add // 0"
}

counter() { # FILE NAME
	"$weft" report --json "$1" | jq ".counters.$2.value // .counters.$2 // 0"
}

json_of() { # FILE GLOB
	"$jfr" print --json --events "$2" "$1"
}

record() { # NAME OPTIONS -- CMD
	local name=$1
	shift
	bounded "$weft" record -o "$work/$name.jfr" "$@" >"$work/$name.own" 2>"$work/$name.err" || {
		cat "$work/$name.err"
		return 1
	}
}

values() {
	record values --ring 16M -- "$tools/typed-events" 8 500 && json_of "$work/values.jfr" 'test.*' >"$work/values.json" &&
		python3 "$here/typed_events.py" "$work/values.own" "$work/values.json"
}
check "eight threads: the JDK reads every event, value by value, times to a microsecond" values

metadata() {
	"$jfr" metadata "$work/values.jfr" >"$work/metadata" && grep -A8 '"test.All"' "$work/metadata"
	grep -q '@Label("All Kinds")' "$work/metadata" &&
		grep -q '@Description("A field of every kind")' "$work/metadata" &&
		grep -q '@Category({"Test", "Typed"})' "$work/metadata" &&
		"$weft" metadata --json "$work/values.jfr" | grep -q weft.settings.Select
}
check "label, description, category and settings stand in the metadata" metadata

active() { # FILE TYPE SETTING: its values in order of time, one a line
	"$weft" print --json --events jdk.ActiveSetting "$1" >"$work/active.json"
	local id
	id=$(type_id "$1" "$2")
	jq -r --argjson id "$id" --arg name "$3" '.recording.events[].values |
		select(.id == $id and .name == $name) | [.startTime, .value] | @tsv' "$work/active.json" |
		sort | cut -f2
}

type_id() { # FILE TYPE
	"$weft" metadata --json "$1" | jq "first(.. | objects | select(.name? == \"$2\") | .id)"
}

has_settings() { # FILE: what jdk.ActiveSetting tells of a type its metadata has, too
	"$weft" metadata --json "$1" >"$work/types.json" &&
		"$weft" print --json --events jdk.ActiveSetting "$1" |
		jq -r '.recording.events[].values | select(.name != "engine" and .name != "stackMode") |
			"\(.id) \(.name)"' | sort -u >"$work/told"
	jq -r '.types[] | .id as $id | .settings[]? | "\($id) \(.name)"' "$work/types.json" | sort -u >"$work/declared"
	at_least 20 "$(wc -l <"$work/told")" && same "" "$(comm -23 "$work/told" "$work/declared")"
}

settings_of_all() {
	has_settings "$work/values.jfr" && record walls -e cpu,wall -- "$tools/ticker" storm 1 5 &&
		has_settings "$work/walls.jfr"
}
check "each setting in force is one that its type declares, weft's own types too" settings_of_all

settings_of_coroutines() {
	record runs --set 'weft.CoroutineRun#threshold=1 us' -- "$tools/coroutines-linked" rounds=40 burn=50 &&
		has_settings "$work/runs.jfr" &&
		same "1 us" "$(active "$work/runs.jfr" weft.CoroutineRun threshold | uniq)" &&
		same all "$(active "$work/runs.jfr" weft.CoroutineWait select | uniq)"
}
check "settings of runs and waits of coroutines are told as of the first" settings_of_coroutines

several() {
	record twins --ring 4M -- "$tools/ticker" twins "$tools/ticker-other" twins && cat "$work/twins.err"
	json_of "$work/twins.jfr" app.Twin >"$work/twins.json" || return 1
	same 20 "$(jq '[.recording.events[] | select(.values | has("number"))] | length' "$work/twins.json")" &&
		same 10 "$(jq '[.recording.events[] | select(.values.text == "other")] | length' "$work/twins.json")" &&
		same 1 "$(count "$work/twins.jfr" weft.Warning)" &&
		same 1 "$(grep -c 'app.Twin: defined with different fields' "$work/twins.err")"
}
check "a forked child's type is its parent's; after exec the same name with other fields is kept, and told once" several

full_rings() {
	record storm --ring 32K -- "$tools/ticker" storm 8 100000 && cat "$work/storm.err"
	local in_file lost
	in_file=$(count "$work/storm.jfr" app.Tick)
	lost=$(sed -n 's/.*events_ring_full \([0-9]*\).*/\1/p' "$work/storm.err")
	note "full rings: $in_file in the file, ${lost:-0} lost"
	same "$(cat "$work/storm.own")" $((in_file + ${lost:-0}))
}
check "full rings: what is in the file and what is counted as lost is what was committed" full_rings

ticks() { # FILE MORE: the ticker that runs until FILE is there has gone on for some hundreds
	local so_far
	so_far=$(stat -c %s "$1.ticks" 2>/dev/null || echo 0)
	await 300 eval "[ \"\$(stat -c %s '$1.ticks')\" -ge $((so_far + $2)) ]"
}

killed() {
	"$weft" record -o "$work/killed.jfr" -- "$tools/ticker" until "$work/never" >/dev/null 2>"$work/killed.err" &
	started+=($!)
	ticks "$work/never" 2 || return 1
	kill -9 "$(pgrep -P $! -x ticker)"
	wait $!
	cat "$work/killed.err"
	"$jfr" summary "$work/killed.jfr" | grep -q 'app.Tick' &&
		at_least 1 "$(count "$work/killed.jfr" app.Tick)" && "$weft" print --json "$work/killed.jfr" | jq -e . >/dev/null
}
check "a program that is killed: the file has its events and can be read" killed

# ---- settings

cat >"$work/my.jfc" <<'JFC'
<?xml version="1.0"?>
<configuration version="2.0"><event name="app.Tick"><setting name="enabled">false</setting></event>
<event name="app.Twin"><setting name="threshold">7 ms</setting></event></configuration>
JFC

effective() { # EXPECTED-enabled OPTIONS...: of app.Tick
	local expected=$1
	shift
	record source --ring 4M "$@" -- "$tools/ticker" storm 1 5 && cat "$work/source.err" &&
		same "$expected" "$(active "$work/source.jfr" app.Tick enabled | tail -1)"
}

precedence() {
	effective true &&
		effective false --settings "$work/my.jfc" &&
		WEFT_SETTINGS='app.Tick#enabled=true' effective true --settings "$work/my.jfc" &&
		WEFT_SETTINGS='app.Tick#enabled=true' effective false --set 'Tick#enabled=false' &&
		WEFT_SETTINGS="$work/my.jfc" effective false &&
		WEFT_SETTINGS="$work/my.jfc" effective true --set 'app.*#enabled=true' &&
		effective true --settings profile
}
check "settings: the type's own < .jfc < WEFT_SETTINGS < --set" precedence

alone() {
	WEFT_SETTINGS='app.Tick#enabled=false' WEFT_RECORD=$work/alone.jfr LD_PRELOAD=$BUILD/src/runtime/libweft.so \
		bounded "$tools/ticker" storm 1 1000 >/dev/null && await 100 test -s "$work/alone.jfr" &&
		same 0 "$(count "$work/alone.jfr" app.Tick)" &&
		same false "$(active "$work/alone.jfr" app.Tick enabled | tail -1)"
}
check "settings: WEFT_RECORD obeys WEFT_SETTINGS" alone

told_once() {
	record wrong --ring 4M --set 'app.Tick#select=if-triggered,no.Such#enabled=true' -- "$tools/ticker" storm 4 100
	cat "$work/wrong.err"
	same 400 "$(count "$work/wrong.jfr" app.Tick)" &&
		same 1 "$(grep -c 'app.Tick: its setting select' "$work/wrong.err")" &&
		same 1 "$(count "$work/wrong.jfr" weft.Warning)" &&
		grep -q 'no event type came with this name: no.Such' "$work/wrong.err"
}
check "a select that cannot be acts as all and is told once, and so are names that nothing had" told_once

cannot_be() {
	rm -f "$work/stop"
	"$weft" record -o "$work/cannot.jfr" -- "$tools/ticker" until "$work/stop" >/dev/null 2>"$work/cannot.err" &
	started+=($!)
	ticks "$work/stop" 2 || return 1
	local pid
	pid=$(pgrep -P $! -x ticker)
	for _ in 1 2 3; do
		"$weft" set "$pid" 'app.Tick#select=if-triggered' 'ExecutionSample#select=if-triggered' || return 1
	done
	touch "$work/stop"
	wait $!
	cat "$work/cannot.err"
	same 2 "$(grep -c 'its setting select is none' "$work/cannot.err")" &&
		same 2 "$(count "$work/cannot.jfr" weft.Warning)"
}
check "weft set: a select that cannot be is told once, though it changes nothing" cannot_be

change() { # PID: off, and on again
	"$weft" set "$1" 'app.Tick#enabled=false' >"$work/set.1" && ticks "$work/stop" 2 &&
		"$weft" set --json "$1" 'Tick#enabled=true' >"$work/set.2" && ticks "$work/stop" 2
	cat "$work/set.1" "$work/set.2"
	same app.Tick "$(cat "$work/set.1")" && same 1 "$(jq .changed "$work/set.2")"
}

has_gap() { # FILE: ticks are missing in the middle alone
	"$weft" print --json --events app.Tick "$1" | jq -e '[.recording.events[].values.n] | sort as $n |
		($n | length) > 1 and ([range(1; $n | length) | select($n[.] != $n[. - 1] + 1)] | length) == 1' &&
		same "true false true" "$(active "$1" app.Tick enabled | uniq | tr '\n' ' ' | sed 's/ $//')"
}

while_recorded() {
	rm -f "$work/stop"
	"$weft" record -o "$work/set.jfr" -- "$tools/ticker" until "$work/stop" >/dev/null 2>"$work/set.err" &
	started+=($!)
	ticks "$work/stop" 2 || return 1
	change "$(pgrep -P $! -x ticker)" || return 1
	"$weft" set "$(pgrep -P $! -x ticker)" 'app.Tick#enabled=perhaps' && return 1
	touch "$work/stop"
	wait $! && has_gap "$work/set.jfr"
}
check "weft set, while weft record records: at once, and told in the file" while_recorded

while_attached() {
	rm -f "$work/stop"
	LD_PRELOAD=$BUILD/src/runtime/libweft.so "$tools/ticker" until "$work/stop" >/dev/null &
	local pid=$!
	started+=($pid)
	ticks "$work/stop" 1 || return 1
	"$weft" set "$pid" 'app.Tick#enabled=false' && return 1
	"$weft" record -p $pid -o "$work/attached.jfr" 2>"$work/attached.err" &
	started+=($!)
	await 100 sh -c "'$weft' ps --json | jq -e '.programs[] | select(.pid == $pid and .state == \"recorded\")'" || return 1
	ticks "$work/stop" 2 || return 1
	change $pid || return 1
	touch "$work/stop"
	wait $! && has_gap "$work/attached.jfr"
}
check "weft set, while weft record -p records; nobody records: it says so" while_attached

finish
