#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# weft coro export into real servers, started here on loopback and on sockets of their own, as
# users that are not root. usage: coro_servers.sh postgres|mariadb
. "$(dirname "$0")/lib.sh"
set -o pipefail
kind=$1
tls=() # options of the server
secret='s3cret "of a test"'
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

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

is_over() { ! kill -0 "$server" 2>/dev/null; }
stop_server() { kill -"$stop" "$server" && await 600 is_over; }

answers_or_is_over() { "${kind}_ready" || is_over; }

# Somebody may take the port between our look and the server's.
start_server() {
	local try
	for try in 1 2 3; do
		port=$(free_port)
		"${kind}_run"
		started+=("$server")
		await 600 answers_or_is_over
		"${kind}_ready" && return
	done
	cat "$work/server.log"
	return 1
}

# ---- PostgreSQL

postgres_there() {
	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
	[ -x "$bin/initdb" ] || skip_all "PostgreSQL is not installed"
	become postgres
	"${as[@]}" true || skip_all "no user postgres"
	socket=$work/server
	user=postgres
}

postgres_make() {
	private_place postgres || return 1
	printf '%s\n' "$secret" >"$work/secret" && chmod 644 "$work/secret"
	"${as[@]}" "$bin/initdb" -D "$work/server/data" -A scram-sha-256 --pwfile="$work/secret" \
		--no-sync -U postgres
}

postgres_run() {
	"${as[@]}" "$bin/postgres" -D "$work/server/data" -k "$work/server" -p "$port" \
		-c listen_addresses=127.0.0.1 -c fsync=off "${tls[@]}" >"$work/server.log" 2>&1 &
	server=$!
}

postgres_ready() { "$bin/pg_isready" -q -h "$work/server" -p "$port"; }
postgres_users() { :; }

postgres_sql() { # DATABASE SQL
	PGPASSWORD=$secret bounded "$bin/psql" -X -q -A -t -F, -h "$socket" -p "$port" -U postgres -d "$1" -c "$2"
}

# ---- MariaDB

mariadb_there() {
	PATH=$PATH:/usr/sbin
	have mariadbd && have mariadb-install-db && have mariadb || skip_all "MariaDB is not installed"
	become mysql
	"${as[@]}" true || skip_all "no user mysql"
	socket=$work/server/socket
	user=weft
}

mariadb_make() {
	private_place mysql || return 1
	"${as[@]}" mariadb-install-db --no-defaults --datadir="$work/server/data" --skip-test-db \
		--auth-root-authentication-method=normal
}

mariadb_run() {
	"${as[@]}" mariadbd --no-defaults --datadir="$work/server/data" --socket="$socket" \
		--port="$port" --bind-address=127.0.0.1 --pid-file="$work/server/pid" \
		--innodb-flush-log-at-trx-commit=0 --skip-name-resolve "${tls[@]}" >"$work/server.log" 2>&1 &
	server=$!
}

mariadb_ready() { mariadb_sql mysql 'SELECT 1'; }

mariadb_users() {
	mariadb_sql mysql "CREATE USER weft@'%' IDENTIFIED BY '$secret';
		CREATE USER weft@localhost IDENTIFIED BY '$secret';
		GRANT ALL ON *.* TO weft@'%'; GRANT ALL ON *.* TO weft@localhost"
}

mariadb_sql() { # DATABASE SQL
	bounded mariadb --no-defaults -S "$socket" -u root -N -B -D "$1" -e "$2" | tr '\t' ','
}

# ---- both

case $kind in
postgres) format=postgres password=PGPASSWORD stop=INT kind_there=PostgreSQL ;; # INT: its fast way to end
mariadb) format=mysql password=MYSQL_PWD stop=TERM kind_there=MySQL ;;
esac
sql() { "${kind}_sql" "$@"; }

