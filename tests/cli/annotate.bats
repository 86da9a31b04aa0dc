#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft annotate on a recording whose lines are known (tests/report/recordings.c: "lines").

load common

recording() { "$MAKE_RECORDING" lines "${1:-lines.jfr}"; }

# parse.c of nine lines, skip.h of four
sources() {
	mkdir -p "${1:-src}"
	printf '%s\n' '#include "skip.h"' '' 'int parse(const char *s)' '{' '	s = skip(s);' \
		'	if (*s)' '		s++;' '	return parse(s);' '}' >"${1:-src}/parse.c"
	printf 'static inline void skip(void)\n{\n\tspaces();\n}\n' >"${1:-src}/skip.h"
	touch -d @1600000000 "${1:-src}"/*
}

# JSON of lines as "line samples self total"
lines() { jq -r '.sources[] | .file as $f | .lines[] |
	"\($f):\(.line) \(.samples) \(.self_samples) \(.self_ns) \(.total_ns)"' "$1"; }

@test "lines with their weights, where the sources lie by --path" {
	recording
	sources
	weft annotate parse lines.jfr --where module=app --path /src/app=src
	expect_status 0
	diff -u - stdout <<-END
	parse in app: 8 samples, 40.000 ms, 53.3 % ±23.2 of all; self 26.7 % ±25.3

	    self                      total                     samples     line  src/parse.c
	                                                                       2  
	                                                                       3  int parse(const char *s)
	                                                                       4  {
	  13.3 % ±24.5   10.000 ms   40.0 % ±24.3   30.000 ms         6        5          s = skip(s);
	                                                                       6          if (*s)
	  13.3 % ±24.5   10.000 ms   13.3 % ±24.5   10.000 ms         2        7                  s++;
	   0.0 % ±20.4        0 ns   13.3 % ±24.5   10.000 ms         2        8          return parse(s);
	                                                                       9  }
	END
}

@test "an inlined function has its own lines; --no-inlines gives them to the one around" {
	recording
	sources
	weft annotate skip lines.jfr --path /src/app=src
	expect_status 0
	expect_in "$out" 'skip in app: 4 samples, 20.000 ms, 26.7 % ±25.3 of all; self 26.7 % ±25.3'
	expect_in "$out" '        3          spaces();'
	weft annotate parse lines.jfr --where module=app --no-inlines --json
	lines stdout >found
	diff -u - found <<-END
	/src/app/parse.c:5 6 6 30000000 30000000
	/src/app/parse.c:7 2 2 10000000 10000000
	/src/app/parse.c:8 2 0 0 10000000
	END
	weft annotate skip lines.jfr --no-inlines
	expect_status 1
}

@test "--json: sources as recorded and as found, with their text" {
	recording
	sources
	weft annotate parse lines.jfr -w module=app --json --path /src/app=src
	expect_status 0
	lines stdout >found
	diff -u - found <<-END
	/src/app/parse.c:5 6 2 10000000 30000000
	/src/app/parse.c:7 2 2 10000000 10000000
	/src/app/parse.c:8 2 0 0 10000000
	END
	[ "$(jq -r '.sources[0].path' stdout)" = src/parse.c ]
	[ "$(jq -r '.sources[0].lines[1].text' stdout)" = "                s++;" ]
	[ "$(jq -c '[.function, .module, .all_samples, .all_ns, .samples, .self_samples]' stdout)" = \
		'["parse","app",15,75000000,8,4]' ]
}

@test "sources are found below --source-dir, whole or by the end of their path" {
	recording
	sources deep/src/app
	weft annotate skip lines.jfr -s deep
	expect_status 0
	expect_in "$out" 'deep/src/app/skip.h'
	sources flat
	weft annotate skip lines.jfr -s nowhere -s flat
	expect_status 0
	expect_in "$out" 'flat/skip.h'
}

@test "--path: the first that fits whole parts of the path" {
	recording
	sources
	weft annotate skip lines.jfr --path /src/ap=nowhere --path /src/app=src --path /src=nowhere
	expect_status 0
	weft annotate skip lines.jfr --path spam
	expect_status 2
	expect_in "$err" "--path: 'spam' is no OLD=NEW"
}

@test "static functions of one name: a part for each file" {
	recording
	weft annotate helper lines.jfr --json
	lines stdout >found
	diff -u - found <<-END
	/src/app/a.c:5 1 1 5000000 5000000
	/src/app/b.c:5 2 2 10000000 10000000
	END
}

@test "several functions are listed, heaviest first" {
	recording
	weft annotate parse lines.jfr
	expect_status 1
	[ -z "$out" ]
	expect_in "$err" "2 functions match 'parse'; name one, or give --where module=MODULE:"
	expect_in "$err" "          8 samples  parse in app"$'\n'"          1 samples  parse in libother.so"
	for name in push 'ns::*' 'push<int>'; do
		weft annotate "$name" lines.jfr
		case $name in
		'push<int>') expect_in "$err" "no sample is in a function" ;;
		*) expect_in "$err" "2 functions match" ;;
		esac
	done
	weft annotate 'ns::stack<int>::push' lines.jfr --json
	[ "$(jq -r .function stdout)" = 'ns::stack<int>::push(int)' ]
}

@test "an unknown name: the nearest" {
	recording
	weft annotate prase lines.jfr
	expect_status 1
	expect_in "$err" "lines.jfr: no sample is in a function 'prase'; did you mean 'parse'?"
	weft annotate pusj lines.jfr
	expect_in "$err" "did you mean 'ns::stack<int>::push(int)', 'ns::stack<long>::push(long)'?"
	weft annotate zzzzzzzz lines.jfr
	expect_in "$err" "weft report --by function shows them"
	weft annotate parse lines.jfr --where thread=nobody
	expect_status 1
	expect_in "$err" "none of 15 samples is selected by --where"
}

@test "--where keeps to the samples of one route" {
	recording
	weft annotate parse lines.jfr --where tag:route=/parse --json
	[ "$(jq .samples stdout)" = 4 ]
	weft annotate parse lines.jfr --where line=skip.h:3 --json
	[ "$(jq .samples stdout)" = 4 ]
}

@test "neither source nor code: what is known, and what to do" {
	recording
	weft annotate skip lines.jfr
	expect_status 1
	expect_in "$out" '  26.7 % ±25.3   20.000 ms   26.7 % ±25.3   20.000 ms         4        3'
	expect_in "$out" 'No source at /src/app/skip.h: --path OLD=NEW or --source-dir DIR says where it is.'
	expect_in "$out" 'No code: /src/app/app: No such file or directory'
	expect_in "$err" "lines.jfr: no source or code of 'skip' to show"
	weft annotate parse lines.jfr --where module=libother.so
	expect_status 1
	expect_in "$out" 'Compile it with -g'
}

@test "a program that was built anew is not disassembled" {
	recording
	mkdir built
	cp "$WEFT" built/app
	weft annotate parse lines.jfr --where module=app --disassemble --path /src/app=built
	expect_status 1
	expect_in "$out" 'built/app is not the file that ran: its build-id is another'
	weft annotate parse lines.jfr --where module=app -d --json --path /src/app=built
	expect_in "$(jq -r .no_instructions stdout)" 'its build-id is another'
	[ "$(jq 'has("instructions")' stdout)" = false ]
}

@test "a source changed after the recording is shown with a warning" {
	recording
	sources
	touch src/skip.h
	weft annotate skip lines.jfr --path /src/app=src
	expect_status 0
	expect_in "$out" 'This file was changed after the recording began'
}

@test "a path of any bytes comes back as it was" {
	recording
	weft annotate made lines.jfr --json
	[ "$(jq -r '.sources[0].file' stdout)" = './gen (v2);100%.c' ]
	mkdir x
	printf '1\n2\n3\n4\n5\n6\n\033[31mseven\n' >'x/gen (v2);100%.c'
	weft annotate made lines.jfr -s x
	expect_status 0
	expect_in "$out" '        7  \x1b[31mseven'
}

@test "what is no text is no source" {
	recording
	mkdir src
	mkfifo src/skip.h
	weft annotate skip lines.jfr --path /src/app=src
	expect_status 1
	rm src/skip.h
	mkdir src/skip.h
	weft annotate skip lines.jfr --path /src/app=src
	expect_status 1
	rmdir src/skip.h
	printf 'a\0b' >src/skip.h
	weft annotate skip lines.jfr --path /src/app=src
	expect_status 0
	: >src/skip.h
	weft annotate skip lines.jfr --path /src/app=src
	expect_status 0
}

@test "wrong usage, and files that are none" {
	weft annotate
	expect_status 2
	weft annotate f a b
	expect_status 2
	weft annotate f nowhere.jfr
	expect_status 1
	expect_in "$err" 'nowhere.jfr: No such file or directory'
	echo spam >spam.jfr
	weft annotate f spam.jfr
	expect_status 1
	recording
	head -c -100 lines.jfr >cut.jfr
	weft annotate main cut.jfr --json
	expect_status 1
	expect_in "$err" 'shown is what is whole'
	"$WEFT" annotate main lines.jfr >/dev/full 2>stderr || status=$?
	expect_status 1
}
