#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program's locks and waits return is the same with libweft-waits.so before it and without:
# with both types of event on (an event is made of each wait that the calls tell of), with both
# off, and with no libweft.so at all.
# usage: equal.sh CALLS WAITS FAKE
calls=$1 waits=$2 fake=$3
. "$(dirname "$0")/../steps.sh"
unset LD_PRELOAD WEFT_WAITS FAKE_OFF

# with NAME VARIABLE=VALUE...: what it prints is what it prints alone
with() {
	name=$1
	shift
	timeout 50 env "$@" "$calls" >"$scratch/$name" && diff "$scratch/alone" "$scratch/$name"
}

alone() {
	timeout 50 "$calls" >"$scratch/alone" && [ "$(wc -l <"$scratch/alone")" -gt 400 ]
}

# all KIND FIELD NAMES...: there is an event of each
all() {
	kind=$1 field=$2
	shift 2
	for name; do
		awk -v kind="$kind" -v field="$field" -v name="$name" \
			'$1 == kind && $field == name { found = 1 } END { exit !found }' "$scratch/events" ||
			{ echo "no $kind of $name"; return 1; }
	done
}

none_of() { # PATTERN
	! grep -E "$1" "$scratch/events"
}

step "the calls say what they say" alone
step "the same with both types on" with on "LD_PRELOAD=$waits:$fake" "FAKE_EVENTS=$scratch/events"
step "each lock made events" all weft.LockWait 3 mutex rwlock-read rwlock-write condition semaphore
step "each call that may wait made events" all weft.IOWait 2 read pread readv preadv write pwrite \
	writev pwritev recv recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg sendfile accept \
	accept4 connect fsync fdatasync poll ppoll select pselect epoll_wait epoll_pwait nanosleep \
	clock_nanosleep sleep usleep thrd_sleep
step "the same with both types off" with off "LD_PRELOAD=$waits:$fake" FAKE_OFF=1 \
	"FAKE_EVENTS=$scratch/events"
step "and no events" none_of .
step "the same without libweft" with lonely "LD_PRELOAD=$waits"
step "the same with locks alone" with locks "LD_PRELOAD=$waits:$fake" WEFT_WAITS=locks \
	"FAKE_EVENTS=$scratch/events"
step "and no event of a call" none_of weft.IOWait
step "but of locks" all weft.LockWait 3 mutex
step "the same with calls alone" with io "LD_PRELOAD=$waits:$fake" WEFT_WAITS=io \
	"FAKE_EVENTS=$scratch/events"
step "and no event of a lock" none_of weft.LockWait
step "but of calls" all weft.IOWait 2 read
finish
