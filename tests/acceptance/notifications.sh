#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Threads of notifications (SIGEV_THREAD of timer_create and mq_notify), which libc begins by itself
# with nearly all signals blocked: they are sampled, with their spans and names, and what the
# program sees of them is the same, recorded, preloaded only, or neither.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

own=$tools/notifications

run() { # NAME COMMAND...
	local name=$1
	shift
	bounded "$@" >"$work/$name" 2>"$work/$name.err" </dev/null || {
		echo "status $?"
		cat "$work/$name" "$work/$name.err"
		return 1
	}
}

same_words() { # NAME COMMAND...
	run "$@" && diff "$work/plain" "$work/$1"
}

samples_of() { # FILE FUNCTION PATTERN
	"$tools/list-samples" "$work/$1.jfr" | grep "$2" | grep -c "$3"
}

counter() { # FILE NAME
	"$weft" report "$work/$1.jfr" --json --top 0 | jq -r ".counters.$2 // 0"
}

check "the program alone" run plain "$own"
check "... it has seen all" at_least 60 "$(wc -l <"$work/plain")"
check "the same when it is recorded" same_words again "$weft" record -o "$work/all.jfr" -- "$own"
check "... one function has no room for each that is too many" \
	at_least 16 "$(counter all notify_full)"
check "... and no counter stands for a timer" test "$(counter all notify_full)" -le 32
check "the same where the library waits for a recording" \
	same_words waiting env LD_PRELOAD="$BUILD/src/runtime/libweft.so" "$own"
for group in threads signals; do
	check "the same with hooks off: $group" \
		same_words "without-$group" env WEFT_HOOKS=-$group "$weft" record -o "$work/off.jfr" -- "$own"
done

for engine in cpu wall; do
	check "-e $engine: recorded at work" \
		run work "$weft" record -F 1000 -e $engine -o "$work/work-$engine.jfr" -- \
		"$tools/notifications-linked" work 40
done
check "its threads are sampled" at_least 300 "$(samples_of work-cpu burn_notified .)"
check "... under their span" at_least 300 "$(samples_of work-cpu burn_notified '0000000000000abc')"
check "... by their name" at_least 300 "$(samples_of work-cpu burn_notified 'notified')"
check "... each of them" at_least 35 "$("$tools/list-samples" "$work/work-cpu.jfr" |
	grep burn_notified | cut -f4 | sort -u | wc -l)"
check "... with no frame of weft's in its stack" same 0 \
	"$("$tools/list-samples" "$work/work-cpu.jfr" | grep -c 'notify_[0-7]\|libweft')"
check "... all of them seen, no slot left" same "0" "$(counter work-cpu no_slot)"

if [ -x "$tools/old-timers" ]; then
	check "timers of before glibc 2.3.3" run plain-old "$tools/old-timers"
	check "... recorded" run old "$weft" record -o "$work/old.jfr" -- "$tools/old-timers"
	check "... the same" diff "$work/plain-old" "$work/old"
fi

if have musl-gcc; then
	check "musl: built" musl-gcc -O1 -o "$work/musl" "$(dirname "$0")/notifications.c"
	check "musl: the program alone" run plain "$work/musl"
	check "musl: the same when it is recorded" \
		same_words musl-again "$weft" record -o "$work/musl.jfr" -- "$work/musl"
	check "musl: recorded at work" \
		run work "$weft" record -F 1000 -o "$work/musl-work.jfr" -- "$work/musl" work 40
	check "musl: its threads are sampled" at_least 300 "$(samples_of musl-work burn_notified .)"
else
	skip musl "musl-gcc is not installed"
fi
finish
