#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a program sees of its own signals is the same byte for byte, recorded and not; and samples
# come where they can, also from threads that block everything.
. "$(dirname "$0")/lib.sh"

own=$tools/own-signals
ticks= # --tick-signal: the default

run_plain() { # SIGNAL
	bounded "$own" "$@" >"$work/plain" 2>"$work/plain.err" </dev/null
}

run_recorded() {
	bounded "$weft" record -F 1000 ${ticks:+--tick-signal $ticks} -o "$work/own.jfr" -- "$own" "$@" \
		>"$work/recorded" 2>"$work/recorded.err" </dev/null
}

# The part that differs, and how.
differ() {
	diff <(awk '/^==/ { part = $2 } { print part ": " $0 }' "$work/plain") \
		<(awk '/^==/ { part = $2 } { print part ": " $0 }' "$work/recorded")
}

the_same() {
	run_plain "$@" || {
		echo "not recorded: status $?"
		return 1
	}
	run_recorded "$@" || {
		echo "recorded: status $?"
		differ
		cat "$work/recorded.err"
		return 1
	}
	cmp "$work/plain" "$work/recorded" || differ
	cmp -s "$work/plain" "$work/recorded"
}

samples_of() { # FUNCTION
	"$tools/list-samples" "$work/own.jfr" | grep -c "$1"
}

for signal in PROF URG WINCH; do
	ticks=
	[ $signal != WINCH ] || ticks=winch
	check "SIG$signal: seen the same, recorded and not" the_same "$(kill -l $signal)"
	check "... by all parts" at_least 15 "$(grep -c '^==' "$work/recorded")"
	check "... and sampled" at_least 300 "$(samples_of burn_open)"
	check "... also where all signals are blocked" at_least 200 "$(samples_of burn_masked)"
done
ticks=

# With a group of hooks off, what it is not for stays right.
for group in threads signals exec modules; do
	export WEFT_HOOKS=-$group
	for part in masks pending jumping; do
		case $group/$part in
		threads/masks) continue ;;                 # inherited by threads: that hook's work
		signals/masks | signals/pending) continue ;; # they show our ticks then
		esac
		check "-$group: SIGUSR2, $part: the same" the_same "$(kill -l USR2)" "$part"
	done
	check "... and sampled" at_least 1 "$(samples_of burn_)"
	check "... a tree of processes is recorded" bounded "$weft" record -o "$work/tree.jfr" -- \
		env TREES_MS=20 TREES_LOG="$work/log" "$tools/trees" system
done
finish
