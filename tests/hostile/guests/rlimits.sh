#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A matrix of limits (setrlimit): within them a program does, says and returns what it does without
# weft, and has as much of what is limited; what weft cannot do there, it says in one line. If weft
# itself is within them, too, it records, or says in one line why not, before the program is begun.
. "$(dirname "$0")/../../acceptance/lib.sh"
have jq || skip_all "jq is not installed"
patience=120
limited=$BUILD/tests/hostile/guests/limited
as=()     # who runs all of it
begins=() # who runs the program: another user, perhaps, than who records it

# Its status, output and error output are kept. A file limit is not to limit these.
kept() { # NAME COMMAND...
	local name=$1 status=0
	shift
	bounded "$@" 2> >(cat >"$work/$name.err") </dev/null | cat >"$work/$name.out"
	status=${PIPESTATUS[0]}
	wait # for the cat
	echo "$status" >"$work/$name.status"
}

# But for what the loader says of a preload that it had no descriptor for, and what a shell says of
# signals.
own_words() { # NAME
	grep -a -v -e '^weft record: ' -e '^ERROR: ld.so: object .*libweft' \
		-e 'lib.sh: line [0-9]*: ' "$work/$1.err"
}

as_alone() { # NAME
	same "$(cat "$work/alone.status")" "$(cat "$work/$1.status")" &&
		cmp "$work/alone.out" "$work/$1.out" &&
		same "$(own_words alone)" "$(own_words "$1")" || {
		cat "$work/$1.err"
		return 1
	}
}

last_line='^weft record: [0-9]* samples\|^weft record: seen '

# Recorded, or one line says why not.
is_sampled() { # FILE
	"$weft" report --json --top 1 "$1" >"$work/json" 2>/dev/null &&
		jq -e '.samples > 0 and .books.balanced' "$work/json" >"$work/verdict"
}

is_told() { # NAME
	grep -a '^weft record: ' "$work/$1.err" | grep -v "$last_line" >"$work/told"
	same 1 "$(wc -l <"$work/told")" || {
		cat "$work/$1.err"
		return 1
	}
}

sampled_or_told() { # NAME
	never_began "$1" || is_sampled "$work/$1.jfr" || is_told "$1"
}

# A program that the loader could not load is none.
never_began() { # NAME
	grep -q 'error while loading shared libraries' "$work/$1.err"
}

sampled() { # NAME
	is_sampled "$work/$1.jfr" || {
		cat "$work/$1.err"
		jq -c '.samples, .books, .lost' "$work/json"
		return 1
	}
}

as_alone_or_refused() {
	never_began around && same 127 "$(cat "$work/around.status")" && return
	[ -s "$work/around.out" ] || [ "$(cat "$work/around.status")" != 1 ] ||
		{ is_told around && return; }
	as_alone around
}

# With what `within` knows.
run_alone() {
	kept alone "${as[@]}" "${begins[@]}" bash -c "$limits; exec \"\$0\" $word" "$limited"
}

run_inside() {
	kept inside "${as[@]}" "$weft" record -F 997 -o "$work/inside.jfr" -- \
		"${begins[@]}" bash -c "$limits; exec \"\$0\" $word" "$limited"
}

run_around() {
	kept around "${as[@]}" bash -c "$limits; exec \"\$0\" record -o \"\$1\" -- \"\$2\" $word" \
		"$weft" "$work/around.jfr" "$limited"
}

# within TEXT LIMITS WORD EXPECTED
#
# LIMITS: what a shell does first. EXPECTED: `sampled`, or `either` that or told; a program that
# cannot be reached is told only if it stays. Such as stay are run side by side.
within() {
	local text=$1 limits=$2 word=$3 expected=$4
	rm -f "$work"/*.jfr "$work"/*.err
	case $word in
	*stay)
		run_alone & run_inside & run_around &
		wait
		;;
	*)
		run_alone
		run_inside
		[ ${#begins[@]} != 0 ] || run_around
		;;
	esac
	check "$text: as alone" as_alone inside
	case $expected in
	sampled) check "... sampled" sampled inside ;;
	*) check "... sampled, or told why not" sampled_or_told inside ;;
	esac
	[ ${#begins[@]} = 0 ] || return
	check "... for weft, too: as alone, or refused by a line" as_alone_or_refused
}

for n in 16 12 10 8 6; do
	within "$n descriptors" "ulimit -n $n" files sampled
done
for n in 5 4 3; do
	within "$n descriptors" "ulimit -n $n" "files stay" either
done
within "3 descriptors, one of which is free" "ulimit -n 3; exec <&-" "plain stay" either
for mb in 512 128 64 32; do
	within "RLIMIT_AS of $mb MiB" "ulimit -v $((mb * 1024)); ulimit -s 256" plain either
done
for kb in 0 64 2048; do
	within "RLIMIT_FSIZE of $kb KiB" "ulimit -f $kb" plain either
done
within "RLIMIT_FSIZE that the program passes" \
	"ulimit -f 64; exec >$work/written" write either
within "no signal may be queued" "ulimit -i 0" plain either
within "two signals may be queued" "ulimit -i 2" plain either
within "nothing may be locked" "ulimit -l 0" plain sampled
for kb in 64 128 256; do
	within "stacks of $kb KiB" "ulimit -s $kb" stack sampled
done
within "a second of CPU time" "ulimit -t 1" cpu sampled
within "a second of CPU time, and a handler" "ulimit -S -t 1" caught sampled

# Limits that root does not have.
begins=(setpriv --reuid=64323 --regid=64323 --clear-groups)
if [ "$(id -u)" = 0 ] && [ "$("${begins[@]}" "$limited" plain 2>/dev/null)" = "done" ]; then
	chmod 711 "$work"
	for n in 1 2 20; do
		within "RLIMIT_NPROC of $n" "ulimit -u $n" threads either
	done
	begins=()
else
	skip "RLIMIT_NPROC" "only root can act as a user who has no other process"
fi
finish
