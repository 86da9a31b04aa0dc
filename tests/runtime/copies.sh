#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libweft.a linked in and libweft.so preloaded act as one; musl's loader takes the same file.
. "$(dirname "$0")/lib.sh"

tiny "$VICTIM_STATIC" burn 100
is "status" $? -eq 0
is "what the linked copy writes, the preloaded one samples" "$(span 1)" -gt 2
is "one slot" "$(sum slots_seen)" -eq 1
tiny_threads "$VICTIM_STATIC" 4 40
is "threads: a slot each" "$(sum slots_seen)" -eq 5
tiny "$VICTIM_STATIC" whole 60
is "strings reach the one dictionary" "$(sum strings) $(sum names)" = "1 1"
tiny "$VICTIM_STATIC" fork 60
is "fork: status" $? -eq 0
is "fork: context goes along" "$(span 7)" -gt 1
tiny "$VICTIM_STATIC" rawfork 60
is "raw clone: status" $? -eq 0
is "raw clone: own context" "$(span bad)" -gt 1
"$VICTIM_STATIC" threads 4 2
is "alone: status" $? -eq 0

if command -v musl-gcc >/dev/null; then
	cat >"$out/m.c" <<-'END'
	#include <pthread.h>
	#include <stdint.h>
	#include <time.h>
	static void *work(void *arg)
	{
		struct timespec t;
		volatile uint64_t x = 0;
		do {
			for (int i = 0; i < 10000; i++) x += x * 3 + 1;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		} while (t.tv_nsec < 50000000 && !t.tv_sec);
		return arg;
	}
	int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); return pthread_join(t, 0); }
	END
	musl-gcc -O1 -o "$out/m" "$out/m.c" && tiny "$out/m"
	is "musl: status" $? -eq 0
	is "musl: hooked" "$(sum primed_hook)" -eq 1
	is "musl: sampled" "$(sum samples)" -gt 1
	books musl
fi
exit $failed
