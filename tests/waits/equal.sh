#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program's locks and waits return is the same with libweft-waits.so before it and without:
# with both types of event on (an event is made of each wait that the calls tell of), with both
# off, and with no libweft.so at all.
# usage: equal.sh CALLS WAITS FAKE
calls=$1 waits=$2 fake=$3
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
n=0 status=0
unset LD_PRELOAD WEFT_WAITS FAKE_OFF

# step TITLE COMMAND...
step() {
	title=$1
	shift
	n=$((n + 1))
	if "$@" >"$out/log" 2>&1; then
		echo "ok $n - $title"
	else
		status=1
		echo "not ok $n - $title"
		head -n 40 "$out/log" | sed 's/^/# /'
	fi
}

# with NAME VARIABLE=VALUE...: what it prints is what it prints alone
with() {
	name=$1
	shift
	timeout 50 env "$@" "$calls" >"$out/$name" && diff "$out/alone" "$out/$name"
}

alone() {
	timeout 50 "$calls" >"$out/alone" && [ "$(wc -l <"$out/alone")" -gt 400 ]
}

# all KIND FIELD NAMES...: there is an event of each
all() {
	kind=$1 field=$2
	shift 2
	for name; do
		awk -v kind="$kind" -v field="$field" -v name="$name" \
			'$1 == kind && $field == name { found = 1 } END { exit !found }' "$out/events" ||
			{ echo "no $kind of $name"; return 1; }
	done
}

none_of() { # PATTERN
	! grep -E "$1" "$out/events"
}

step "the calls say what they say" alone
step "the same with both types on" with on "LD_PRELOAD=$waits:$fake" "FAKE_EVENTS=$out/events"
step "each lock made events" all weft.LockWait 3 mutex rwlock-read rwlock-write condition semaphore
step "each call that may wait made events" all weft.IOWait 2 read pread readv preadv write pwrite \
	writev pwritev recv recvfrom recvmsg recvmmsg send sendto sendmsg sendmmsg sendfile accept \
	accept4 connect fsync fdatasync poll ppoll select pselect epoll_wait epoll_pwait nanosleep \
	clock_nanosleep sleep usleep thrd_sleep
step "the same with both types off" with off "LD_PRELOAD=$waits:$fake" FAKE_OFF=1 \
	"FAKE_EVENTS=$out/events"
step "and no events" none_of .
step "the same without libweft" with lonely "LD_PRELOAD=$waits"
step "the same with locks alone" with locks "LD_PRELOAD=$waits:$fake" WEFT_WAITS=locks \
	"FAKE_EVENTS=$out/events"
step "and no event of a call" none_of weft.IOWait
step "but of locks" all weft.LockWait 3 mutex
step "the same with calls alone" with io "LD_PRELOAD=$waits:$fake" WEFT_WAITS=io \
	"FAKE_EVENTS=$out/events"
step "and no event of a lock" none_of weft.LockWait
step "but of calls" all weft.IOWait 2 read
echo "1..$n"
exit $status
