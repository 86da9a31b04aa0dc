# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of this folder.
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0

# tiny ARGS...: runs under the test collector; answer in $out/answer, errors in $out/errors.
tiny() {
	timeout 100 "$TINY" -l "$LIBWEFT" "$@" >"$out/answer" 2>"$out/errors"
}

# sum KEY: over all sessions.
sum() {
	sed -n "/^session /s/.* $1=\([0-9]*\).*/\1/p" "$out/answer" | awk '{ s += $1 } END { print s + 0 }'
}

# span ID: samples under it.
span() {
	sed -n "s/^span $1 .* samples=\([0-9]*\) .*/\1/p" "$out/answer" | awk '{ s += $1 } END { print s + 0 }'
}

# tiny_threads VICTIM N MS: its mode "threads". What a thread has burnt may all lie between ticks
# where others wait for its CPU: then they are run again, up to three times.
tiny_threads() {
	for attempt in 1 2 3 4; do
		tiny "$1" threads "$2" "$3"
		result=$?
		without=0
		for i in $(seq 0 $(($2 - 1))); do
			[ "$(span 10$i)" -gt 0 ] || without=$((without + 1))
		done
		[ $result -eq 0 ] && [ $without -gt 0 ] && [ $attempt -lt 4 ] || break
	done
	is "threads: status" $result -eq 0
	is "threads: without a timer" "$(sum threads_no_timer)" -eq 0
	is "threads: without samples" $without -eq 0
}

# span_frames ID: the frames of those.
span_frames() {
	sed -n "s/^span $1 .* frames=\([0-9]*\) .*/\1/p" "$out/answer" | awk '{ s += $1 } END { print s + 0 }'
}

# is WHAT LEFT OPERATOR RIGHT
is() {
	if test "$2" "$3" "$4"; then
		return 0
	fi
	echo "FAILED: $1: $2 $3 $4"
	tail -n 5 "$out/answer" "$out/errors" 2>/dev/null | cut -c1-1500
	failed=1
}

# The books: attempted = delivered + lost + pending.
books() {
	lost=$(($(sum no_slot) + $(sum ring_full) + $(sum nested) + $(sum exit_race) + $(sum stolen)))
	is "$1: attempted = delivered + lost + pending" "$(sum attempted)" -eq \
		$(($(sum samples) + lost + $(sum pending)))
	is "$1: no bad record" "$(sum bad_records)" -eq 0
}
