#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft metadata: the types of a recording; agreement with the JDK's tool is tests/interop.

load common

recording() { "$MAKE_RECORDING" "$1" "${2:-$1.jfr}"; }
classes() { sed -n 's/^class \([A-Za-z]*\).*/\1/p' stdout; }

@test "a type with its fields" {
	recording shop
	weft metadata --events ExecutionSample shop.jfr
	expect_status 0
	[ "$(classes)" = ExecutionSample ]
	[ "$(sed -n 1p stdout)" = '@Name("jdk.ExecutionSample")' ]
	grep -qx '  Thread eventThread;' stdout
	grep -qx '  StackTrace stackTrace;' stdout
}

@test "all types: primitives first, events last" {
	recording shop
	weft metadata shop.jfr
	expect_status 0
	[ "$(classes | head -1)" = boolean ]
	grep -qx 'class Category extends java.lang.annotation.Annotation {' stdout
	grep -qx '  String\[\] value;' stdout
	[ "$(grep -c ' extends jdk.jfr.Event {' stdout)" -gt 3 ]
	tail -n +"$(grep -nm1 ' extends jdk.jfr.Event {' stdout | cut -d: -f1)" stdout >events
	expect_not grep -q 'Annotation {' events
}

@test "JSON says the same" {
	recording shop
	weft metadata shop.jfr
	classes >names
	weft metadata --json shop.jfr
	expect_status 0
	jq -r '.types[].name | sub(".*\\."; "")' stdout | cmp - names
	[ "$(jq -c '.types[] | select(.name == "jdk.types.StackTrace").fields[] | [.name, .type, .array, .pooled]' stdout)" = \
		'["truncated","boolean",false,false]
["frames","jdk.types.StackFrame",true,false]' ]
	[ "$(jq '.types[] | select(.name == "jdk.types.Symbol").simple' stdout)" = true ]
}

@test "globs that match nothing" {
	recording shop
	weft metadata --events Nothing,ExecutionSample shop.jfr
	expect_status 0
	[ "$err" = "weft metadata: warning: no event type named 'Nothing'" ]
	weft metadata --categories Nothing shop.jfr
	expect_status 1
	expect_in "$err" "nothing is selected"
	[ -z "$out" ]
}

@test "the types of whole chunks, when the file is damaged" {
	recording shop
	cat shop.jfr shop.jfr >twice.jfr
	head -c $(($(stat -c %s twice.jfr) - 10)) twice.jfr >cut.jfr
	weft metadata shop.jfr
	cp stdout whole
	weft metadata cut.jfr
	expect_status 1
	cmp stdout whole
	expect_in "$err" "chunk is cut short; shown is what is whole"
	echo hello >text
	weft metadata text
	expect_status 1
	[ "$err" = "weft metadata: text: not a JFR file" ]
}
