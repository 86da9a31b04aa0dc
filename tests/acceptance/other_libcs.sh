#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One libweft.so, built against this machine's glibc, in programs of another C library: musl,
# and the older glibc of Debian 11. Preloaded it samples, hooks threads and keeps its books;
# linked, the program's context is in every sample.
. "$(dirname "$0")/lib.sh"
source=$(cd "$(dirname "$0")/../.." && pwd)
have jq || skip_all "jq is not installed"

cat >"$work/two.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#ifdef CONTEXT
#include <weft/context.h>
#else
#define weft_context_set(span, root) (void)0
#endif

static __attribute__((noinline)) void *spin_here(void *arg)
{
	volatile unsigned long sum = 0;
	struct timespec used = {0};

	weft_context_set(0xabc, 0xdef);
	while (used.tv_sec == 0 && used.tv_nsec < 500000000) {
		for (unsigned long i = 0; i < 10000000; i++)
			sum += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, spin_here, NULL))
		return 1;
	spin_here(NULL);
	return pthread_join(thread, NULL) ? 1 : puts("done") < 0;
}
END

record() { # NAME COMMAND...
	local name=$1
	shift
	bounded "$weft" record -F 500 -o "$work/$name.jfr" -- "$@" >"$work/out" 2>"$work/err" ||
		{ cat "$work/out" "$work/err"; return 1; }
	same "done" "$(cat "$work/out")" &&
		"$weft" report "$work/$name.jfr" --json --top 0 >"$work/$name.json"
}

value() { # NAME FILTER
	jq -r "$2" "$work/$1.json"
}

both_threads() { # NAME: primed by the start hook and the constructor, both sampled
	same "1 1" "$(value "$1" '"\(.counters.primed_hook // 0) \(.counters.primed_main // 0)"')" &&
		same true "$(value "$1" '(.counters.attempted // 0) > 20 and
			(.counters.attempted // 0) == (.counters.delivered // 0) + ([.lost[]] | add // 0)')" ||
		{ value "$1" '.counters, .lost'; return 1; }
}

named() { # NAME: nine samples of ten are in the loop, by name
	"$weft" report "$work/$1.jfr" --top 1 --by function >"$work/text" || return 1
	grep -E '^ *(9[0-9]|100)\.[0-9] %.* spin_here$' "$work/text" || { cat "$work/text"; return 1; }
}

in_context() { # NAME
	"$weft" report "$work/$1.jfr" --by span --top 1 >"$work/text" || return 1
	grep -E '^ *(9[0-9]|100)\.[0-9] %.* 0*abc +root=0*def$' "$work/text" ||
		{ cat "$work/text"; return 1; }
}

all_of() { # NAME TEXT: $work/NAME and $work/NAME-linked
	check "$2: recorded" record "$1" "$work/$1" || return
	check "$2: both threads, the books balance" both_threads "$1"
	check "$2: functions have their names" named "$1"
	check "$2: a program linked with libweft.so is recorded" record "$1-linked" "$work/$1-linked" ||
		return
	check "$2: and its context is in the samples" in_context "$1-linked"
}

# COMPILER ARGS... builds both programs NAME out of two.c.
build() { # NAME COMPILER...
	local name=$1
	shift
	"$@" -O2 -g "$work/two.c" -o "$work/$name" -pthread &&
		"$@" -O2 -g -DCONTEXT -I "$source/include" "$work/two.c" -o "$work/$name-linked" -pthread \
			-L "$BUILD/src/runtime" -lweft "-Wl,-rpath,$BUILD/src/runtime"
}

musl() {
	have musl-gcc || { skip musl "musl-gcc is not installed"; return; }
	check "musl: programs are built" build musl musl-gcc && all_of musl musl
}

# Its programs have their loader and libraries by path; DT_RPATH is for preloads' own too.
old_glibc() {
	local old=$BUILD/old-libc what="glibc 2.31"
	[ "$(uname -m)" = x86_64 ] && have apt-get ||
		{ skip "$what" "neither Debian nor x86-64"; return; }
	timeout 100 "$source/tools/cross/unpack" "$old" amd64 bullseye --alone \
		libc6 libc6-dev linux-libc-dev libcrypt1 >"$work/err" 2>&1 ||
		{ skip "$what" "Debian 11's package cannot be had"; return; }
	local libraries=$old/root/lib/x86_64-linux-gnu develop=$old/root/usr/lib/x86_64-linux-gnu
	check "$what: programs are built" build old gcc "--sysroot=$old/root" "-B$develop/" \
		"-L$develop" "-L$libraries" "-L$(dirname "$(gcc -print-libgcc-file-name)")" -static-libgcc \
		"-Wl,--dynamic-linker=$libraries/ld-2.31.so" "-Wl,--disable-new-dtags,-rpath,$libraries" &&
		all_of old "$what"
}

musl
old_glibc
finish