trace() { # COUNT: events of a dozen coroutines, and numbers at the end of what there is
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "{\"probe_id\":%d,\"tid\":%d,\"addr\":\"0x%016x\",\"seq\":%d,\"is_active\":%s,\"ts\":%d}\n",
				i % 12 + 1, 1000 + i % 3, 4198400 + i % 7, 2 * int(i / 12) + 2,
				int(i / 12) % 2 ? "false" : "true", 5000000000 + i * 1000
		for (i = 0; i < 2; i++)
			printf "{\"probe_id\":%s,\"tid\":%s,\"addr\":\"0xffffffffffffffff\",\"seq\":%s,\"is_active\":false,\"ts\":%s}\n",
				"18446744073709551615", "9223372036854775808", "18446744073709551614", "18446744073709551615"
	}' >"$work/trace.jsonl"
	"$weft" coro export --to csv -o "$work/trace.csv" "$work/trace.jsonl"
}

export_trace() { # OPTION...
	bounded "$weft" coro export --to "$format" --user "$user" "$@" "$work/trace.jsonl"
}

flags() { [ "$kind" = postgres ] && echo "CASE WHEN is_active THEN 'true' ELSE 'false' END" ||
	echo "IF(is_active, 'true', 'false')"; }

rows_are() { # DATABASE TABLE TIMES
	local i
	sql "$1" "SELECT probe_id, tid, addr, seq, $(flags), ts FROM $2 ORDER BY id" >"$work/rows" || return 1
	for ((i = 0; i < $3; i++)); do sed 1d "$work/trace.csv"; done >"$work/expected"
	cmp "$work/expected" "$work/rows" || return 1
	[ "$(wc -l <"$work/rows")" = "$(($3 * ($(wc -l <"$work/trace.csv") - 1)))" ]
}

count_of() { sql "$1" "SELECT count(*) FROM $2"; }

with_password() {
	local status=0
	export "$password=$secret"
	"$@" || status=$?
	unset "$password"
	return $status
}

indexes_of() { # DATABASE TABLE: the columns of each index but the primary key's
	if [ "$kind" = postgres ]; then
		sql "$1" "SELECT regexp_replace(indexdef, '.*USING btree ', '') FROM pg_indexes
			WHERE tablename = '$2' AND indexname NOT LIKE '%pkey' ORDER BY 1"
	else
		sql "$1" "SELECT concat('(', group_concat(column_name ORDER BY seq_in_index SEPARATOR ', '), ')')
			FROM information_schema.statistics WHERE table_schema = '$1' AND table_name = '$2'
			AND index_name <> 'PRIMARY' GROUP BY index_name ORDER BY 1"
	fi
}

has_indexes() {
	same "$(printf '%s\n' '(probe_id, seq)' '(tid, ts)' '(ts)')" "$(indexes_of "$@")"
}

