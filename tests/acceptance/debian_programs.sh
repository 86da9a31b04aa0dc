#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs as the distribution ships them: built without frame pointers, stripped, not
# prepared in any way. Their output and status stay the same, and at least 95 % of their
# samples reach the outermost frame; the rest is counted by cause.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
have readelf || skip_all "readelf is not installed"

# Where a whole stack ends: where the C runtime starts a program or a thread. A stripped
# program has no name for it, but its ELF header says where its first instruction is.
outermost='^(_start|_dl_start_user|clone|clone3|__clone|__clone3)$'

entry_of() { # PROGRAM: its entry point as list-samples shows a pc there: the first 64 bytes
	readelf -h "$1" | awk '/Entry point/ { print $NF }'
}

reach_the_end() { # FILE PROGRAM
	local path entry
	path=$(readlink -f "$(type -P "$2")")
	entry=$(entry_of "$path") || return 1
	"$tools/list-samples" "$1" >"$work/samples" || return 1
	cut -f 8 "$work/samples" | awk -F';' '{ print $NF }' | while read -r frame; do
		case $frame in
		"$(basename "$path")"+0x*)
			offset=$((${frame##*+} - entry))
			[ "$offset" -ge 0 ] && [ "$offset" -lt 64 ] && frame=_start
			;;
		esac
		echo "$frame"
	done | sort | uniq -c | awk -v last="$outermost" '
		{ all += $1 }
		$2 ~ last { good += $1; next }
		{ print "  ends in " $2 ": " $1 }
		END {
			printf "%d of %d samples reach the outermost frame: %.2f %%\n", good, all, all ? 100 * good / all : 0
			exit !(all >= 50 && good >= 0.95 * all)
		}'
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
	check "$name: 95 % of the samples reach the outermost frame" reach_the_end \
		"$work/$name.jfr" "$3"
	show "$work/check.out" 8
	check "$name: the rest is counted by cause" rest_is_counted "$work/$name.jfr"
}

cat >"$work/script.sql" <<'SQL'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
INSERT INTO t SELECT i, 'row ' || (i * 7919 % 10007), i * 31 % 1009 FROM n;
CREATE INDEX t_b ON t(b, c);
SELECT count(*), sum(length(b)) FROM t WHERE b LIKE '%99%';
SELECT c, count(*) AS k FROM t GROUP BY c ORDER BY k DESC, c LIMIT 5;
SELECT sum(x.c * y.c) FROM t x JOIN t y ON x.b = y.b WHERE x.a < 40000;
SQL
cat >"$work/script.py" <<'PY'
import hashlib, json, re
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
words = ["w%d" % (i * 7919 % 10007) for i in range(60000)]
print(fib(33), len(set(words)), sorted(words, key=lambda w: w[::-1])[:3])
print(hashlib.sha256(json.dumps(words).encode()).hexdigest())
print(len(re.findall(r"w(\d)\d*\1", " ".join(words))))
PY
awk 'BEGIN { srand(7); for (i = 0; i < 60000; i++) printf "%d line %d of %d\n", i, rand() * 1000, i % 97 }' \
	>"$work/data"

python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
try sqlite3 cat sqlite3 -init /dev/null :memory: ".read $work/script.sql"
try xz md5sum xz -9 -T1 -k -c "$work/data"
try openssl "sed -E 's/[0-9.]+k?/N/g'" openssl speed -seconds 1 -bytes 1024 sha256
try python3 cat "$python" "$work/script.py"
finish
