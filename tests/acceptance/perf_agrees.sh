#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same work recorded by `perf record --call-graph dwarf` and by weft: the functions that
# use most have the same shares, by themselves and with what they call, within 3 points.
#
# usage: perf_agrees.sh [--long [PROGRAM...]]: seven programs (or these of them), three runs of
# each, medians; without, one run of one program, of which chance alone moves a share by
# several points.
#
# What the kernel does for a program is on its threads' CPU clocks, so that weft counts it for
# the function that called: perf is asked for its kernel samples, too, and these are counted
# for the user's function below. It gets them as root only.
. "$(dirname "$0")/lib.sh"
python=$(type -P /usr/bin/python3 || type -P python3) || skip_all "python3 is not installed"
{ have perf && perf --version; } >/dev/null 2>&1 || skip_all "perf is not installed"
for tool in readelf nm jq; do
	have "$tool" || skip_all "$tool is not installed"
done
here=$(cd "$(dirname "$0")" && pwd)
cd "$work" && chmod 711 "$work" || exit 1
perf_options=(-e cpu-clock:u)
[ "$(id -u)" != 0 ] || perf_options=(-e cpu-clock -m 16M)
perf record -q "${perf_options[@]}" -F 499 -o "$work/try.data" true >/dev/null 2>&1 ||
	skip_all "perf may not record here"

runs=1 limit=15
[ "${1-}" = --long ] && runs=3 limit=3 && patience=600 && shift
only=" $* "
as_user=()
stack_bytes=${WEFT_TEST_PERF_STACK:-24576}

by_perf() { # FILE COMMAND...
	local file=$1
	shift
	bounded perf record -q "${perf_options[@]}" -F 499 --call-graph "dwarf,$stack_bytes" \
		-o "$file.data" -- "${as_user[@]}" "$@" </dev/null >/dev/null 2>&1
	bounded perf script -i "$file.data" --no-inline -F comm,ip,sym,symoff,dso \
		>"$file.txt" 2>/dev/null
	rm -f "$file.data"
	[ -s "$file.txt" ]
}

by_weft() { # FILE COMMAND...
	local file=$1
	shift
	bounded "${as_user[@]}" "$weft" record -F 250 -o "$file.jfr" -- "$@" </dev/null >/dev/null 2>&1
	bounded "$weft" report "$file.jfr" --by function --no-inlines --json >"$file.json"
}

record_both() { # NAME COMMAND...
	local name=$1 run
	shift
	files=()
	for run in $(seq "$runs"); do
		by_perf "$dir/$name.perf$run" "$@" && by_weft "$dir/$name.weft$run" "$@" || return 1
		files+=("$dir/$name.perf$run.txt" "$dir/$name.weft$run.json")
	done
}

wanted() { # NAME
	[ "$only" = "  " ] || [ "${only#* "$1" }" != "$only" ]
}

# How much work the next program gets: enough for five seconds of CPU time.
give_work() { # FACTOR
	work_factor=$1
	. "$here/programs.sh"
}

try() { # NAME COMMAND...
	local name=$1
	wanted "$name" || return
	have "$2" || {
		skip "$name" "not installed"
		return
	}
	check "$name: recorded by both" record_both "$@" || return
	check "$name: shares within $limit points" \
		"$python" "$here/perf_shares.py" "$limit" "${files[@]}"
	show "$work/check.out" 40
}

dir=$work
if [ "$limit" = 15 ]; then
	give_work 2
	try python3 "$python" "$work/script.py"
	finish
fi
give_work 24
try python3 "$python" "$work/script.py"
give_work 9
try sqlite3 sqlite3 -init /dev/null :memory: ".read $work/script.sql"
give_work 4
try xz xz -9 -T1 -k -c "$work/data"
try openssl openssl speed -seconds 16 -bytes 1024 sha256
give_work 3
try cc1 "$(gcc -print-prog-name=cc1)" -O2 -quiet "$work/big.c" -o "$work/big.s"
give_work 5
if wanted node && have node; then
	# shellcheck disable=SC2016
	try node sh -c 'echo $$ >>node.pids; exec node --perf-basic-prof "$0"' "$work/script.js"
	sed 's|.*|/tmp/perf-&.map|' "$work/node.pids" | xargs rm -f
elif wanted node; then
	skip "node" "not installed"
fi

# In its single-user mode, for one process does all of the work; without temporary files, for
# perf leaves the kernel's time out where it has no privileges; without a compiler at run time,
# for perf's stacks end in its code.
postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
as_postgres=(env)
[ "$(id -u)" != 0 ] || as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups --
	env -i "PATH=$PATH" "HOME=$work/pg")

make_database() {
	mkdir "$work/pg" || return 1
	[ "$(id -u)" != 0 ] || chown postgres:postgres "$work/pg" || return 1
	"${as_postgres[@]}" "$postgres_bin/initdb" -D "$work/pg/data" -A trust --no-sync -U postgres
}

if ! wanted postgres; then
	:
elif [ -z "$postgres_bin" ]; then
	skip "postgres" "not installed"
elif ! "${as_postgres[@]}" test -x "$weft"; then
	skip "postgres" "its user cannot reach $weft"
else
	check "postgres: a new database" make_database
	work_factor=8
	cat >"$work/pg.sql" <<SQL
SELECT count(*), sum(length(md5(i::text))) FROM generate_series(1, 900000 * $work_factor) AS i;
SELECT i % 97 AS k, count(*), avg(i) FROM generate_series(1, 500000 * $work_factor) AS i GROUP BY k ORDER BY k LIMIT 5;
SQL
	chmod 644 "$work/pg.sql"
	as_user=("${as_postgres[@]}") dir=$work/pg
	cd "$work/pg" && try postgres sh -c 'exec "$0" --single -c work_mem=1GB -c jit=off -D "$1" postgres <"$2"' \
		"$postgres_bin/postgres" "$work/pg/data" "$work/pg.sql"
fi
finish
