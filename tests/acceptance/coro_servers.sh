#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft coro export --to sql, loaded into real servers by their own clients. The servers are started
# here, on sockets of their own, as users that are not root. Every row is compared with the trace's
# own JSON lines. usage: [WEFT_TEST_EVENTS=N] coro_servers.sh postgres|mariadb
. "$(dirname "$0")/lib.sh"
set -o pipefail
kind=$1
export HOME=$work/home
mkdir "$HOME" && chmod 711 "$work"
unset PGPASSWORD PGHOST PGUSER PGDATABASE PGPORT MYSQL_PWD

[ "$(id -u)" != 0 ] || have setpriv || skip_all "no setpriv: servers refuse to be root's"
# What stands before a command of the server's: a server does not run as root.
become() { # USER
	as=(env)
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid="$1" --regid="$1" --init-groups --
		env -i "PATH=$PATH" "HOME=$work/server")
}

private_place() { # USER
	mkdir "$work/server" || return 1
	[ "$(id -u)" != 0 ] || chown "$1:$1" "$work/server"
}

is_over() { ! kill -0 "$server" 2>/dev/null; }
stop_server() { kill -"$stop" "$server" && await 600 is_over; }

answers_or_is_over() { "${kind}_ready" || is_over; }

start_server() {
	"${kind}_run"
	started+=("$server")
	await 600 answers_or_is_over
	"${kind}_ready" && return
	cat "$work/server.log"
	return 1
}

# ---- PostgreSQL

postgres_there() {
	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
	[ -x "$bin/initdb" ] || skip_all "PostgreSQL is not installed"
	become postgres
	"${as[@]}" true || skip_all "no user postgres"
}

postgres_make() {
	private_place postgres || return 1
	"${as[@]}" "$bin/initdb" -D "$work/server/data" -A trust -E UTF8 --locale=C.UTF-8 --no-sync -U postgres
}

postgres_run() {
	"${as[@]}" "$bin/postgres" -D "$work/server/data" -k "$work/server" -c listen_addresses= \
		-c fsync=off >"$work/server.log" 2>&1 &
	server=$!
}

postgres_ready() { "$bin/pg_isready" -q -h "$work/server"; }
postgres_client() { bounded "$bin/psql" -X -q -h "$work/server" -U postgres "$@"; }
postgres_sql() { postgres_client -A -t -F, -d traces -c "$1"; }
postgres_load() { postgres_client -v ON_ERROR_STOP=1 -d traces; }
postgres_database() { postgres_client -d postgres -c 'CREATE DATABASE traces'; }

# ---- MariaDB

mariadb_there() {
	PATH=$PATH:/usr/sbin
	have mariadbd && have mariadb-install-db && have mariadb || skip_all "MariaDB is not installed"
	become mysql
	"${as[@]}" true || skip_all "no user mysql"
}

mariadb_make() {
	private_place mysql || return 1
	"${as[@]}" mariadb-install-db --no-defaults --datadir="$work/server/data" --skip-test-db \
		--auth-root-authentication-method=normal
}

mariadb_run() {
	"${as[@]}" mariadbd --no-defaults --datadir="$work/server/data" --socket="$work/server/socket" \
		--skip-networking --pid-file="$work/server/pid" --innodb-flush-log-at-trx-commit=0 \
		>"$work/server.log" 2>&1 &
	server=$!
}

mariadb_client() { bounded mariadb --no-defaults -S "$work/server/socket" -u root "$@"; }
mariadb_ready() { mariadb_client -e 'SELECT 1'; }
mariadb_sql() { mariadb_client --default-character-set=utf8mb4 -N -B -D traces -e "$1" | tr '\t' ','; }
mariadb_load() { mariadb_client traces; }
mariadb_database() { mariadb_client -e 'CREATE DATABASE traces'; }

# ---- both

case $kind in
postgres) stop=INT quote='"' ;; # INT: its fast way to end
mariadb) stop=TERM quote='`' ;;
esac
sql() { "${kind}_sql" "$@"; }
load() { "${kind}_load"; }

trace() { # COUNT FILE: events of a dozen coroutines, and numbers at the end of what there is
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "{\"probe_id\":%d,\"tid\":%d,\"addr\":\"0x%016x\",\"seq\":%d,\"is_active\":%s,\"ts\":%d}\n",
				i % 12 + 1, 1000 + i % 3, 4198400 + i % 7, 2 * int(i / 12) + 2,
				int(i / 12) % 2 ? "false" : "true", 5000000000 + i * 1000
		for (i = 0; i < 2; i++)
			printf "{\"probe_id\":%s,\"tid\":%s,\"addr\":\"0xffffffffffffffff\",\"seq\":%s,\"is_active\":false,\"ts\":%s}\n",
				"18446744073709551615", "9223372036854775808", "18446744073709551614", "18446744073709551615"
	}' >"$2"
}

export_sql() { bounded "$weft" coro export --to sql -o - "$@"; }
export_into() { export_sql "$@" | load; }

# The JSON lines as rows, by somebody else's parser.
lines_as_rows() { # TIMES FILE
	python3 - "$@" <<-'END'
		import json, sys
		events = [json.loads(line) for line in open(sys.argv[2])]
		for e in events * int(sys.argv[1]):
		    flag = "true" if e["is_active"] else "false"
		    print(e["probe_id"], e["tid"], e["addr"], e["seq"], flag, e["ts"], sep=",")
	END
}

