# SPDX-License-Identifier: Apache-2.0
# For the acceptance tests: sourced by each, speaks TAP (https://testanything.org).
#
#   BUILD   the build tree (set by meson; else build/); $weft is its command
#   $work   a private directory, removed at the end with whatever still runs in `started`
#
# A test is a line `check "what must hold" command...`; one that needs a tool which is not
# there is `skip "what" "why"`. `finish` prints the plan and is the last line.
set -u
BUILD=$(cd "${BUILD:-$(dirname "$0")/../../build}" && pwd) || exit 1
weft=$BUILD/weft
tools=$BUILD/tests/acceptance
patience=300 # seconds that a single command may take: a busy machine is no hang

work=$(mktemp -d "${TMPDIR:-/tmp}/weft-acceptance.XXXXXX")
started=()
number=0
failures=0

clean_up() {
	local pid
	for pid in ${started[@]+"${started[@]}"}; do
		kill -9 "$pid" 2>/dev/null
	done
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

# WEFT_FILTERS for a program under one seccomp filter more than this shell, which only refuses.
one_filter_more() {
	local have
	have=$(awk '/^Seccomp_filters:/ { print $2 }' /proc/self/status)
	echo $((${have:-0} + 1)) # before Linux 5.9 it is not told how many there are
}

note() {
	printf '# %s\n' "$*"
}

show() { # a file, as comment
	sed 's/^/#   /' "$1" | head -n "${2:-30}"
}

# check TEXT COMMAND...: its output is shown only when it fails.
check() {
	local text=$1
	shift
	number=$((number + 1))
	if "$@" >"$work/check.out" 2>&1; then
		printf 'ok %d - %s\n' "$number" "$text"
	else
		printf 'not ok %d - %s\n' "$number" "$text"
		note "$* (status $?)"
		show "$work/check.out"
		failures=$((failures + 1))
		return 1
	fi
}

# What was tried before it was known whether it is to be skipped: check TEXT fails_as FILE.
fails_as() {
	cat "$1"
	return 1
}

skip() {
	number=$((number + 1))
	printf 'ok %d - %s # SKIP %s\n' "$number" "$1" "$2"
}

finish() {
	printf '1..%d\n' "$number"
	[ "$failures" = 0 ]
	exit
}

# The whole script has nothing to do here.
skip_all() {
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}

have() {
	command -v "$1" >/dev/null 2>&1
}

bounded() {
	timeout -k 5 "$patience" "$@"
}

# A JDK of this feature version, if one is installed: its home.
jdk() {
	local home
	for home in "${JAVA_HOME:-/nowhere}" /usr/lib/jvm/*; do
		if [ -x "$home/bin/jfr" ] && grep -q "^JAVA_VERSION=\"$1[.\"]" "$home/release" 2>/dev/null; then
			printf '%s\n' "$home"
			return 0
		fi
	done
	return 1
}

# Waits until a command succeeds, at most $1 tenths of a second.
await() {
	local left=$1
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.1
	done
}

# CPU time of a process, in hundredths of a second; and whether it has used so much.
cpu_time_of() { # PID
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

has_used() { # PID HUNDREDTHS
	[ "$(cpu_time_of "$1")" -ge "$2" ]
}

same() { # expected got
	[ "$1" = "$2" ] || {
		printf 'expected: %s\ngot:      %s\n' "$1" "$2"
		return 1
	}
}

at_least() { # limit got
	awk -v limit="$1" -v got="$2" 'BEGIN { exit !(got + 0 >= limit + 0) }' || {
		printf 'expected at least %s, got %s\n' "$1" "$2"
		return 1
	}
}

# What this build can record by, one a word: what is given to -e.
engines_here() {
	local engines
	for engines in cpu wall cpu,wall; do
		"$weft" record -e "$engines" -o "$work/engines.jfr" -- true >/dev/null 2>&1 &&
			echo "$engines"
	done
	rm -f "$work/engines.jfr"
}

samples_in() { # FILE: number of samples, as a reader of JFR counts them
	"$tools/list-samples" "$1" | wc -l
}
