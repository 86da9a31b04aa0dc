#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs as the distribution ships them: built without frame pointers, stripped, not
# prepared in any way. Their output and status stay the same, and at least 95 % of their
# samples reach the outermost frame; the rest is counted by cause.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"

# Where a stack may end: the C runtime's first frames, a thread's first frames.
outermost='^(_start|__libc_start_main.*|__libc_start_call_main|_dl_start.*|_dl_start_user|clone|clone3|__clone3?|start_thread)$'

reach_the_end() { # FILE
	"$tools/list-samples" "$1" >"$work/samples" || return 1
	awk -F'\t' -v last="$outermost" '
		{ n = split($8, frame, ";"); if (frame[n] ~ last) good++; else ends[frame[n]]++ }
		END {
			printf "%d of %d samples reach the outermost frame: %.2f %%\n", good, NR, NR ? 100 * good / NR : 0
			for (e in ends) printf "  ends in %s: %d\n", e, ends[e]
			exit !(NR >= 100 && good >= 0.95 * NR)
		}' "$work/samples"
}

# Samples that do not end at the outermost frame are in the counters, by cause.
rest_is_counted() { # FILE
	local whole cut
	whole=$(awk -F'\t' '$7 == 1' "$work/samples" | wc -l)
	cut=$(bounded "$weft" report --json "$1" | jq '[.. | objects | to_entries[] |
		select(.key | startswith("cut_")) | .value | numbers] | add // 0')
	note "$whole samples marked as truncated; cut_* counters: $cut"
	[ "$whole" = 0 ] || at_least 1 "$cut"
}

# Compares output and status of COMMAND with and without weft. FILTER takes out what differs
# from run to run by itself (timings).
unchanged() { # NAME FILTER COMMAND...
	local name=$1 filter=$2 bare recorded
	shift 2
	(cd "$work" && bounded "$@") </dev/null >"$work/bare.out" 2>"$work/bare.err"
	bare=$?
	(cd "$work" && bounded "$weft" record -F 240 -o "$work/$name.jfr" -- "$@") \
		</dev/null >"$work/recorded.out" 2>"$work/recorded.err"
	recorded=$?
	same "$bare" "$recorded" &&
		cmp <(eval "$filter" <"$work/bare.out") <(eval "$filter" <"$work/recorded.out") &&
		[ "$bare" = 0 ]
}

try() { # NAME FILTER COMMAND...
	local name=$1
	have "$3" || {
		skip "$name" "not installed"
		return
	}
	check "$name: output and status as without weft" unchanged "$@" || return
	check "$name: 95 % of the samples reach the outermost frame" reach_the_end "$work/$name.jfr"
	show "$work/check.out" 8
	check "$name: the rest is counted by cause" rest_is_counted "$work/$name.jfr"
}

cat >"$work/script.sql" <<'SQL'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
INSERT INTO t SELECT i, 'row ' || (i * 7919 % 10007), i * 31 % 1009 FROM n;
CREATE INDEX t_b ON t(b, c);
SELECT count(*), sum(length(b)) FROM t WHERE b LIKE '%99%';
SELECT c, count(*) AS k FROM t GROUP BY c ORDER BY k DESC, c LIMIT 5;
SELECT sum(x.c * y.c) FROM t x JOIN t y ON x.b = y.b WHERE x.a < 20000;
SQL
cat >"$work/script.py" <<'PY'
import hashlib, json, re
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
words = ["w%d" % (i * 7919 % 10007) for i in range(60000)]
print(fib(24), len(set(words)), sorted(words, key=lambda w: w[::-1])[:3])
print(hashlib.sha256(json.dumps(words).encode()).hexdigest())
print(len(re.findall(r"w(\d)\d*\1", " ".join(words))))
PY
awk 'BEGIN { srand(7); for (i = 0; i < 260000; i++) printf "%d line %d of %d\n", i, rand() * 1000, i % 97 }' \
	>"$work/data"

python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
try sqlite3 cat sqlite3 -init /dev/null :memory: ".read $work/script.sql"
try xz md5sum xz -9 -T1 -k -c "$work/data"
try openssl "sed -E 's/[0-9.]+k?/N/g'" openssl speed -seconds 1 -bytes 1024 sha256
try python3 cat "$python" "$work/script.py"
finish
