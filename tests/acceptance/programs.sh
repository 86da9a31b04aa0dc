# SPDX-License-Identifier: Apache-2.0
# Work for programs as the distribution ships them: sourced, with $work to write to and
# $work_factor for how much, about half a second of CPU time for each at 1.
cat >"$work/script.sql" <<SQL
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $((400000 * work_factor)))
INSERT INTO t SELECT i, 'row ' || (i * 7919 % 10007), i * 31 % 1009 FROM n;
CREATE INDEX t_b ON t(b, c);
SELECT count(*), sum(length(b)) FROM t WHERE b LIKE '%99%';
SELECT c, count(*) AS k FROM t GROUP BY c ORDER BY k DESC, c LIMIT 5;
SELECT sum(x.c * y.c) FROM t x JOIN t y ON x.b = y.b WHERE x.a < 40000;
SQL
cat >"$work/script.py" <<PY
import hashlib, json, re
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
words = ["w%d" % (i * 7919 % 10007) for i in range(60000 * $work_factor)]
print(sum(fib(29) for _ in range(10 * $work_factor)))
print(len(set(words)), sorted(words, key=lambda w: w[::-1])[:3])
print(hashlib.sha256(json.dumps(words).encode()).hexdigest())
print(len(re.findall(r"w(\d)\d*\1", " ".join(words))))
PY
cat >"$work/script.js" <<JS
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const words = [], counts = new Map();
for (let i = 0; i < 200000; i++) words.push('w' + (i * 7919 % 10007));
for (let r = 0; r < 10 * $work_factor; r++)
	for (const w of words) counts.set(w, (counts.get(w) || 0) + w.length);
const text = JSON.stringify(words);
let sum = 0;
for (let i = 0; i < 10 * $work_factor; i++)
	sum += JSON.parse(text).sort((a, b) => a < b ? -1 : a > b ? 1 : 0).length +
		(text.match(/w(\d)\d*\1/g) || []).length;
console.log(fib(34), counts.size, sum);
JS
awk -v lines=$((60000 * work_factor)) 'BEGIN {
	srand(7)
	for (i = 0; i < lines; i++) printf "%d line %d of %d\n", i, rand() * 1000, i % 97
}' >"$work/data"
# Loops, switches and calls, for the optimizer.
awk -v functions=$((50 * work_factor)) 'BEGIN {
	srand(11)
	for (f = 0; f < functions; f++) {
		printf "struct s%d { int a[%d]; double d; };\n", f, 3 + f % 7
		printf "int f%d(int n, struct s%d *s)\n{\nint i, j, x = n;\nfor (i = 0; i < n; i++) {\n", f, f
		for (k = 0; k < 12; k++) {
			printf "if ((x ^ %d) %% %d > i) x += s->a[(i + %d) %% %d] * %d; else s->d += x / %d.0;\n", int(rand() * 1000), 3 + k, k, 3 + f % 7, k + 2, k + 3
			printf "switch (x & 7) { case %d: x -= i; break; case %d: for (j = 0; j < %d; j++) s->a[j] ^= x << j; break; default: x++; }\n", k % 4, 4 + k % 4, 3 + f % 7
		}
		printf "}\nreturn x + %s;\n}\n", f ? sprintf("f%d(n - 1, (struct s%d *)s)", f - 1, f - 1) : "0"
	}
}' >"$work/big.c"
