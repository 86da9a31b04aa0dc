#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Settings applied afterwards by weft merge keep the very events that they keep when a program is
# recorded with them: the same tree of contextual and other events, once recorded whole and filtered,
# and once recorded filtered.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
unset WEFT_SETTINGS

# samples would come as they like, and trigger
quiet='jdk.ExecutionSample#enabled=false'

record() { # NAME SEED SETTINGS
	bounded "$weft" record --ring 16M -o "$work/$1.jfr" --set "$quiet${3:+,$3}" -- \
		"$tools/nested-events" "$2" 4 500 >"$work/$1.out" 2>&1 || { cat "$work/$1.out"; return 1; }
}

kept() { # FILE: type and id of each, sorted
	"$weft" print --json --events 'test.*,weft.TimedSpan' "$1" | jq -r '.recording.events[] |
		[.type, (.values.id // .values.spanId)] | @tsv' | sort
}

agree() { # SEED SETTINGS
	record live "$1" "$2" && kept "$work/live.jfr" >"$work/live" || return 1
	"$weft" merge -o "$work/merged.jfr" --set "$2" "$work/whole.jfr" || return 1
	kept "$work/merged.jfr" >"$work/merged"
	echo "$(wc -l <"$work/whole") events, $(wc -l <"$work/live") kept live, $(wc -l <"$work/merged") by merge"
	diff "$work/live" "$work/merged" >"$work/diff" || { head -20 "$work/diff"; return 1; }
	[ "$(wc -l <"$work/live")" -gt 0 ] && [ "$(wc -l <"$work/live")" -lt "$(wc -l <"$work/whole")" ]
}

all() { # SEED
	record whole "$1" '' && kept "$work/whole.jfr" >"$work/whole" || return 1
	[ "$(wc -l <"$work/whole")" -gt 1000 ]
}

both() {
	all "$1" && agree "$1" "$2"
}

seed=1
while read -r settings; do
	check "the same events with $settings" both $seed "$settings"
	seed=$((seed + 1))
done <<'END'
test.Step#select=if-context,test.Point#select=if-context
test.*#select=if-triggered,test.Step#enabled=false
test.Outer#select=if-triggered,test.Inner#select=if-triggered,test.Point#threshold=infinity,test.Step#threshold=infinity
test.Outer#select=if-triggered,test.Inner#threshold=infinity,test.Step#select=if-context
weft.TimedSpan#select=if-triggered,test.Outer#enabled=false,test.Inner#select=if-triggered,test.Step#select=if-context
weft.TimedSpan#enabled=false,test.Outer#enabled=false,test.Inner#enabled=false,test.Point#select=if-context
test.Inner#select=if-triggered,test.Outer#enabled=false,test.Step#throttle=0/s
END
finish
