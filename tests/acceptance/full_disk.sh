#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The disk is full: a clear error, exit 1, and what had been written still opens.
. "$(dirname "$0")/lib.sh"
unshare -m true 2>/dev/null || skip_all "may not mount a small file system (needs root)"

# A private mount namespace with a file system of $1 bytes at $work/disk; runs the rest there.
on_small_disk() {
	local bytes=$1
	shift
	mkdir -p "$work/disk"
	unshare -m bash -c 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && "$@"; echo $? >"$0"' \
		"$work/status" "$bytes" "$work/disk" "$@"
}

# The first chunks, of little but types, and one of samples fit; the next does not.
record_until_full() {
	on_small_disk 48k bash -c '
		timeout -k 5 60 "$0" record --chunk-time 500ms -F 1000 -o "$1/disk/full.jfr" -- "$2" 5 2 \
			>"$1/out" 2>"$1/err"
		rc=$?
		cp "$1/disk/full.jfr" "$1/full.jfr"
		exit $rc' "$weft" "$work" "$tools/burn"
	same 1 "$(cat "$work/status")"
}

says_why() {
	cat "$work/err"
	grep -q 'full\.jfr.*No space left on device' "$work/err"
}

still_opens() {
	"$tools/list-samples" "$work/full.jfr" >"$work/samples" && at_least 1 "$(wc -l <"$work/samples")"
}

program_is_unharmed() {
	same burnt "$(cat "$work/out")"
}

# No room for the file twice: less of it is kept, and no chunk is lost.
keep_the_newest() {
	on_small_disk 1300k bash -c '
		timeout -k 5 120 "$0" record --max-size 1M --chunk-time 5ms --chunk-size 4K \
			-o "$1/disk/newest.jfr" -- "$2" 5 2 >"$1/out" 2>"$1/err"
		rc=$?
		cp "$1/disk/newest.jfr" "$1/newest.jfr"
		exit $rc' "$weft" "$work" "$tools/burn"
	cat "$work/err"
	same 0 "$(cat "$work/status")" && grep -q 'were dropped' "$work/err" &&
		expect_no_loss && "$tools/list-samples" "$work/newest.jfr" >/dev/null
}

expect_no_loss() {
	! grep -q unwritten "$work/err"
}

check "a full disk: exit 1" record_until_full
check "... with an error that names the file and the reason" says_why
check "... the program ran to its end" program_is_unharmed
check "... the file still opens" still_opens
home=$(jdk 17 || jdk 25)
if [ -n "$home" ]; then
	check "... in the JDK too" bounded "$home/bin/jfr" summary "$work/full.jfr"
else
	skip "... in the JDK too" "no JDK"
fi
check "--max-size where the file does not fit twice: the newest is kept" keep_the_newest
finish