names_are_the_usual_ones() {
	local names
	if [ "$kind" = postgres ]; then
		names=$(sql coro_tracer "SELECT indexname FROM pg_indexes WHERE tablename = 'coro_trace_events'
			AND indexname NOT LIKE '%pkey' ORDER BY 1" | tr '\n' ' ')
		same "idx_coro_trace_events_probe_seq idx_coro_trace_events_tid_ts idx_coro_trace_events_ts " "$names"
	else
		names=$(sql coro_tracer "SELECT DISTINCT index_name FROM information_schema.statistics
			WHERE table_name = 'coro_trace_events' AND index_name <> 'PRIMARY' ORDER BY 1" | tr '\n' ' ')
		same "idx_probe_seq idx_tid_ts idx_ts " "$names"
	fi
}

refused() { # WORDS COMMAND...: exit 1, and standard error has the words
	local words=$1 status=0
	shift
	"$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	cat "$work/err"
	same 1 "$status" && grep -q -e "$words" "$work/err"
}

wrong_password() { env "$password=wrong" "$weft" coro export --to "$format" --user "$user" --host 127.0.0.1 --port "$port" "$work/trace.jsonl"; }

no_password() { setsid "$weft" coro export --to "$format" --user "$user" --host 127.0.0.1 --port "$port" "$work/trace.jsonl"; }

# Typed on a terminal, and not shown there. The other side of it reads until the end.
asked_for() {
	python3 - "$secret" "$weft" coro export --to "$format" --user "$user" --host 127.0.0.1 \
		--port "$port" --table asked "$work/trace.jsonl" <<-'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[2], sys.argv[2:])
		seen = b""
		typed = False
		while True:
		    try:
		        got = os.read(fd, 4096)
		    except OSError:
		        break
		    if not got:
		        break
		    seen += got
		    if b": " in seen and not typed:
		        # the echo goes off right behind the question
		        import termios, time
		        while termios.tcgetattr(fd)[3] & termios.ECHO:
		            time.sleep(0.01)
		        os.write(fd, sys.argv[1].encode() + b"\n")
		        typed = True
		status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
		print(seen.decode(), "status", status)
		sys.exit(not (status == 0 and typed and b"Password of" in seen and sys.argv[1].encode() not in seen))
	END
}

# A trace that ends in rubbish after many rows were sent.
damaged() {
	cp "$work/trace.jsonl" "$work/whole.jsonl"
	{ cat "$work/whole.jsonl"; echo rubbish; } >"$work/damaged.jsonl"
	refused 'damaged.jsonl:[0-9]*: ' with_password "$weft" coro export --to "$format" --user "$user" \
		--host 127.0.0.1 --port "$port" --table "$1" "$work/damaged.jsonl"
}

no_rows_of() { # TABLE: none, or not even the table
	local rows
	rows=$(count_of coro_tracer "$1" 2>/dev/null) || return 0
	[ -z "$rows" ] || same 0 "$rows"
}

# Half of a trace is on its way when the exporter is killed.
killed_in_the_middle() {
	mkfifo "$work/half"
	(
		export "$password=$secret"
		exec "$weft" coro export --to "$format" --user "$user" --host 127.0.0.1 --port "$port" \
			--table halves - <"$work/half"
	) &
	local exporter=$!
	started+=("$exporter")
	exec 7>"$work/half"
	cat "$work/trace.jsonl" >&7
	no_rows_of halves || return 1
	kill -9 "$exporter"
	exec 7>&-
	wait "$exporter"
	rm "$work/half"
	no_rows_of halves
}

# A program's coroutines go to the server while it runs; what the engine counted is there.
run_into() { # OPTION...
	with_password bounded "$weft" coro run --to "$format" --user "$user" --table live --stats "$work/stats" "$@" \
		-- "$BUILD/examples/coro/stuck-c"
}

all_of_it_is_there() {
	local harvested
	harvested=$(jq .harvested "$work/stats") && [ "$harvested" -gt 8 ] || return 1
	same "$harvested" "$(count_of coro_tracer live)"
}

# The same under the other program's name and with its flags, which add rows.
by_other_name() {
	ln -sf "$weft" "$work/coroTracer"
	bounded "$work/coroTracer" -export "$kind_there" -in "$work/trace.jsonl" -db-port "$port" -db-user "$user" \
		-db-password "$secret" -db-table by_name
}

# MariaDB's library goes on in the clear when the server has no TLS, and does not say so.
not_in_the_clear() {
	refused 'SSL\|TLS' with_password "$weft" coro export --to "$format" --user "$user" --host 127.0.0.1 \
		--port "$port" --table clear --sslmode "$1" "$work/trace.jsonl"
}

server_with_tls() {
	stop_server || return 1
	"${as[@]}" openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=nobody \
		-keyout "$work/server/key.pem" -out "$work/server/cert.pem" || return 1
	"${as[@]}" chmod 600 "$work/server/key.pem"
	if [ "$kind" = postgres ]; then
		tls=(-c ssl=on -c "ssl_key_file=$work/server/key.pem" -c "ssl_cert_file=$work/server/cert.pem")
	else
		tls=("--ssl-key=$work/server/key.pem" "--ssl-cert=$work/server/cert.pem")
	fi
	start_server
}

"${kind}_there"
check "a new data directory" "${kind}_make"
check "the server starts" start_server || finish
check "its users" "${kind}_users"
check "a trace" trace 20000
check "database and table are made" with_password export_trace --host 127.0.0.1 --port "$port"
check "... the rows are those of the CSV, to the last digit" rows_are coro_tracer coro_trace_events 1
check "... and its indexes" has_indexes coro_tracer coro_trace_events
check "... under the usual names" names_are_the_usual_ones
check "by the socket, a second time: rows are added" with_password export_trace --socket "$socket" --port "$port"
check "... both traces are there" rows_are coro_tracer coro_trace_events 2
check "--replace takes the rows of before away" with_password export_trace --replace --socket "$socket" --port "$port"
check "... and leaves one trace" rows_are coro_tracer coro_trace_events 1
check "a second table" with_password export_trace --host 127.0.0.1 --port "$port" --table 'coro_trace_events_tid'
check "... has its own three indexes" has_indexes coro_tracer coro_trace_events_tid
odd='odd "name` of; it'
check "names of any bytes" with_password export_trace --host 127.0.0.1 --port "$port" --database "$odd" --table "$odd"
quoted=$([ "$kind" = postgres ] && printf '"odd ""name` of; it"' || printf '`odd "name`` of; it`')
check "... the rows are there" rows_are "$odd" "$quoted" 1
check "a running program's coroutines, live" run_into --host 127.0.0.1 --port "$port"
check "... every event that was harvested is there" all_of_it_is_there
check "... with the indexes" has_indexes coro_tracer live
check "coroTracer -export" by_other_name
check "... a second time" by_other_name
check "... both traces are there" rows_are coro_tracer by_name 2
check "--sslmode require, of a server without TLS: exit 1, and why" not_in_the_clear require
check "... verify-full likewise" not_in_the_clear verify-full
check "... prefer and disable do without" with_password export_trace --host 127.0.0.1 --port "$port" --table plain --sslmode prefer
check "... both" with_password export_trace --host 127.0.0.1 --port "$port" --table plain --sslmode disable
check "... and nothing was sent" no_rows_of clear
check "a damaged trace: exit 1" damaged broken
check "... and nothing of it in the database" no_rows_of broken
check "killed in the middle: nothing of it is there" killed_in_the_middle
check "a wrong password: exit 1, and why" refused "$([ $kind = postgres ] && echo authentication || echo 'Access denied')" wrong_password
check "none, and no terminal: exit 1, and why" refused "$([ $kind = postgres ] && echo 'no password' || echo 'Access denied')" no_password
check "the password is asked for on the terminal" asked_for
check "... and the rows are there" rows_are coro_tracer asked 1
if [ "$kind" = postgres ]; then
	printf '127.0.0.1:%s:*:postgres:%s\n' "$port" "$secret" >"$HOME/.pgpass" && chmod 600 "$HOME/.pgpass"
	check "a password out of ~/.pgpass" export_trace --host 127.0.0.1 --port "$port" --table by_file
	long=$(printf 'n%.0s' {1..46})
	check "a name too long for its indexes is refused" refused "at most 45 bytes" \
		with_password export_trace --host 127.0.0.1 --port "$port" --table "$long"
else
	printf '[client]\npassword="%s"\n' "${secret//\"/\\\"}" >"$HOME/.my.cnf" && chmod 600 "$HOME/.my.cnf"
	check "a password out of ~/.my.cnf" export_trace --host 127.0.0.1 --port "$port" --table by_file
fi
check "... the rows are there" rows_are coro_tracer by_file 1
if have openssl; then
	check "the server again, with TLS and a certificate that nobody vouches for" server_with_tls
	for mode in disable prefer require; do
		check "--sslmode $mode" with_password export_trace --host 127.0.0.1 --port "$port" --table tls --sslmode $mode
	done
	check "--sslmode verify-full: exit 1, and why" refused 'certificate\|TLS\|SSL' \
		with_password export_trace --host 127.0.0.1 --port "$port" --table clear --sslmode verify-full
	check "... and nothing was sent" no_rows_of clear
	check "what was sent is there" rows_are coro_tracer tls 3
else
	skip "a server with TLS" "no openssl"
fi
check "the server ends when told to" stop_server
check "no server: exit 1, and why" refused "onnect" with_password export_trace --host 127.0.0.1 --port "$port"
finish
