#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whatever strangers call processes, threads, files and labels: what weft prints for people holds no
# command to the terminal, nothing that turns its direction, and is UTF-8.

load ../cli/common
load common
load ../cli/carry

teardown() {
	[ ! -e sleeper ] || kill "$(cat sleeper)" || true
	for p in "${CARRIED[@]}"; do
		kill -KILL "$p" 2>/dev/null || true
		wait "$p" 2>/dev/null || true
	done
	cd / || return
	rm -rf "$place"
}

NAME=$'\033]0;a\a\302\233\342\200\256\377'
SHOWN='\x1b]0;a\x07\xc2\x9b\xe2\x80\xae\xff'

# As a recording has them: what is no UTF-8 is U+FFFD there.
KEPT=$'\033]0;a\a\302\233\342\200\256\357\277\275'
KEPT_SHOWN=$'\\x1b]0;a\\x07\\xc2\\x9b\\xe2\\x80\\xae\357\277\275'

# harmless FILE...
harmless() {
	local file bad=0
	for file; do
		if LC_ALL=C grep -an -e $'[\001-\010\013-\037\177]' -e $'\302[\200-\237]' \
			-e $'\342\200[\216\217\250-\256]' -e $'\342\201[\246-\251]' "$file" >found ||
			! iconv -f UTF-8 -t UTF-8 "$file" >/dev/null; then
			echo "commands to the terminal in $file:"
			cat -v found
			bad=1
		fi
	done
	return $bad
}

# says ARG...: weft ARG... was harmless, and printed something
says() {
	weft "$@"
	harmless stdout stderr || {
		echo "weft $*"
		return 1
	}
	[ -s stdout ]
}

@test "the last lines of record: threads that could not be sampled, the file" {
	weft record --clock ticks -o "$NAME.jfr" -- "$WEFT_MISNAMED" 1500
	expect_status 0
	harmless stdout stderr
	expect_in "$err" "$SHOWN.jfr"
	expect_in "$err" "could not be sampled: "
	expect_in "$err" "${SHOWN}d (blocks SIGPROF)"
}

@test "the last lines of record: programs that ran unrecorded, or run on" {
	cp "$(command -v sleep)" "$NAME"
	weft record -o a.jfr -- sh -c 'env -i "$1" 600 & echo $! >sleeper; env -i "$1" 3' sh "./$NAME"
	expect_status 0
	harmless stdout stderr
	expect_in "$err" "ran unrecorded: $SHOWN ["
	expect_in "$err" "unrecorded: $SHOWN ["
}

@test "verbs that read a recording" {
	weft record -o "$NAME.jfr" -- "$WEFT_MISNAMED" 300
	expect_status 0
	says report "$NAME.jfr"
	says report --by thread "$NAME.jfr"
	expect_in "$out" "${KEPT_SHOWN}h"
	says report --by "label:${KEPT}key" "$NAME.jfr"
	expect_in "$out" "${KEPT_SHOWN}value"
	says report --where "label:${KEPT}key=${KEPT}value" "$NAME.jfr"
	expect_in "$out" "${KEPT_SHOWN}key=${KEPT_SHOWN}value"
	says report --counters "$NAME.jfr"
	says view weft.Span "$NAME.jfr"
	says view jdk.ActiveSetting "$NAME.jfr"
	says summary "$NAME.jfr" "$NAME.jfr"
	says print "$NAME.jfr"
	says print --json "$NAME.jfr"
	says print --xml "$NAME.jfr"
	says metadata "$NAME.jfr"
	says diff "$NAME.jfr" "$NAME.jfr"
	says annotate burn "$NAME.jfr"
}

@test "JSON on a terminal" {
	script -qec true /dev/null >/dev/null 2>&1 || skip "no script (util-linux)"
	weft record -o "$NAME.jfr" -- "$WEFT_MISNAMED" 300
	expect_status 0
	export FILE="$NAME.jfr"
	for verb in 'report --json' 'annotate burn --json' 'view weft.Span --json' 'summary --json'; do
		script -qec "\"\$WEFT\" $verb \"\$FILE\"" /dev/null </dev/null | tr -d '\r' >terminal
		harmless terminal || { echo "weft $verb"; return 1; }
		grep -q '\\u001[bB]\]0;a' terminal
	done
}

@test "collapsed stacks: what is no character is a blank" {
	weft record -o a.jfr -- "$WEFT_MISNAMED" 300
	expect_status 0
	weft convert a.jfr --to collapsed --by "label:${KEPT}key" -o collapsed
	expect_status 0
	grep -q key= collapsed
	harmless collapsed
}

@test "verbs that refuse: operands come back harmless" {
	local verb
	while read -r verb; do
		weft $verb "$NAME" "--$NAME"
		harmless stdout stderr || { echo "weft $verb"; return 1; }
	done < <(verbs)
	weft "$NAME"
	harmless stdout stderr
}

@test "programs that run: ps, inspect" {
	start one env LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" "$WEFT_MISNAMED" 0
	says inspect "$pid"
	expect_in "$out" "$SHOWN"
	kill "$pid"
	ln -s "$WEFT_MISNAMED" "$NAME"
	start two env LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" "./$NAME" 0
	says ps
	expect_in "$out" "\xc2\x9b\xe2\x80\xae\xff"
}

@test "doctor and check: variables and files" {
	WEFT_CACHE="$place/$NAME" WEFT_SETTINGS="$NAME" WEFT_DIR="$place/$NAME" says doctor
	expect_in "$out" "$SHOWN"
	cp "$WEFT_BUILD/src/runtime/libweft.so" "$NAME"
	says check "$NAME"
	expect_in "$out" "$SHOWN"
}
