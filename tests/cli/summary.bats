#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft summary: every event is counted, of damaged files those before the damage.

load common

recording() { "$MAKE_RECORDING" "$1" "${2:-$1.jfr}"; }
rows() { sed -n 's/^ \([a-zA-Z]*\.[^ ]*\) *\([0-9]*\) *\([0-9]*\)$/\1 \2 \3/p' "$1"; }
bytes_of() { jq '[.events[].bytes] + [.undeclared.bytes] | add' "$1"; }

@test "rows and head lines" {
	recording shop
	weft summary shop.jfr
	expect_status 0
	expect_in "$out" " Version: 2.1"
	expect_in "$out" " Start: 2023-11-14 22:13:20 (UTC)"
	rows stdout >found
	grep -qx 'jdk.ExecutionSample 13 [0-9]*' found
	[ "$(sort -k2,2nr -k1,1 -s found)" = "$(cat found)" ]
}

@test "every byte of a file is in a row or in a header" {
	recording shop
	weft summary --json shop.jfr
	expect_status 0
	[ "$(jq .bytes stdout)" = "$(stat -c %s shop.jfr)" ]
	[ "$(($(bytes_of stdout) + 68 * $(jq .chunks stdout)))" = "$(stat -c %s shop.jfr)" ]
	[ "$(jq -c '[.file, .version, .damage]' stdout)" = '["shop.jfr","2.1",null]' ]
	expect_in "$out" '"start_ns":1700000000000000000,'
}

@test "several files: one after the other, one object a line" {
	recording shop
	recording inline
	weft summary shop.jfr inline.jfr
	expect_status 0
	[ "$(grep -cx '\(shop\|inline\).jfr' stdout)" = 2 ]
	weft summary --json shop.jfr nothing.jfr inline.jfr
	expect_status 1
	[ "$err" = "weft summary: nothing.jfr: No such file or directory" ]
	[ "$(jq -r .file stdout | tr '\n' ' ')" = "shop.jfr inline.jfr " ]
}

@test "a file that is cut short: what is whole is counted" {
	recording shop
	weft summary --json shop.jfr
	first=$(jq .bytes stdout)
	cat shop.jfr shop.jfr >twice.jfr
	for cut in 1 60 200; do
		head -c $((2 * first - cut)) twice.jfr >cut.jfr
		weft summary --json cut.jfr
		expect_status 1
		expect_in "$err" "cut short; counted is what is whole"
		expect_in "$(jq -r .damage stdout)" "cut short"
		[ "$(jq '.events[] | select(.name == "jdk.ExecutionSample").count' stdout)" -ge 13 ]
		[ "$(jq '.bytes' stdout)" -ge "$first" ]
	done
	head -c 40 shop.jfr >cut.jfr
	weft summary cut.jfr
	expect_status 1
	[ -z "$out" ]
}

@test "events after damage within a chunk are not counted, those before are" {
	recording shop
	weft summary --json shop.jfr
	whole=$(bytes_of stdout)
	# the size of the last event, a checkpoint: no bytes at all
	at=$(od -An -tu1 -j16 -N8 shop.jfr | awk '{ for (i = 1; i <= NF; i++) n = n * 256 + $i; print n }')
	printf '\0' | dd of=shop.jfr bs=1 seek="$at" conv=notrunc status=none
	weft summary --json shop.jfr
	expect_status 1
	expect_in "$err" "at byte $at: event is cut short"
	[ "$(bytes_of stdout)" -lt "$whole" ]
}

@test "what is no recording" {
	echo hello there >text
	mkdir dir
	: >nothing
	weft summary text
	expect_status 1
	[ "$err" = "weft summary: text: not a JFR file" ]
	weft summary nothing
	expect_status 1
	weft summary dir
	expect_status 1
	weft summary
	expect_status 2
}

# pack TOOL IN OUT; says when the tool is not there
pack() {
	command -v "$1" >/dev/null || { echo "# no $1" >&3; return 1; }
	case $1 in
	zip) zip -q - "$2" >"$3" ;;
	*) "$1" -c "$2" >"$3" ;;
	esac
}

@test "packed recordings are read like others, by every verb" {
	recording shop
	weft summary --json shop.jfr
	jq 'del(.file)' stdout >plain
	weft report shop.jfr
	cp stdout report
	for tool in gzip zip lz4 zstd; do
		pack "$tool" shop.jfr packed || continue
		weft summary --json packed
		expect_status 0
		jq 'del(.file)' stdout | cmp - plain
		weft report packed
		expect_status 0
		sed 's/packed/shop.jfr/' stdout | cmp - report
	done
	gzip -c shop.jfr shop.jfr >packed
	weft summary --json packed
	expect_status 0
	[ "$(jq .chunks stdout)" = "$((2 * $(jq .chunks plain)))" ]
}

@test "a packed recording that is cut short" {
	recording shop
	cp shop.jfr many.jfr
	for _ in 1 2 3 4 5 6 7 8 9 10; do # several blocks of any packing
		cat many.jfr many.jfr >more && mv more many.jfr
	done
	for tool in gzip zip lz4 zstd; do
		pack "$tool" many.jfr packed || continue
		head -c $(($(stat -c %s packed) - 20)) packed >cut
		weft summary --json cut
		expect_status 1
		expect_in "$err" "cut short; counted is what is whole"
		head -c 12 packed >cut
		weft summary cut
		expect_status 1
		expect_in "$err" "and no recording in it, or cut short within its first bytes"
	done
}

@test "what unpacks without end is refused, and no file is left" {
	recording shop
	mkdir tmp
	{ cat shop.jfr && head -c 80M /dev/zero; } | gzip -1 >bomb
	TMPDIR=$PWD/tmp weft summary bomb
	expect_status 1
	expect_in "$err" "weft summary: bomb: packed by gzip, and unpacked larger than a recording would be"
	[ -z "$(ls -A tmp)" ]
	head -c 80M /dev/zero | gzip -1 >bomb
	weft summary bomb
	expect_status 1
	expect_in "$err" "no recording in it"
}
