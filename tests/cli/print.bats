#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft print: what is selected, in which form and order; contexts; damage; closed pipes; following.
# That its output is what the JDK's tool writes is checked in tests/interop.

load common

types_of() { jq -r '.recording.events[].type' <"${1:-stdout}" | sort | uniq -c | sed 's/^ *//'; }

@test "the text form: an event in braces, thread and stack last" {
	"$MAKE_RECORDING" shop shop.jfr
	weft print --events ExecutionSample --stack-depth 1 shop.jfr
	expect_status 0
	[ "$err" = "" ]
	head -1 stdout | grep -qx 'jdk.ExecutionSample {'
	sed -n 2p stdout | grep -qE '^  startTime = [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}$'
	grep -qE '^  eventThread = ".+" \(osThreadId = [0-9]+\)$' stdout
	[ "$(grep -c ' line: ' stdout)" = "$(grep -c '^jdk' stdout)" ]
	[ "$(grep -c '^    \.\.\.$' stdout)" -gt 0 ]
}

@test "JSON and XML are whole, and hold the same events as the summary counts" {
	"$MAKE_RECORDING" shop shop.jfr
	weft print --json shop.jfr
	expect_status 0
	types_of >printed
	"$WEFT" summary --json shop.jfr |
		jq -r '.events[] | select(.count > 0 and (.name | startswith("jdk.Metadata") or startswith("jdk.Check") | not)) | "\(.count) \(.name)"' | sort -k2 >counted
	sort -k2 printed | diff - counted
	weft print --xml shop.jfr
	expect_status 0
	python3 -c 'import sys, xml.etree.ElementTree as x
for e in x.parse("stdout").getroot().find("events"): print(e.get("type"))' | sort | uniq -c | sed 's/^ *//' | diff printed -
}

@test "globs: whole names, names without package, stars, several, categories; case counts" {
	"$MAKE_RECORDING" shop shop.jfr
	for glob in jdk.ExecutionSample ExecutionSample '*Sample' 'Execution?ample' ' ExecutionSample ' 'nothing,ExecutionSample'; do
		weft print --json --events "$glob" shop.jfr
		expect_status 0
		[ "$(jq -r '[.recording.events[].type] | unique | join(" ")' stdout)" = jdk.ExecutionSample ] || { echo "$glob"; return 1; }
	done
	weft print --json --events ExecutionSample --events Span shop.jfr
	[ "$(jq -r '[.recording.events[].type] | unique | join(" ")' stdout)" = "jdk.ExecutionSample weft.Span" ]
	weft print --json --events executionsample shop.jfr
	expect_status 1
	expect_in "$err" "no event type named 'executionsample'; is it jdk.ExecutionSample"
}

@test "what matches no type is warned of; nothing at all is a failure, with a whole output" {
	"$MAKE_RECORDING" shop shop.jfr
	weft print --json --events 'Spam,ExecutionSample' shop.jfr
	expect_status 0
	expect_in "$err" "warning: no event type named 'Spam'; is it weft.Span"
	# a type that is declared and has no events is no mistake
	weft print --json --events ActiveSetting shop.jfr
	expect_status 0
	[ "$err" = "" ]
	weft print --json --categories Nowhere shop.jfr
	expect_status 1
	expect_in "$err" "no event type of a category 'Nowhere'"
	expect_in "$err" "nothing is selected"
	[ "$(jq -c . stdout)" = '{"recording":{"events":[]}}' ]
	weft print --xml --events "$(printf 'a\033[31m')" shop.jfr
	expect_status 1
	expect_not grep -q "$(printf '\033')" stderr
	python3 -c 'import xml.etree.ElementTree as x; assert len(x.parse("stdout").getroot().find("events")) == 0'
}

@test "several files are one output" {
	"$MAKE_RECORDING" shop shop.jfr
	weft print --json shop.jfr
	jq '.recording.events | length' stdout >one
	weft print --json shop.jfr shop.jfr
	expect_status 0
	[ "$(jq '.recording.events | length' stdout)" = $((2 * $(cat one))) ]
}

