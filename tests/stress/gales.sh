#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Storms of execs, forks and threads under every engine: none is killed or hangs, each ends
# with its own exit status; no sample is in the wrong process or thread: each works in
# functions whose names say what it is; the books balance.
#
#   WEFT_STORM=270: execs of each engine; as many forks, four times it threads
. "$(dirname "$0")/../acceptance/lib.sh"
have jq || skip_all "jq is not installed"
gale=$BUILD/tests/stress/gale-red
count=${WEFT_STORM:-270}
patience=$((300 + count / 5))
parents=4
each=$((count * 16 / 27 / parents)) # a 16th are chains of 12

record() { # NAME ENGINE EXPECTED COMMAND...: EXPECTED is how the last line of output ends
	local name=$1 engine=$2 expected=$3 wall
	shift 3
	case $engine in *,wall) wall='--wall-frequency 100' ;; *) wall='' ;; esac
	# shellcheck disable=SC2086
	bounded "$weft" record -e "$engine" -F 1000 $wall -o "$work/$name.jfr" -- "$@" \
		>"$work/out" 2>"$work/err" || {
		echo "status $?"
		tail -n 20 "$work/out" "$work/err"
		return 1
	}
	cat "$work/out"
	! grep -v '^weft record: ' "$work/err" && { [ -z "$expected" ] || grep -q "$expected\$" "$work/out"; }
}

report() { # NAME
	"$weft" report "$work/$1.jfr" --json --top 1
}

balanced() { # NAME: attempted = delivered + lost, nothing pending
	same true "$(report "$1" | jq '(.counters.attempted // 0) ==
		(.counters.delivered // 0) + ([.lost[]] | add // 0)')" || {
		"$weft" report "$work/$1.jfr" --counters
		return 1
	}
}

none_lost() { # NAME CAUSE
	same 0 "$(report "$1" | jq ".lost.$2 // 0")"
}

# Lines "what-it-is <TAB> frames", by the reader of JFR of the tests.
by_colour() {
	awk -F'\t' '$2 ~ /^gale-/ { name = $2; sub(/^gale-/, "", name); sub(/ .*/, "", name)
		print name "\t" $8 }' "$1"
}

# The main thread has the name of its own program, too, not of the one that it execs.
by_name() {
	awk -F'\t' '$2 ~ /^gale-/ { name = $2; sub(/ \[.*/, "", name); pid = $2; gsub(/.*\[|\]$/, "", pid)
		if (pid == $4 && name != $3) { print "thread " $3 " of " $2; bad = 1 } }
		END { exit bad }' "$1"
}

# A number of a process may have been given twice: each of its kinds is right.
by_fork() { # LIST LOG
	awk -F'\t' -v log_file="$2" '
		BEGIN { while ((getline line < log_file) > 0) { split(line, f, " "); kinds[f[1]] = kinds[f[1]] f[2] } }
		{ pid = $2; sub(/.*\[/, "", pid); sub(/\]$/, "", pid) }
		pid in kinds { print "[" kinds[pid] "]\t" $8 }' "$1"
}

# A span id is 16 hex digits, the last two of which are the kind.
by_span() {
	awk -F'\t' '$5 != "-" { print substr($5, 16) "\t" $8 }' "$1"
}

# Each of the lines has no frame burn_X or rest_X but of its own X; @LEAST lines have one.
only_its_own() { # LEAST
	awk -F'\t' -v least="$1" '
		{
			n = split($2, frame, ";")
			for (i = 1; i <= n; i++) {
				if (frame[i] !~ /^(burn|rest)_(red|green|blue|[0-7])$/) continue
				what = frame[i]; sub(/.*_/, "", what)
				if (what ~ "^" $1 "$") { good++; seen[what]++ }
				else { wrong++; if (wrong <= 5) print "in " $1 ": " $2 }
			}
		}
		END {
			for (what in seen) printf "%s %d, ", what, seen[what]
			printf "%d samples in their own, %d in another'"'"'s\n", good, wrong
			exit wrong > 0 || good < least
		}'
}

nothing_mixed_up() { # NAME LEAST LISTER [ARGUMENT]
	local name=$1 least=$2 lister=$3
	shift 3
	"$tools/list-samples" "$work/$name.jfr" >"$work/list" &&
		"$tools/list-samples" --wall "$work/$name.jfr" >>"$work/list" || return 1
	"$lister" "$work/list" "$@" | only_its_own "$least"
}

rests_are_seen() {
	at_least 1 "$("$tools/list-samples" --wall "$work/$1.jfr" | grep -c ';rest_')"
}

mixing_is_seen() {
	! printf 'red\tburn_red;x\nred\tburn_green;x\n' | only_its_own 1 &&
		! printf '[07]\tburn_1;x\n' | only_its_own 0 &&
		printf '[07]\tburn_7;x\n' | only_its_own 1
}

engines=$(engines_here)
case " $(echo $engines) " in *" cpu,wall "*) engines="cpu cpu,wall" ;; esac
check "a sample in the wrong place would be found" mixing_is_seen
for engine in $engines; do
	check "$engine: execs by $parents parents at once: none is killed, each has its status" \
		record execs "$engine" " execs, 0 failed" "$gale" execs "$parents" "$each"
	show "$work/check.out" 3
	check "$engine: ... no program's samples are another's" nothing_mixed_up execs 20 by_colour
	show "$work/check.out" 2
	case $engine in *wall*) check "$engine: ... where it rested, too" rests_are_seen execs ;; esac
	check "$engine: ... the books balance" balanced execs
	check "$engine: a chain of $((count / 4)) execs" record chain "$engine" "" "$gale" chain $((count / 4))
	check "$engine: ... no program's samples are another's" nothing_mixed_up chain 5 by_colour
	show "$work/check.out" 2
	check "$engine: ... nor is its name" by_name "$work/list"
	check "$engine: ... the books balance" balanced chain
	rm -f "$work/log"
	check "$engine: $count forks: none is killed, each has its status" \
		record forks "$engine" " forks, 0 failed" "$gale" forks "$count" "$work/log"
	check "$engine: ... no child's samples are another's" nothing_mixed_up forks 20 by_fork "$work/log"
	show "$work/check.out" 2
	check "$engine: ... the books balance" balanced forks
	check "$engine: $((count * 4)) threads, some cancelled, some by pthread_exit" \
		record threads "$engine" " threads, 0 failed" "$gale" threads $((count * 4))
	check "$engine: ... no thread's samples are in another's span" nothing_mixed_up threads 20 by_span
	show "$work/check.out" 2
	check "$engine: ... the books balance" balanced threads
	check "$engine: ... none is lost for want of a slot" none_lost threads no_slot
done
finish
