#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft convert: formats agree with the report to the sample, files are whole or not there.

load common

recording() { "$MAKE_RECORDING" "$1" "${2:-$1.jfr}"; }
profile() { protoc --decode perftools.profiles.Profile -I "$WEFT_SOURCE/src/export" profile.proto; }

@test "collapsed: sorted lines, frames cleaned" {
	recording shop
	weft convert shop.jfr --to collapsed
	expect_status 0
	diff -u - stdout <<-END
	libfoo.so+0x10 1
	main;idle 3
	main;serve;checkout 1
	main;serve;checkout;hash 5
	main;serve;search<a:b>;walk;walk;walk 3
	END
}

@test "collapsed: keys of --by lead the stacks" {
	recording shop
	weft convert shop.jfr --to collapsed --by tag:route,thread
	expect_status 0
	diff -u - stdout <<-END
	route=(none);thread=child [200];libfoo.so+0x10 1
	route=(none);thread=shop [100];main;idle 1
	route=(none);thread=worker [101];main;idle 1
	route=(none);thread=worker [102];main;idle 1
	route=/checkout;thread=worker [101];main;serve;checkout 1
	route=/checkout;thread=worker [101];main;serve;checkout;hash 2
	route=/checkout;thread=worker [102];main;serve;checkout;hash 3
	route=/search;thread=worker [101];main;serve;search<a:b>;walk;walk;walk 3
	END
	cp stdout first
	weft convert shop.jfr --to collapsed --by tag:route --by thread
	cmp stdout first
}

@test "collapsed: --where selects" {
	recording shop
	weft convert shop.jfr --to collapsed --where tag:route=/search
	[ "$out" = "main;serve;search<a:b>;walk;walk;walk 3" ]
	weft convert shop.jfr --to collapsed --where tag:route=/nowhere
	expect_status 1
}

@test "pprof: protoc reads it, sums and labels are right" {
	recording shop
	weft convert shop.jfr --to pprof -o out.pb.gz
	expect_status 0
	gunzip -t out.pb.gz
	gunzip -c out.pb.gz | profile >text
	[ "$(grep -c '^sample {' text)" = 8 ]
	[ "$(sed -n '/^sample {/,/^}/p' text | awk '/value:/ { if (n++ % 2) ns += $2; else samples += $2 } END { print samples, ns }')" = "13 65000000" ]
	for string in trace_id span_id root_span_id thread process route /checkout "worker [101]" \
		samples count cpu nanoseconds 0af7651916cd43dd8448eb211c80319d libcrypto.so.3; do
		grep -qxF "string_table: \"$string\"" text || { echo "no $string"; return 1; }
	done
	grep -qx 'period: 5000000' text
	grep -qx 'time_nanos: 1700000000000000000' text
	grep -qx 'duration_nanos: 250000000' text
	[ "$(grep -m1 '^string_table' text)" = 'string_table: ""' ]
}

@test "pprof: the same recording gives the same file" {
	recording shop
	weft convert shop.jfr --to pprof -o one
	weft convert shop.jfr --to pprof -o two
	cmp one two
	"$WEFT" convert shop.jfr --to pprof | cmp - one
}

@test "pprof: --by names the labels" {
	recording shop
	weft convert shop.jfr --to pprof --by tag:route -o out
	gunzip -c out | profile >text
	grep -qx 'string_table: "route"' text
	expect_not grep -q 'string_table: "trace_id"' text
	[ "$(grep -c '^sample {' text)" = 5 ]
}

@test "pprof: a recording without period has counts only" {
	recording weightless
	weft convert weightless.jfr --to pprof -o out
	expect_status 0
	gunzip -c out | profile >text
	[ "$(grep -c '^sample_type {' text)" = 1 ]
	expect_not grep -q '^period' text
}

# "name flat cum" in samples, sorted, as go tool pprof has it and as the report has it
pprof_rows() {
	PPROF_TMPDIR=. go tool pprof -sample_index="$2" -unit="$3" -nodefraction=0 -edgefraction=0 -nodecount=100000 \
		-top "$1" 2>/dev/null | sed '1,/^ *flat  flat%/d' |
		awk '{ name = $6; for (i = 7; i <= NF; i++) name = name " " $i; print name, $1 + 0, $4 + 0 }' | sort
}