quoted() { # NAME: as the server's own tongue has it
	printf '%s%s%s' "$quote" "${1//"$quote"/"$quote$quote"}" "$quote"
}

rows_are() { # TABLE TIMES FILE
	sql "SELECT probe_id, tid, addr, seq, CASE WHEN is_active THEN 'true' ELSE 'false' END, ts
		FROM $(quoted "$1") ORDER BY id" >"$work/rows" || return 1
	lines_as_rows "$2" "$3" >"$work/expected"
	cmp "$work/expected" "$work/rows"
}

count_of() { sql "SELECT count(*) FROM $(quoted "$1")"; }

indexes_of() { # TABLE: the columns of each index but the primary key's
	if [ "$kind" = postgres ]; then
		sql "SELECT regexp_replace(indexdef, '.*USING btree ', '') FROM pg_indexes
			WHERE tablename = '$1' AND indexname NOT LIKE '%pkey' ORDER BY 1"
	else
		sql "SELECT concat('(', group_concat(column_name ORDER BY seq_in_index SEPARATOR ', '), ')')
			FROM information_schema.statistics WHERE table_schema = 'traces' AND table_name = '$1'
			AND index_name <> 'PRIMARY' GROUP BY index_name ORDER BY 1"
	fi
}

has_indexes() {
	same "$(printf '%s\n' '(probe_id, seq)' '(tid, ts)' '(ts)')" "$(indexes_of "$1")"
}

refused() { # STATUS WORDS COMMAND...: the exit status, and standard error has the words
	local expected=$1 words=$2 status=0
	shift 2
	"$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	cat "$work/err"
	same "$expected" "$status" && grep -q -e "$words" "$work/err"
}

# A trace that ends in rubbish after many rows went out: what is there has no end that would count.
damaged() { # TABLE
	{ cat "$work/trace.jsonl"; echo rubbish; } >"$work/damaged.jsonl"
	refused 1 'damaged.jsonl:[0-9]*: ' export_sql --table "$1" "$work/damaged.jsonl" || return 1
	grep -q '^INSERT' "$work/out" || return 1
	load <"$work/out" || true
}

cut_short() { # TABLE: the text ends somewhere, as when weft or the pipe is killed
	export_sql --replace --table "$1" "$work/trace.jsonl" >"$work/whole.sql" || return 1
	head -c $(($(wc -c <"$work/whole.sql") * 2 / 3)) "$work/whole.sql" | load || true
}

has_rows() { same "$2" "$(count_of "$1")"; }

# A program's coroutines, while it runs: what the engine counted is there.
run_and_load() {
	bounded "$weft" coro run -o "$work/live.sql" --table live --stats "$work/stats" \
		-- "$BUILD/examples/coro/stuck-c" || return 1
	load <"$work/live.sql"
}

all_of_it_is_there() {
	local harvested
	harvested=$(jq .harvested "$work/stats") && [ "$harvested" -gt 8 ] || return 1
	same "$harvested" "$(count_of live)"
}

"${kind}_there"
check "a new data directory" "${kind}_make"
check "the server starts" start_server || finish
check "a database" "${kind}_database"
trace 20000 "$work/trace.jsonl"
total=20002
check "a trace is loaded" export_into "$work/trace.jsonl"
check "... the rows are those of the JSON lines, to the last digit" rows_are coro_trace_events 1 "$work/trace.jsonl"
check "... and its indexes" has_indexes coro_trace_events
check "a second time: rows are added" export_into "$work/trace.jsonl"
check "... both traces are there" rows_are coro_trace_events 2 "$work/trace.jsonl"
check "... and no index twice" has_indexes coro_trace_events
check "--replace takes the rows of before away" export_into --replace "$work/trace.jsonl"
check "... and leaves one trace" rows_are coro_trace_events 1 "$work/trace.jsonl"
: >"$work/empty.jsonl"
check "an empty trace" export_into --table empty "$work/empty.jsonl"
check "... is an empty table" has_rows empty 0
check "... with its indexes" has_indexes empty
trace 500 "$work/few.jsonl"
for odd in 'odd "name` of; it' 'back\slash\' "it's; -- no /* comment" $'new\nline' 'größer 表' 'order' "$(printf 'n%.0s' {1..49})"; do
	check "a table named $(printf %q "$odd")" export_into --table "$odd" "$work/few.jsonl"
	check "... the rows are there" rows_are "$odd" 1 "$work/few.jsonl"
done
events=${WEFT_TEST_EVENTS:-100000}
trace "$events" "$work/big.jsonl"
check "$events events" export_into --table big "$work/big.jsonl"
check "... the rows are there" rows_are big 1 "$work/big.jsonl"
check "a running program's coroutines" run_and_load
check "... every event that was harvested is there" all_of_it_is_there
check "... with the indexes" has_indexes live
check "a damaged trace: exit 1, and text without an end" damaged coro_trace_events
check "... of which the server keeps nothing" has_rows coro_trace_events $total
check "a text that was cut short, with --replace" cut_short coro_trace_events
check "... leaves the rows of before" rows_are coro_trace_events 1 "$work/trace.jsonl"
check "--to $kind: what to write instead" refused 2 'coro export --to sql' \
	"$weft" coro export --to "$kind" "$work/trace.jsonl"
check "the server ends when told to" stop_server
finish
