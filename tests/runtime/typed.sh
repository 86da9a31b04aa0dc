#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Typed events in recorded programs: each that was kept is in the file, from the function that called,
# however stacks are taken; in forked children, of libraries that go and come again, through two
# copies of the runtime.
. "$(dirname "$0")/lib.sh"

# recorded ARGS...: the program's status; what it kept in $kept, its recording in $out/r.jfr
recorded() {
	timeout 100 "$WEFT" record -o "$out/r.jfr" "$@" >"$out/kept" 2>"$out/errors"
	status=$?
	kept=$(cat "$out/kept")
	"$WEFT" print --json --stack-depth 64 --events 'victim.*' "$out/r.jfr" >"$out/json" 2>>"$out/errors"
	return $status
}

# among FILTER: how many of the recorded events it holds for
among() {
	jq "[.recording.events[] | select($1)] | length" "$out/json"
}

# Frames' names of the events with HOW, leaf first, each different stack once. (While there are no
# tables yet, and no room for a copy, one has its caller alone.)
stacks_of() {
	jq -r '.recording.events[] | select(.values.how == "'"$1"'" and .values.stackTrace.frames[1])
		| [.values.stackTrace.frames[].method.name] | .[0:5] | join(" ")' "$out/json" | sort -u
}

# The leaves of all stacks.
callers() {
	jq -r '.recording.events[] | select(.type == "victim.Stacked")
		| .values.stackTrace.frames[0].method.name' "$out/json" | sort -u | tr '\n' ' ' | sed 's/ $//'
}

for mode in auto raw fp; do
	victim=$EVENT_VICTIM
	[ $mode = fp ] && victim=$EVENT_VICTIM_FP
	recorded --stack $mode -- "$victim" stacks 20
	is "$mode: status" $? -eq 0
	is "$mode: all are kept" "$kept" -eq 80
	is "$mode: and in the file" "$(among true)" -eq 80
	is "$mode: timed" "$(stacks_of timed)" = "leaf_timed middle top many main"
	is "$mode: at once" "$(stacks_of once)" = "leaf_once middle top many main"
	is "$mode: with their times" "$(stacks_of at)" = "leaf_at middle top many main"
	is "$mode: each begins at who called" "$(callers)" = "leaf_at leaf_once leaf_timed"
done

recorded --stack table -- "$EVENT_VICTIM" stacks 20
is "table: all are in the file" "$(among true)" -eq 80
is "table: each begins at who called" "$(callers)" = "leaf_at leaf_once leaf_timed"

recorded -- "$EVENT_VICTIM" small 5
is "small stacks: status" $? -eq 0
is "small stacks: all are in the file" "$(among true)" -eq "$kept"
is "small stacks: of known bounds it is walked" \
	"$(jq -r '.recording.events[] | select(.values.how == "at") | .values.stackTrace
		| if . then .frames[0:3] | map(.method.name) | join(" ") else "none" end' "$out/json" |
		sort | uniq -c | tr -s ' ' | tr '\n' ,)" = " 5 leaf_at middle top, 5 none,"

recorded -- "$EVENT_VICTIM" fork 25
is "fork: status" $? -eq 0
is "fork: all are in the file" "$(among true)" -eq "$kept"
is "fork: the child's too" "$kept" -eq 300

recorded -- "$EVENT_VICTIM" plugin "$EVENT_PLUGIN" 30
is "plugin: status" $? -eq 0
is "plugin: all are in the file" "$(among '.type == "victim.OfPlugin"')" -eq 90
is "plugin: kept" "$kept" -eq 90
is "plugin: one type" "$("$WEFT" metadata "$out/r.jfr" | grep -c 'class OfPlugin')" -eq 1

recorded -- "$EVENT_VICTIM_STATIC" stacks 20
is "linked in: all are in the file" "$(among true)" -eq 80
is "linked in: from the caller" "$(stacks_of at)" = "leaf_at middle top many main"

for edges in "$EVENT_EDGES" "$EVENT_EDGES_STATIC"; do
	recorded -- "$edges"
	is "edges: status" $? -eq 0
	# Threads' events are not in each other's order; a child that lives past a tick has a session.
	jq -r '.recording.events[].values.where' "$out/json" | grep -v '^child$' | sort >"$out/where"
	is "edges: in the file" "$(uniq "$out/where" | tr '\n' ' ')" = \
		"constructor destructor exit handler thread vfork "
	is "edges: at a thread's end again" "$(grep -c thread "$out/where")" -eq 2
	is "edges: all but those on the last stretch" "$kept" -eq 5
	"$edges" >"$out/kept"
	is "edges, not recorded: status" $? -eq 1 # the vfork child says that nothing was kept
	is "edges, not recorded: nothing is kept" "$(cat "$out/kept")" -eq 0
done

recorded --set 'victim.Stacked#enabled=false' -- "$EVENT_VICTIM" stacks 20
is "off: nothing is kept, and nothing triggers" "$kept" -eq 0
recorded --set 'victim.Stacked#stackTrace=false' -- "$EVENT_VICTIM" stacks 20
is "without stack: all are kept" "$kept" -eq 80
is "without stack: and have none" "$(among '.values.stackTrace != null')" -eq 0
recorded --set 'victim.Stacked#throttle=7/d' -- "$EVENT_VICTIM" stacks 20
is "throttled: so many" "$(among '.type == "victim.Stacked"')" -eq 7

# Samples too: with if-context only those within a span.
recorded --set 'jdk.ExecutionSample#select=if-context' -- "$EVENT_VICTIM" burn 600
"$WEFT" print --json --events jdk.ExecutionSample,weft.Counter "$out/r.jfr" >"$out/json"
counter() {
	jq "[.recording.events[] | select(.values.name == \"$1\") | .values.value] | last // 0" "$out/json"
}
is "samples: some are left out" "$(counter samples_unselected)" -gt 20
is "samples: the others are there" "$(among '.type == "jdk.ExecutionSample"')" -gt 20
is "samples: none of what was left out was attempted" "$(counter attempted)" -eq "$(counter written)"

exit $failed