@test "pprof: go tool pprof and report agree to the sample" {
	command -v go >/dev/null || skip "no go"
	recording shop
	weft convert shop.jfr --to pprof -o out.pb.gz
	pprof_rows out.pb.gz samples count >pprof
	weft report shop.jfr --json --by function
	jq -r '.rows[] | "\(.key) \(.self_samples) \(.samples)"' stdout | sort >report
	diff -u report pprof
	[ "$(wc -l <pprof)" = 8 ]
	pprof_rows out.pb.gz cpu nanoseconds >pprof
	jq -r '.rows[] | "\(.key) \(.self_ns) \(.total_ns)"' stdout | sort >report
	diff -u report pprof
	PPROF_TMPDIR=. go tool pprof -raw out.pb.gz 2>/dev/null >raw
	grep -q 'route:\[/search\]' raw
	PPROF_TMPDIR=. go tool pprof -tagfocus=route=/search -sample_index=samples -top out.pb.gz 2>/dev/null |
		grep -qE '^ +3 .* walk$'
}

@test "an output file is whole or not there" {
	recording shop
	mkdir -m 0755 place
	echo older >place/out
	head -c 30 shop.jfr >bad.jfr
	weft convert bad.jfr --to collapsed -o place/out
	expect_status 1
	[ "$(cat place/out)" = older ]
	weft convert shop.jfr --to collapsed -o nowhere/out
	expect_status 1
	[ "$err" = "weft convert: nowhere/out: No such file or directory" ]
	weft convert shop.jfr --to collapsed -o place/out
	expect_status 0
	[ "$(wc -l <place/out)" = 5 ]
	[ "$(ls place)" = out ]
}

@test "a full device is told" {
	[ -w /dev/full ] || skip "no /dev/full"
	recording shop
	weft convert shop.jfr --to collapsed -o /dev/full
	expect_status 1
	[ "$err" = "weft convert: /dev/full: No space left on device" ]
	status=0
	"$WEFT" convert shop.jfr --to pprof >/dev/full 2>stderr || status=$?
	[ "$status" = 1 ]
	grep -q "weft convert: standard output: No space left on device" stderr
}

@test "binary formats are not written to a terminal" {
	command -v script >/dev/null || skip "no script"
	recording shop
	status=0
	script -qec "'$WEFT' convert shop.jfr --to pprof" /dev/null >typed </dev/null || status=$?
	[ "$status" = 2 ]
	grep -q "pprof is binary: give -o FILE" typed
}

@test "usage: formats are listed, wrong ones refused" {
	weft convert --help
	expect_in "$out" "collapsed"
	expect_in "$out" "pprof"
	recording shop
	weft convert shop.jfr --to spam
	expect_status 2
	expect_in "$err" "collapsed, pprof"
	weft convert shop.jfr
	expect_status 2
	expect_in "$err" "--to"
	weft convert --to pprof
	expect_status 2
	weft convert shop.jfr --to collapsed --by function
	expect_status 2
	weft convert shop.jfr --to collapsed --by spam
	expect_status 2
	expect_in "$err" "tag:NAME"
}

@test "damaged and empty recordings fail, with what there is" {
	recording shop
	head -c -20 shop.jfr >cut.jfr
	weft convert cut.jfr --to collapsed
	expect_status 1
	expect_in "$err" "converted is what is whole"
	[ -n "$out" ]
	recording empty
	weft convert empty.jfr --to collapsed
	expect_status 1
	[ "$err" = "weft convert: empty.jfr: no samples" ]
	weft convert nothing.jfr --to pprof -o out
	expect_status 1
	[ ! -e out ]
}

@test "a recording is not replaced by what is made of it" {
	recording shop
	cp shop.jfr before
	ln -s shop.jfr other-name
	weft convert shop.jfr --to pprof -o other-name
	expect_status 2
	expect_in "$err" "other-name: is the recording itself"
	cmp shop.jfr before
}