@test "contexts: lines in text, objects in JSON and XML, with and without the contextual type" {
	"$MAKE_RECORDING" shop shop.jfr
	weft print --context --events ExecutionSample shop.jfr
	expect_status 0
	grep -q '^  Context: Span\.spanId = "' stdout
	grep -c '^  Context: Span\.spanId = ' stdout >lines
	weft print --context --json --events ExecutionSample shop.jfr
	[ "$(jq '[.recording.events[].context[] | select(.values.spanId)] | length' stdout)" = "$(cat lines)" ]
	[ "$(jq '[.recording.events[] | select(.context == null)] | length' stdout)" = 0 ]
	weft print --context --json shop.jfr
	[ "$(jq '[.recording.events[] | select(.type == "jdk.ExecutionSample").context[] | select(.values.spanId)] | length' stdout)" = "$(cat lines)" ]
	[ "$(jq '[.recording.events[] | select(.type == "weft.Span").context[]] | length' stdout)" = 0 ]
	weft print --context --xml --events ExecutionSample shop.jfr
	[ "$(python3 -c 'import xml.etree.ElementTree as x; print(len(x.parse("stdout").getroot().findall(".//context/value[@name=\"spanId\"]")))')" = "$(cat lines)" ]
	weft print --json --events ExecutionSample shop.jfr
	[ "$(jq '[.recording.events[] | select(has("context"))] | length' stdout)" = 0 ]
}

@test "a truncated recording: what is whole, the place, exit 1; JSON and XML are whole" {
	"$MAKE_RECORDING" shop shop.jfr
	weft print --json shop.jfr
	jq '.recording.events | length' stdout >all
	size=$(stat -c %s shop.jfr)
	for keep in 100 1000 $((size / 2)) $((size - 1)); do
		head -c "$keep" shop.jfr >cut.jfr
		for form in --json --xml; do
			weft print "$form" cut.jfr
			expect_status 1
			expect_in "$err" "cut.jfr: at byte"
		done
		python3 -c 'import xml.etree.ElementTree as x; x.parse("stdout")'
		weft print --json cut.jfr
		[ "$(jq '.recording.events | length' stdout)" -le "$(cat all)" ]
	done
	# two recordings in a row, the second cut: all of the first
	{ cat shop.jfr; head -c $((size / 2)) shop.jfr; } >cut.jfr
	weft print --json cut.jfr
	expect_status 1
	[ "$(jq '.recording.events | length' stdout)" -ge "$(cat all)" ]
	expect_in "$err" "shown is what is whole"
}

@test "packed recordings are printed as what is in them" {
	"$MAKE_RECORDING" shop shop.jfr
	gzip -k shop.jfr
	weft print --json --context shop.jfr
	mv stdout plain
	weft print --json --context shop.jfr.gz
	expect_status 0
	cmp plain stdout
}

@test "a closed pipe ends it without a word, also where SIGPIPE is ignored" {
	"$MAKE_RECORDING" shop shop.jfr
	for i in {1..40}; do cat shop.jfr; done >long.jfr
	"$WEFT" print --json long.jfr 2>stderr | head -2 >/dev/null
	[ ! -s stderr ]
	(
		trap '' PIPE
		"$WEFT" print --json long.jfr 2>stderr | head -2 >/dev/null
	)
	[ ! -s stderr ]
}

@test "a full disk and a place that cannot be written are told" {
	"$MAKE_RECORDING" shop shop.jfr
	status=0
	"$WEFT" print shop.jfr >/dev/full 2>stderr || status=$?
	err=$(cat stderr)
	expect_status 1
	expect_in "$err" "standard output: No space left on device"
	weft print -o missing/out shop.jfr
	expect_status 1
	expect_in "$err" "missing/out: No such file"
}

@test "-o writes a file whole, and never the recording itself" {
	"$MAKE_RECORDING" shop shop.jfr
	weft print --json shop.jfr
	mv stdout expected
	weft print --json -o out.json shop.jfr
	expect_status 0
	[ -z "$out" ]
	cmp expected out.json
	cp shop.jfr before.jfr
	weft print -o shop.jfr shop.jfr
	expect_status 2
	cmp shop.jfr before.jfr
}

@test "refusals: no file, strangers, two forms, --follow into a file" {
	weft print
	expect_status 2
	weft print missing.jfr
	expect_status 1
	expect_in "$err" "missing.jfr: No such file"
	echo text >text
	weft print text
	expect_status 1
	expect_in "$err" "text: not a JFR file"
	"$MAKE_RECORDING" shop shop.jfr
	weft print --json --xml shop.jfr
	expect_status 2
	weft print --follow -o out shop.jfr
	expect_status 2
	weft print --follow shop.jfr shop.jfr
	expect_status 2
}

@test "--follow prints what comes, and completes JSON when it is interrupted" {
	"$MAKE_RECORDING" shop shop.jfr
	# without the mark of the last chunk it looks as if it were still being written
	"$WEFT" print --json shop.jfr | jq '.recording.events | length' >all
	python3 - <<'EOF'
data = bytearray(open('shop.jfr', 'rb').read())
at = 0
while at < len(data):
    data[at + 67] &= ~2 & 255
    at += int.from_bytes(data[at + 8:at + 16], 'big')
first = int.from_bytes(data[8:16], 'big')
open('rest', 'wb').write(data[first:])
open('growing.jfr', 'wb').write(data[:first])
EOF
	bash -c 'trap - INT; exec "$WEFT" print --json --follow growing.jfr' >followed 2>stderr &
	pid=$!
	cat rest >>growing.jfr
	for ((i = 0; i < 300 && $(grep -c '"type": "[a-z]*\.' followed) < $(cat all); i++)); do sleep 0.1; done
	kill -TERM "$pid"
	wait "$pid"
	[ "$(jq '.recording.events | length' followed)" = "$(cat all)" ]
	# the mark ends it by itself
	weft print --json --follow shop.jfr
	expect_status 0
	[ "$(jq '.recording.events | length' stdout)" = "$(cat all)" ]
}
