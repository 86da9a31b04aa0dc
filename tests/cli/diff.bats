#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft diff on recordings whose events are known (tests/report/recordings.c).

load common

recording() { "$MAKE_RECORDING" "$1" "${2:-$1.jfr}"; }

# row TABLE NAME FIELD...: members of the row whose last text is NAME, on one line
row() {
	local table=$1 name=$2
	shift 2
	jq -r --arg t "$table" --arg n "$name" --args \
		'.[$t][] | select(([.key, .event, .span] | index($n)) != null) |
		[.[$ARGS.positional[]] | tostring] | join(" ")' "$@" <stdout
}

# expect_row TABLE NAME VALUES FIELD...
expect_row() {
	local table=$1 name=$2 values=$3 found
	shift 3
	found=$(row "$table" "$name" "$@")
	[ "$found" = "$values" ] || {
		printf '%s %s: %s\nexpected %s\nfound    %s\n' "$table" "$name" "$*" "$values" "$found"
		return 1
	}
}

@test "the comparisons are those of the documentation" {
	recording shop
	recording queue
	sed -n 's/^    \$ weft \(diff .*\)/\1/p' "$WEFT_SOURCE/docs/diff.md" >lines
	[ "$(wc -l <lines)" -ge 2 ]
	while read -ra line; do
		weft "${line[@]}"
		expect_status 0
		awk -v line="    \$ weft ${line[*]}" '$0 == line { on = 1; next }
			on && (/^    \$/ || /^[^ ]/) { exit } on' "$WEFT_SOURCE/docs/diff.md" |
			sed 's/^    //' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >page
		diff -u page stdout
	done <lines
}

@test "a file and itself do not differ" {
	recording queue
	weft diff queue.jfr queue.jfr --json
	expect_status 0
	[ "$(jq -c '[.settings, ([[.rows, .latencies, .spans][][].change] | unique)]' stdout)" = '[[],[null,1]]' ]
	[ "$(jq '.rows | length' stdout)" = 6 ]
}

@test "the same in twice the time: half per second, the same in total, share and per span" {
	recording queue
	recording long_queue
	weft diff queue.jfr long_queue.jfr --json
	expect_status 0
	[ "$(jq -c '[.a.duration_ns, .b.duration_ns, .per, .by]' stdout)" = \
		'[250000000,500000000,"second","function"]' ]
	expect_row rows hash "40000000 20000000 0.5 0.666666667 0.666666667 10000000 10000000" \
		self_per_unit_a self_per_unit_b change self_share_a self_share_b self_ns_a self_ns_b
	expect_row latencies weft.LockWait "20 10 188000000 94000000 0.5 5 5" count_per_unit_a \
		count_per_unit_b time_per_unit_a time_per_unit_b change count_a count_b
	expect_row spans route=/checkout "8 4 32000000 32000000 5000000 5000000 4 4" count_per_unit_a \
		count_per_unit_b waited_each_ns_a waited_each_ns_b cpu_each_ns_a cpu_each_ns_b waits_a waits_b
	for per in total span; do
		weft diff queue.jfr long_queue.jfr --json --per $per
		[ "$(jq -c '[[.rows, .latencies, .spans][][].change | select(. != null)] | unique' stdout)" = '[1]' ]
	done
}

@test "per span: the outermost of those that are selected" {
	recording shop
	recording queue
	weft diff shop.jfr queue.jfr --json --per span
	[ "$(jq -c '[.a.spans, .b.spans]' stdout)" = '[3,3]' ]
	weft diff shop.jfr queue.jfr --json --per span --where tag:route=/checkout
	[ "$(jq -c '[.a.spans, .b.spans]' stdout)" = '[2,2]' ]
	expect_row rows hash "12500000 5000000 0.4" self_per_unit_a self_per_unit_b change
	expect_row latencies weft.LockWait "0 1.5 22000000 null" count_per_unit_a count_per_unit_b \
		time_per_unit_b change
	recording nested
	weft diff nested.jfr shop.jfr --json --per span
	[ "$(jq -c '[.a.spans, .b.spans]' stdout)" = '[1,3]' ]
	# a step that is selected without what is around it
	weft diff queue.jfr queue.jfr --json --per span --where tag:step=sort
	[ "$(jq .a.spans stdout)" = 1 ]
}