@test "collapsed: inlined functions are frames; --lines, --no-inlines" {
	"$MAKE_RECORDING" lines lines.jfr
	weft convert lines.jfr --to collapsed --where function=skip
	diff -u - stdout <<<'main;parse;skip 4'
	weft convert lines.jfr --to collapsed --where function=skip --lines
	diff -u - stdout <<<'main main.c:10;parse parse.c:5;skip skip.h:3 4'
	weft convert lines.jfr --to collapsed --where line=main.c:10 --no-inlines
	diff -u - stdout <<-END
	main;parse 6
	main;parse;parse 2
	END
}

@test "pprof: a location holds what is inlined, innermost first; files, lines, build-ids" {
	"$MAKE_RECORDING" lines lines.jfr
	weft convert lines.jfr --to pprof --by thread --where function=skip -o a.pb.gz
	expect_status 0
	gunzip -c a.pb.gz | profile >a.txt
	[ "$(grep -c '^location {' a.txt)" = 2 ]
	[ "$(sed -n '/^location {/,/^}/p' a.txt | grep -c 'line: ')" = 3 ]
	strings=$(sed -n 's/^string_table: "\(.*\)"$/\1/p' a.txt)
	for text in /src/app/skip.h /src/app/parse.c /src/app/app 00ff; do
		grep -qxF "$text" <<<"$strings"
	done
	sed -n '/^location {/,/^}/p' a.txt | sed -n 's/^    line: //p' | head -2 >lines
	diff -u - lines <<<$'3\n5'
}

@test "wall-clock samples: a stay is as many as it stands for, and time is wall" {
	"$MAKE_RECORDING" waits waits.jfr
	weft convert waits.jfr --to collapsed --event wall
	diff - stdout <<-END
	main;idle 20
	main;serve;checkout 12
	main;serve;checkout;hash 2
	main;serve;search<a:b>;walk;walk;walk 5
	END
	weft convert waits.jfr --to collapsed --event wall --by state --where tag:route=/checkout
	grep -qx 'state=uninterruptible;main;serve;search<a:b>;walk;walk;walk 4' stdout
	weft convert waits.jfr --to pprof --event wall -o waits.pb.gz
	expect_status 0
	gzip -dc waits.pb.gz | profile >waits.txt
	grep -q '^string_table: "wall"$' waits.txt
	grep -q '^string_table: "sleeping"$' waits.txt
	! grep -q '^string_table: "cpu"$' waits.txt
	grep -A1 '^  value: 12$' waits.txt | grep -q '^  value: 600000000$'
}

@test "a contextual field without a name, and times of no thread, are borne" {
	recording odd
	weft convert odd.jfr --to pprof -o odd.pb.gz
	expect_status 0
	weft report odd.jfr
	expect_status 0
	grep -q 'time  *1 of 1 threads: running, waiting and blocked do not add up' stdout
	weft convert odd.jfr --to collapsed --by tag:tenent --where tag:rout=/x
	expect_in "$err" "no tag 'tenent'; there are: none"
	expect_not grep "are: tenent" stderr
	expect_not grep "are: rout" stderr
}

@test "labels go along: pprof by their keys, collapsed before the stack" {
	recording labels
	weft convert labels.jfr --to pprof -o out
	expect_status 0
	gunzip -c <out >raw
	for text in tenant acme http.route /a=b label:route R1; do
		grep -aq "$text" raw
	done
	weft convert labels.jfr --to collapsed --by label:tenant,tag:route
	expect_status 0
	[ "$(awk 'index($0, "tenant=acme;route=tag;") == 1 { n += $NF } END { print n }' stdout)" = 3 ]
	[ "$(awk 'index($0, "tenant=(empty);route=(none);") == 1 { n += $NF } END { print n }' stdout)" = 1 ]
	weft convert labels.jfr --to collapsed --by label:nobody
	expect_in "$err" "no label 'nobody'"
}
