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
	tail -5 "$out/answer" "$out/errors" 2>/dev/null | cut -c1-1500
	failed=1
}

# The books: attempted = delivered + lost + pending.
books() {
	lost=$(($(sum no_slot) + $(sum ring_full) + $(sum nested) + $(sum exit_race) + $(sum stolen)))
	is "$1: attempted = delivered + lost + pending" "$(sum attempted)" -eq \
		$(($(sum samples) + lost + $(sum pending)))
	is "$1: no bad record" "$(sum bad_records)" -eq 0
}