@test "functions: self and total, gone and new" {
	recording shop
	recording queue
	weft diff shop.jfr queue.jfr --json
	expect_row rows checkout "5000000 0 30000000 10000000 0" self_ns_a self_ns_b total_ns_a \
		total_ns_b change
	expect_row rows hash "0.384615385 0.666666667 100000000 40000000 0.4" self_share_a self_share_b \
		self_per_unit_a self_per_unit_b change
	[ "$(jq -r '.rows[0].key' stdout)" = hash ]
	weft diff queue.jfr shop.jfr --json
	expect_row rows idle "0 60000000 null" self_per_unit_a self_per_unit_b change
	recording many
	recording fewer
	weft diff many.jfr fewer.jfr
	grep -q ' new  new$' stdout
	grep -q ' -50.0 %  hot$' stdout
	weft diff fewer.jfr many.jfr
	grep -q ' gone  new$' stdout
}

@test "by a key: threads and processes without their numbers" {
	recording shop
	recording queue
	weft diff shop.jfr queue.jfr --json --by thread
	expect_row rows worker "55000000 15000000 11 3" self_ns_a self_ns_b self_samples_a self_samples_b
	weft diff shop.jfr queue.jfr --json --by process
	expect_row rows shop "60000000 15000000" self_ns_a self_ns_b
	weft diff shop.jfr queue.jfr --json --by tag:route
	expect_row rows /search "15000000 5000000" self_ns_a self_ns_b
	[ "$(jq -r .by stdout)" = tag:route ]
	weft diff shop.jfr queue.jfr --by tag:rout
	expect_in "$err" "weft diff: warning: shop.jfr: no tag 'rout'; there are: route"
}

@test "what differs in how they were made is said" {
	recording shop
	recording weightless
	weft diff shop.jfr weightless.jfr --json
	expect_status 0
	[ "$(jq -c '.settings' stdout)" = '[{"setting":"jdk.ExecutionSample#enabled","a":"true","b":null},{"setting":"jdk.ExecutionSample#period","a":"5000000 ns","b":null}]' ]
	[ "$(jq -c '[.samples_only, .a.lost, .b.lost]' stdout)" = '[true,4,0]' ]
	expect_row rows hash "20 5" self_per_unit_a self_samples_a
	weft diff shop.jfr weightless.jfr
	expect_in "$out" "lost samples  4"
	expect_in "$out" "jdk.ExecutionSample#period"
}

@test "a damaged file: what is whole is compared, the error told" {
	recording shop
	head -c -20 shop.jfr >cut.jfr
	weft diff shop.jfr cut.jfr --json
	expect_status 1
	expect_in "$err" "weft diff: cut.jfr: "
	expect_in "$err" "compared is what is whole"
	[ "$(jq '.b.samples >= 9 and (.b.damage | length > 0) and (.a | has("damage") | not)' stdout)" = true ]
	weft diff cut.jfr shop.jfr
	expect_status 1
	grep -q '^damaged ' stdout
}

@test "what cannot be compared is refused" {
	recording shop
	recording weightless
	weft diff shop.jfr
	expect_status 2
	weft diff shop.jfr nothing.jfr
	expect_status 1
	[ "$err" = "weft diff: nothing.jfr: No such file or directory" ]
	weft diff shop.jfr shop.jfr --per spam
	expect_status 2
	weft diff shop.jfr shop.jfr --by spam
	expect_status 2
	weft diff shop.jfr weightless.jfr --per span
	expect_status 1
	expect_in "$err" "weightless.jfr: no spans to compare by"
}

@test "what the samples of both could be by chance is no difference, and stands last" {
	recording many
	recording fewer
	weft diff many.jfr fewer.jfr
	expect_status 0
	grep -q ' none  cold$' stdout
	weft diff many.jfr fewer.jfr --json
	[ "$(jq -c '[.rows[] | [.key, .change_is_none]]' stdout)" = \
		'[["new",false],["hot",false],["cold",true]]' ]
	[ "$(jq '[.rows[] | .self_share_a_low <= .self_share_a and .self_share_a <= .self_share_a_high] | all' \
		stdout)" = true ]
	weft diff many.jfr many.jfr --json
	[ "$(jq -c '[.rows[].change_is_none] | unique' stdout)" = '[true]' ]
	# what is no sample is counted whole
	recording queue
	recording long_queue
	weft diff queue.jfr long_queue.jfr --event weft.LockWait --json
	[ "$(jq -c '[.rows[] | has("change_is_none"), has("self_share_a_low")] | unique' stdout)" = '[false]' ]
}

@test "errors are left out where lines have no room for them" {
	recording many
	recording fewer
	weft diff many.jfr fewer.jfr --width 100
	expect_in "$out" "40.0 %  "
	expect_not grep -q ± stdout
	weft diff many.jfr fewer.jfr --width 130
	expect_in "$out" "40.0 % ±4.4 "
}
