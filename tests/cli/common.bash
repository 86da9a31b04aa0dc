# SPDX-License-Identifier: Apache-2.0
# What every bats file here loads. Given by Meson: WEFT (the command), WEFT_SOURCE, WEFT_BUILD.

# Without what the caller's environment would have weft do.
as_plain() {
	unset LD_PRELOAD WEFT_LIB WEFT_DIR WEFT_CACHE WEFT_HOOKS WEFT_RECORD WEFT_SOCKET WEFT_WAITS \
		WEFT_FILTERS WEFT_QUIET
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	as_plain
}

# Runs the command; sets status, out, err (files: stdout, stderr).
weft() {
	status=0
	"$WEFT" "$@" >stdout 2>stderr </dev/null || status=$?
	out=$(cat stdout) err=$(cat stderr)
}

expect_status() {
	[ "$status" = "$1" ] || {
		printf 'status %s, expected %s\nstdout: %s\nstderr: %s\n' "$status" "$1" "$out" "$err"
		return 1
	}
}

# expect_in TEXT WORDS: the words stand somewhere in the text
expect_in() {
	[[ $1 == *"$2"* ]] || {
		printf 'expected: %s\nfound: %s\n' "$2" "$1"
		return 1
	}
}

# bats takes no notice of a `!` that fails
expect_not() {
	if "$@"; then
		echo "unexpectedly true: $*"
		return 1
	fi
}

# One a line; a verb may have two words.
verbs() { "$WEFT" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\( [a-z]\+\)\?\)  .*/\1/p'; }

# The long options of a verb, as its --help has them.
options_of() {
	local words
	read -ra words <<<"$1"
	"$WEFT" "${words[@]}" --help | sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' | grep -v '^help$'
}
