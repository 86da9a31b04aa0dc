#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Work that is in step with the kernel's tick is told, by record, in the recording and in the report,
# with what its share is; work that is not is never told. Each sample of a tick carries the thread's
# own CPU clock. A machine too busy for enough random looks is no failure.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

record() { # CLOCK HOW SECONDS
	bounded "$weft" record --clock "$1" -o "$work/$2.jfr" -- "$tools/lockstep" "$2" "$3" >"$work/$2.out" \
		2>"$work/$2.err" || {
		cat "$work/$2.err"
		return 1
	}
	cat "$work/$2.out"
	"$weft" report --json "$work/$2.jfr" >"$work/$2.json" && jq -c .clocks "$work/$2.json"
}

clock() { # HOW FILTER
	jq -r ".clocks[0] | $2" "$work/$1.json"
}

is_told() {
	grep 'bunch at one phase of work=on-[AB] ' "$work/step.err" &&
		"$weft" report "$work/step.jfr" >"$work/report" &&
		grep 'bunch at one phase of work=on-[AB] ' "$work/report" &&
		[[ $(clock step .misjudged) == work=on-[AB] ]] &&
		clock step '"\(.tick_share) \(.look_share) \(.chance)"'
}

# 95 % of looks: 2 standard errors; five of them, and two points for the ends.
looks_are_right() { # HOW
	clock "$1" '"\(.misjudged) \(.look_share) \(.looks)"' | awk -v truth="$(cat "$work/$1.out")" '{
		split(truth, t, " "); b = $1 == "work=on-A" ? 1 - $2 : $2
		error = 5 * sqrt(t[1] * (1 - t[1]) / $3) + 0.02
		printf "B %.3f by looks, %.3f in truth, +-%.3f\n", b, t[1], error
		exit !(b - t[1] < error && t[1] - b < error) }'
}

is_not_told() { # HOW
	! grep 'bunch at one phase' "$work/$1.err" && [ "$(clock "$1" .misjudged)" = null ] &&
		"$weft" report "$work/$1.jfr" >"$work/report" && ! grep 'bunch at one phase' "$work/report"
}

# From the first tick's sample to the last, of one thread that does it all.
clock_is_carried() { # HOW
	clock "$1" .clocked_ns | awk -v truth="$(cat "$work/$1.out")" '{
		split(truth, t, " "); printf "%.3f s between ticks of %.3f s\n", $1 / 1e9, t[2]
		exit !($1 / 1e9 > t[2] * 0.8 && $1 / 1e9 <= t[2]) }'
}

judged() { # HOW: could it be?
	[ "$(clock "$1" .looks)" -ge 400 ] && [ "$(jq .samples "$work/$1.json")" -ge 400 ]
}

seconds=${WEFT_TEST_SECONDS:-8}
if check "work in step with the tick is recorded" record ticks step "$seconds"; then
	if judged step; then
		check "it is told, and which" is_told
		check "random looks give its true share" looks_are_right step
	else
		skip "it is told" "the machine is too busy: $(clock step .looks) looks"
	fi
	check "samples carry the thread's own CPU clock" clock_is_carried step
fi
check "work at random is recorded" record ticks random "$seconds" && {
	check "it is not told" is_not_told random
	check "samples carry the thread's own CPU clock there, too" clock_is_carried random
}
check "work in step is recorded by the clock that there is" record auto step 2 && {
	if [ "$(clock step .clock)" = hrtimer ]; then
		check "by an hrtimer nobody looks, and nothing is told" is_not_told step
		check "and there are no looks" test "$(clock step .looks)" = 0
	else
		skip "by an hrtimer nobody looks" "there is none here"
	fi
}
finish
