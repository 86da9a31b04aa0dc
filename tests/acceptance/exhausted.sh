#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that has no descriptor left, may lock no more memory, have no more signals pending, or
# is refused perf after it has begun: it runs as without weft, byte for byte, its threads are
# sampled by what is left, and the report says by what, and adds up.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

program=$tools/exhausted
as=()
# To root no limit of locked memory applies.
if [ "$(id -u)" = 0 ] && have setpriv && setpriv --reuid=65534 --regid=65534 --clear-groups \
	test -x "$program" -a -x "$weft"; then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chmod 755 "$work"
	mkdir -m 777 "$work/out"
else
	mkdir "$work/out"
fi

the_same() { # WHAT [BEFORE...]
	bounded ${as[@]+"${as[@]}"} "$program" "$1" >"$work/plain" 2>&1 </dev/null || return 1
	bounded ${as[@]+"${as[@]}"} "${@:2}" "$weft" record -o "$work/out/$1.jfr" -- \
		sh -c 'exec "$0" "$1" 2>&1' "$program" "$1" >"$work/recorded" 2>"$work/err" </dev/null || {
		cat "$work/recorded" "$work/err"
		return 1
	}
	cat "$work/err"
	diff "$work/plain" "$work/recorded" || return 1
	"$weft" report --json "$work/out/$1.jfr" >"$work/report"
}

# By ticks less is certain on a busy machine (docs/accuracy.md), so a good half is asked for.
adds_up() {
	jq -c '.account | {used_ns, seen_ns, standard_errors_off, without_sample}, (.seen_ns / .used_ns)' \
		"$work/report"
	jq -e '.account | .used_ns > 1e9 and .seen_ns > 0.5 * .used_ns and .seen_ns < 1.5 * .used_ns' \
		"$work/report" >/dev/null
}

clock_is() { # HRTIMER|TICKS [REASON]
	jq -c '.clocks[] | {process, clock, reason}' "$work/report"
	jq -e --arg clock "$1" --arg reason "${2:-}" \
		'.clocks | any((.process | test("exhausted")) and .clock == $clock and
		 ((.reason // "") | test($reason)))' "$work/report" >/dev/null
}

same_but_unseen() { # WHAT: a filter of its own may kill for what it does not know
	the_same "$1"
	diff "$work/plain" "$work/recorded"
}

told_why() {
	cat "$work/err"
	grep -q 'had no CPU timer, thus no samples: .*seccomp filter' "$work/err" &&
		grep -Eq '[1-8] threads? of exhausted .* could not be sampled' "$work/err"
}

for what in plain files locked pending; do
	check "$what: runs as without weft" the_same $what || continue
	check "... and is seen" adds_up
done
check "... by hrtimers" clock_is hrtimer
for error in eperm enosys; do
	check "perf refused with $error, as in containers: runs" the_same plain "$program" $error &&
		check "... and is seen" adds_up &&
		check "... by ticks, and the report says why" clock_is ticks .
	check "refused by the program itself: runs" same_but_unseen $error
	check "... and it is told whom that hides" told_why
done
finish
