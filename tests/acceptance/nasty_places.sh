#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The profiling handler lands in malloc, in the dynamic linker, in a thread's end, in fork, on
# stacks of all kinds: the program goes on and comes out right, and each stack that was taken
# is whole, or said to be cut and counted. See nasty/nasty.h.
#
#   WEFT_PLACE_MS=150: CPU time spent at each place; WEFT_ENGINES=cpu: what records
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
nasty=$tools/nasty/nasty
ms=${WEFT_PLACE_MS:-150}
engines=${WEFT_ENGINES:-cpu}

# place | frames that stacks must have, some at least, leaf first | least share of whole stacks, %
# (100 less what threads' first and last instructions may take; modules that come and go faster
# than anyone can look at them leave more; 0: the walk cannot go on there)
places() {
	cat <<-'END'
		malloc|;place_malloc;run_place;main;|97
		dlopen|;dlopen(_[^;]*)?;.*place_dlopen;run_place;main;|70
		reload|^inner_left;run_library;call_left;place_reload;run_place;main;|50
		reload|^inner_right;run_library;call_right;place_reload;run_place;main;|50
		lazy|;place_lazy;run_place;main;|70
		plt|^nasty_empty@plt;place_plt;run_place;main;|97
		plt|^nasty_empty;place_plt;run_place;main;|97
		vdso|^(__vdso_)?clock_gettime;.*place_vdso;run_place;main;|97
		thread_exit|burn_destructor;.*;(start_thread|start|[^;]*libc[^;]*);|95
		cancel|burn_cleanup;wait_for_cancel;|95
		cancel|burn_destructor;.*;(start_thread|start|[^;]*libc[^;]*);|95
		fork|burn_at_fork;.*;place_fork;run_place;main;|97
		vfork|(^|;)burn;place_vfork;run_place;main;|97
		altstack|burn_in_handler;.*;raise_on;place_altstack;run_place;main;|97
		raised|burn_in_handler;.*;raise_on;place_raised;run_place;main;|97
		alarm|burn_in_handler;[^;]*;burn(t_wrong)?;place_alarm;run_place;main;|97
		longjmp|burn;place_longjmp;run_place;main;|97
		fault|open_fence;[^;]*;place_fault;run_place;main;|97
		coroutine|burn_in_coroutine;be_coroutine|0
		switched|burn_in_coroutine;call_on|0
		small_thread|burn_in_coroutine;burn_small;|95
	END
}

goes_on() { # PROGRAM PLACE ENGINE
	local status
	bounded "$weft" record -e "$3" -F 1000 -o "$work/$2.jfr" -- "$1" "$2" "$ms" \
		>"$work/out" 2>"$work/err"
	status=$?
	[ $status = 0 ] && same "$2: right" "$(cat "$work/out")" || {
		echo "status $status"
		cat "$work/err"
		return 1
	}
}

list() { # PLACE: "truncated stack" lines
	"$tools/list-samples" "$work/$1.jfr" | cut -f 7,8 >"$work/list"
}

# Before the collector has published the first map, stacks are copied; a copy holds one stack, and is
# cut where the walk would go on to another. On a loaded machine that takes its time.
copied_early() { # PLACE
	"$weft" report --json --top 1 "$work/$1.jfr" | jq '.counters.copied_no_map // 0'
}

# A place may exec true, which has no symbols: its _start is an address.
stacks_are_right() { # PLACE FRAMES SHARE
	awk -F'\t' -v frames="$2" -v share="$3" -v early="$(copied_early "$1")" '
		$2 ~ frames { with++ }
		{ all++; cut += $1 }
		!$1 && $2 !~ /(^|;)(_start|_dl_start_user|(__)?clone3?|__start_context|true\+0x[0-9a-f]+)$/ {
			if (++odd <= 3) print "neither whole nor cut: " $2 }
		END {
			printf "%d with these frames; of %d samples %d are cut\n", with, all, cut
			early = early < cut ? early : cut
			early = early < all / 4 ? early : all / 4
			exit with < 1 || odd > 0 || (all - cut + early) * 100 < all * share
		}' "$work/list"
}

cuts_are_counted() { # PLACE
	local cut counted
	cut=$(awk '$1 == 1' "$work/list" | wc -l)
	counted=$("$weft" report --json "$work/$1.jfr" | jq '[.. | objects | to_entries[] |
		select(.key | startswith("cut_")) | .value | numbers] | add // 0')
	[ "$cut" = 0 ] || at_least 1 "$counted"
}

balanced() { # PLACE
	same true "$("$weft" report --json --top 1 "$work/$1.jfr" | jq '(.counters.attempted // 0) ==
		(.counters.delivered // 0) + ([.lost[]] | add // 0)')"
}

books_are_right() {
	cuts_are_counted "$1" && balanced "$1"
}

try() { # PROGRAM PLACE FRAMES SHARE ENGINE
	local name
	name="$2 ($(basename "$1"), $5)"
	check "$name: the program comes out right" goes_on "$1" "$2" "$5" || return
	list "$2"
	check "$name: stacks are whole, or said to be cut" stacks_are_right "$2" "$3" "$4" ||
		cut -f 2 "$work/list" | sort | uniq -c | sort -rn | cut -c 1-200 | sed 's|^|# |' | head -n 8
	show "$work/check.out" 2
	check "$name: cuts are counted, the books balance" books_are_right "$2"
}

every_place_has_a_row() {
	same "$("$nasty" --list | sort)" "$(places | cut -d'|' -f 1 | sort -u)"
}

check "every place is looked at" every_place_has_a_row
for engine in $engines; do
	while IFS='|' read -r place rest; do
		share=${rest##*|}
		try "$nasty" "$place" "${rest%|*}" "$share" "$engine" </dev/null
	done < <(places)
	for place in malloc dlopen cancel; do
		try "$tools/nasty/nasty-own-malloc" "$place" ';main;|;clone3$' 90 "$engine"
	done
done
finish
