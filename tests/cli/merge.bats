#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft merge: what becomes of files, damaged ones too. What is kept, and what the JDK's tools read of
# it, is in tests/interop/jfr/merge_interop.py.

load common

recording() { "$MAKE_RECORDING" "$1" "${2:-$1.jfr}"; }
# count FILE TYPE
count() { "$WEFT" summary --json "$1" | jq --arg t "$2" '[.events[] | select(.name == $t).count] | add // 0'; }
# events FILE: all of it, sorted, but for what a merge adds
printed() { "$WEFT" print --json "$1" | jq -cS '.recording.events[]' | sort; }

@test "one file: the same events" {
	recording shop
	weft merge -o out.jfr shop.jfr
	expect_status 0
	[ -z "$out$err" ]
	printed shop.jfr >expected
	printed out.jfr | diff expected -
	[ "$(wc -l <expected)" -gt 20 ]
}

@test "several files: the events of all" {
	recording shop
	recording inline
	weft merge shop.jfr inline.jfr shop.jfr
	expect_status 0
	{ printed shop.jfr; printed shop.jfr; printed inline.jfr; } | jq -cS 'del(.values.id)' | sort >expected
	printed merged.jfr | jq -cS 'del(.values.id)' | sort | diff expected -
}

@test "the output takes its place when it is whole, and may be an input" {
	recording shop
	cp shop.jfr before.jfr
	weft merge -o shop.jfr shop.jfr nothing.jfr
	expect_status 1
	[ "$err" = "weft merge: nothing.jfr: No such file or directory" ]
	cmp shop.jfr before.jfr
	weft merge -o shop.jfr shop.jfr shop.jfr
	expect_status 0
	[ "$(count shop.jfr jdk.ExecutionSample)" = "$((2 * $(count before.jfr jdk.ExecutionSample)))" ]
	[ "$(stat -c %a shop.jfr)" = 600 ]
	[ "$(ls)" = "before.jfr
shop.jfr
stderr
stdout" ]
}

@test "to standard output, but not to a terminal" {
	recording shop
	weft merge -o - shop.jfr
	expect_status 0
	"$WEFT" merge -o out.jfr shop.jfr
	cmp stdout out.jfr
	"$WEFT" merge -o - shop.jfr | cat >piped.jfr
	[ "$(printed piped.jfr)" = "$(printed shop.jfr)" ]
}

@test "a file that is cut short: what is whole is merged, and told" {
	recording shop
	size=$(stat -c %s shop.jfr)
	cat shop.jfr shop.jfr >twice.jfr
	for cut in 1 60 200; do
		head -c $((2 * size - cut)) twice.jfr >cut.jfr
		weft merge -o out.jfr cut.jfr shop.jfr
		expect_status 1
		expect_in "$err" "weft merge: cut.jfr: at byte "
		expect_in "$err" "merged is what is whole"
		weft summary out.jfr
		expect_status 0
		[ "$(count out.jfr jdk.ExecutionSample)" -ge "$((2 * $(count shop.jfr jdk.ExecutionSample)))" ]
	done
}

@test "an event that is damaged ends its file" {
	recording shop
	chunk=$(od -An -tu1 -j8 -N8 shop.jfr | awk '{ for (i = 1; i <= 8; i++) n = n * 256 + $i; print n }')
	# what follows the first chunk's first events is no event: a size of 0
	head -c $((chunk - 300)) shop.jfr >bad.jfr
	head -c 300 /dev/zero >>bad.jfr
	tail -c +$((chunk + 1)) shop.jfr >>bad.jfr
	weft merge -o out.jfr bad.jfr shop.jfr
	expect_status 1
	expect_in "$err" "bad.jfr: at byte "
	weft summary out.jfr
	expect_status 0
	[ "$(count out.jfr jdk.ExecutionSample)" -ge "$(count shop.jfr jdk.ExecutionSample)" ]
}

@test "of a chunk that is damaged within, what comes before has its stacks" {
	recording shop
	# of the first chunk with samples: the size of its last event but the checkpoint becomes 0
	python3 - <<-'END'
		import struct
		data = bytearray(open('shop.jfr', 'rb').read())

		def leb(at):
		    value = shift = 0
		    while True:
		        value |= (data[at] & 0x7f) << shift
		        at, shift = at + 1, shift + 7
		        if data[at - 1] < 0x80:
		            return value, at

		start, events = 0, []
		while len(events) < 5:
		    size, checkpoint, metadata = struct.unpack('>QQQ', data[start + 8:start + 32])
		    at, events = start + 68, []
		    while at < start + size:
		        if at not in (start + checkpoint, start + metadata):
		            events.append(at)
		        at += leb(at)[0]
		    start += size
		data[events[-1]] = 0
		open('bad.jfr', 'wb').write(data)
	END
	weft merge -o out.jfr bad.jfr
	expect_status 1
	expect_in "$err" "bad.jfr: at byte "
	printed out.jfr >found
	printed shop.jfr >expected
	[ -z "$(comm -23 found expected)" ]
	grep -q '"lineNumber"' found
}

@test "nothing whole, no recording, no file" {
	recording shop
	head -c 100 shop.jfr >cut.jfr
	weft merge -o out.jfr cut.jfr
	expect_status 1
	expect_in "$err" "nothing to write"
	echo hello >text.jfr
	weft merge -o out.jfr shop.jfr text.jfr
	expect_status 1
	expect_in "$err" "text.jfr: not a JFR file"
	weft merge -o out.jfr .
	expect_status 1
	expect_in "$err" ".: Is a directory"
	[ ! -e out.jfr ]
	weft merge -o /nowhere/at/all.jfr shop.jfr
	expect_status 1
	expect_in "$err" "/nowhere/at/all.jfr: No such file or directory"
	weft merge
	expect_status 2
}

@test "a full disk is told, and leaves nothing" {
	[ -e /dev/full ] || skip "no /dev/full"
	recording shop
	weft merge -o /dev/full shop.jfr
	expect_status 1
	expect_in "$err" "/dev/full: No space left on device"
}

@test "packed recordings" {
	recording shop
	gzip -k shop.jfr
	weft merge -o out.jfr shop.jfr.gz
	expect_status 0
	[ "$(printed out.jfr)" = "$(printed shop.jfr)" ]
}

@test "settings: types are left out, stacks too, and it is recorded" {
	recording shop
	before=$(count shop.jfr jdk.ExecutionSample)
	weft merge -o out.jfr --set 'weft.*#enabled=false,ExecutionSample#stackTrace=false' shop.jfr
	expect_status 0
	[ "$(count out.jfr jdk.ExecutionSample)" = "$before" ]
	[ "$(count out.jfr weft.Span)" = 0 ]
	[ "$(count shop.jfr weft.Span)" -gt 0 ]
	"$WEFT" print --json out.jfr | jq -e '[.recording.events[] |
		select(.type == "jdk.ExecutionSample").values.stackTrace] | all(. == null)' >/dev/null
	"$WEFT" print --json shop.jfr | jq -e '[.recording.events[] |
		select(.type == "jdk.ExecutionSample").values.stackTrace] | all(. != null)' >/dev/null
	"$WEFT" print --json --events ActiveSetting out.jfr | jq -e '[.recording.events[].values |
		select(.name == "stackTrace" and .value == "false")] | length == 1' >/dev/null
}

@test "a select that cannot be is told once for each type, and is all" {
	recording shop
	weft merge -o out.jfr --set 'weft.Span#select=if-context,jdk.*#select=sometimes' shop.jfr shop.jfr
	expect_status 0
	[ "$(grep -c 'weft.Span#select' stderr)" = 1 ]
	[ "$(grep -c 'jdk.ExecutionSample#select' stderr)" = 1 ]
	[ "$(count out.jfr weft.Span)" = "$((2 * $(count shop.jfr weft.Span)))" ]
	[ "$(count out.jfr jdk.ExecutionSample)" = "$((2 * $(count shop.jfr jdk.ExecutionSample)))" ]
}

@test "a select that cannot be of any type: a few are told, the others counted" {
	recording queue
	weft merge -o out.jfr --set '*#select=sometimes' queue.jfr
	expect_status 0
	[ "$(grep -c '#select: not for an event of this kind' stderr)" = 8 ]
	types=$("$WEFT" metadata --json --events '*' queue.jfr | jq '[.types[].name] | unique | length')
	told=$(sed -n 's/.*select: the same of other types: \([0-9]*\)$/\1/p' stderr)
	echo "$types types, $told more"
	[ "$((told + 8))" = "$types" ]
}
