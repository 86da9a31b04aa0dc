# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that are steps, one after the other, in a directory of their own; TAP. Such a
# test ends with `finish`. $within, if it is set, stands before each command: "timeout 300"; these are
# programs then, not functions.
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0

# step TITLE COMMAND...: what it says is in $scratch/log, and is shown if it fails.
step() {
	title=$1
	shift
	n=$((n + 1))
	# shellcheck disable=SC2086 # a command with its option
	if ${within-} "$@" >"$scratch/log" 2>&1 </dev/null; then
		echo "ok $n - $title"
	else
		status=1
		echo "not ok $n - $title"
		tail -n 60 "$scratch/log" | sed 's/^/# /'
	fi
}

skip() { # TITLE REASON
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

finish() {
	echo "1..$n"
	exit $status
}
