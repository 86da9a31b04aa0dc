#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Settings on the command line and from files, seen by what weft merge does with them.

load common

head='<?xml version="1.0"?><configuration version="2.0">'
# jfc FILE EVENT SETTING VALUE
jfc() { echo "$head<event name=\"$2\"><setting name=\"$3\">$4</setting></event></configuration>" >"$1"; }
# merged OPTION...: number of samples that stay
merged() {
	weft merge -o out.jfr "$@" shop.jfr
	expect_status 0 &&
		samples=$("$WEFT" summary --json out.jfr |
			jq '[.events[] | select(.name == "jdk.ExecutionSample").count] | add // 0')
}

setup_file() { "$MAKE_RECORDING" shop "$BATS_FILE_TMPDIR/shop.jfr"; }
shop() { cp "$BATS_FILE_TMPDIR/shop.jfr" .; }
needs_expat() {
	weft merge -o - --settings default nothing.jfr
	[[ $err != *expat* ]] || skip "built without expat"
}

@test "the command line counts before files, a later one before an earlier one" {
	needs_expat
	shop
	jfc off.jfc jdk.ExecutionSample enabled false
	jfc on.jfc '*' enabled true
	merged && [ "$samples" = 13 ]
	merged --settings off.jfc && [ "$samples" = 0 ]
	merged --settings off.jfc --settings on.jfc && [ "$samples" = 13 ]
	merged --settings on.jfc --settings off.jfc && [ "$samples" = 0 ]
	merged --set 'jdk.ExecutionSample#enabled=true' --settings off.jfc && [ "$samples" = 13 ]
	merged --set '*#enabled=false,jdk.*#enabled=true' && [ "$samples" = 13 ]
	merged --set 'jdk.*#enabled=true' --set '*#enabled=false' && [ "$samples" = 0 ]
}

@test "profiles are known by name, and a JVM's files are taken whole" {
	needs_expat
	shop
	merged --settings default && [ "$samples" = 13 ] && [ -z "$err" ]
	merged --settings profile && [ "$samples" = 13 ] && [ -z "$err" ]
	weft merge -o out.jfr --settings nothing shop.jfr
	expect_status 1
	[ "$err" = "weft merge: --settings: nothing: No such file or directory" ]
	for file in /usr/lib/jvm/*/lib/jfr/*.jfc; do
		[ -e "$file" ] || skip "no JDK"
		merged --settings "$file"
		# cutoff and the like, each once
		[ "$(sort stderr | sed 's/.*unknown setting//' | uniq -d)" = "" ]
		expect_not grep -v 'unknown setting' stderr
	done
}

@test "what is malformed is told with its line" {
	needs_expat
	shop
	printf '%s\n' "$head" '<event name="a">' '</configuration>' >bad.jfc
	weft merge -o out.jfr --settings bad.jfc shop.jfr
	expect_status 1
	[ "$err" = "weft merge: --settings: bad.jfc:3: mismatched tag" ]
	printf '%s\n' '<?xml version="1.0"?>' '<!DOCTYPE x [<!ENTITY a "b">]>' '<x/>' >bomb.jfc
	weft merge -o out.jfr --settings bomb.jfc shop.jfr
	expect_status 1
	expect_in "$err" "bomb.jfc:2: "
	head -c 2000000 /dev/zero >large.jfc
	weft merge -o out.jfr --settings large.jfc shop.jfr
	expect_status 1
	expect_in "$err" "large.jfc: larger than 1 MiB"
	[ ! -e out.jfr ]
}

@test "strings that are none are refused, unknown settings and values told" {
	shop
	for text in jdk.X 'jdk.X#enabled' '#enabled=true' 'enabled=true' ''; do
		weft merge -o out.jfr --set "$text" shop.jfr
		expect_status 2
		expect_in "$err" "--set: $text: not EVENT#SETTING=VALUE"
	done
	merged --set 'a#cutoff=1 s,b#cutoff=2 s,a#threshold=soon'
	[ "$(grep -c cutoff stderr)" = 1 ]
	expect_in "$err" "warning: a#threshold: no value of it: 'soon'"
}

@test "a JVM takes the profiles" {
	java=$(command -v java || ls /usr/lib/jvm/*/bin/java 2>/dev/null | tail -n 1)
	[ -n "$java" ] || skip "no JDK"
	echo 'public class Nothing { public static void main(String[] a) { } }' >Nothing.java
	for profile in default profile; do
		"$java" "-XX:StartFlightRecording:settings=$WEFT_SOURCE/share/$profile.jfc,filename=$profile.jfr" \
			Nothing.java >log 2>&1 || { cat log; return 1; }
		expect_not grep -iE '\[(warning|error)\]|exception' log
		weft print --json --events ActiveSetting "$profile.jfr"
		jq -e '[.recording.events[].values | select(.name == "period" and .value == "everyChunk")] |
			length > 2' stdout >/dev/null
	done
}
