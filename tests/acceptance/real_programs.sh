#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs as Debian ships them do their own work under weft: output, files and exit status
# are as without it. How long each took with and without is printed beside, and judged by
# nobody.
#
# usage: real_programs.sh [--long | --waits [NAME...]]
#   --long: more work, five runs of each in turn; the medians
#   --waits: with an event of each wait, however short; of these programs, or of all
. "$(dirname "$0")/lib.sh"
work_factor=1
rounds=1
[ "${1-}" = --long ] && work_factor=6 && rounds=5 && patience=600
more=()
wanted=
[ "${1-}" != --waits ] || { more=(--waits --set '*Wait#threshold=0 ns') && wanted=${*:2}; }
have jq || skip_all "jq is not installed"
engine=cpu
case " $(engines_here | tr '\n' ' ') " in *" cpu,wall "*) engine=cpu,wall ;; esac
. "$(dirname "$0")/programs.sh"
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

# ---- running: a program is a function do_NAME, which starts what is to be recorded by
# "${under[@]}" and prints all that must be the same.
under=()

record_into() { # FILE
	under=("$weft" record -e "$engine" -F 240 --wait-all "${more[@]}" -o "$1" --)
	[ "$engine" = cpu ] || under=("$weft" record -e "$engine" -F 240 --wall-frequency 100 --wait-all "${more[@]}" -o "$1" --)
}

seconds_since() { # EPOCHREALTIME: in microseconds
	echo $((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}))
}

median() { # a number a line
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# One run: what it prints with its exit status in FILE, its time appended to FILE.times. The
# function may say in $took what part of it counts, in microseconds.
run_once() { # NAME FILE
	local began=$EPOCHREALTIME status
	rm -rf "$work/place" "$work/took"
	mkdir "$work/place"
	(cd "$work/place" && "do_$1") </dev/null >"$2.out" 2>"$2.err"
	status=$?
	grep -hv '^weft record: ' "$2.out" "$2.err" >"$2"
	echo "status $status" >>"$2"
	if [ -s "$work/took" ]; then cat "$work/took"; else seconds_since "$began"; fi >>"$2.times"
}

ends_well() { # FILE
	grep -qx 'status 0' "$1" || {
		tail -n 20 "$1" "$1.err"
		return 1
	}
}

equal_outputs() { # NAME
	ends_well "$work/bare" && ends_well "$work/recorded" || return 1
	diff "$work/bare" "$work/recorded" && at_least 1 "$(wc -l <"$work/bare")"
}

recording_reads() { # NAME
	local samples
	"$weft" report --by process --top 3 "$work/$1.jfr" >"$work/report" || return 1
	samples=$(samples_in "$work/$1.jfr")
	echo "$samples samples; $(awk '/^lost/' "$work/report" | head -n 1)"
	at_least 3 "$samples"
}

has_waits() { # NAME
	"$weft" summary --json "$work/$1.jfr" |
		jq -e '[.events[] | select(.name == "weft.IOWait") | .count] | add > 0'
}

overhead() { # NAME
	awk -v name="$1" -v n="$rounds" -v a="$(median <"$work/bare.times")" \
		-v b="$(median <"$work/recorded.times")" 'BEGIN {
			printf "%s: %.2f s without, %.2f s with weft (%+.1f %%; median of %d)\n",
				name, a / 1e6, b / 1e6, 100 * (b - a) / a, n }'
}

is_wanted() { # NAME
	[ -z "$wanted" ] || [[ " $wanted " == *" $1 "* ]]
}

try() { # NAME PROGRAM...: what it needs
	local name=$1 program i good=1
	shift
	is_wanted "$name" || return
	for program; do
		have "$program" || {
			skip "$name" "$program is not installed"
			return
		}
	done
	rm -f "$work"/bare* "$work"/recorded*
	for i in $(seq "$rounds"); do
		under=(env)
		run_once "$name" "$work/bare"
		record_into "$work/$name.jfr"
		run_once "$name" "$work/recorded"
		equal_outputs "$name" >"$work/difference" 2>&1 || {
			good=0
			break
		}
	done
	check "$name: output and status as without weft" test "$good" = 1 || {
		show "$work/difference" 20
		return
	}
	note "$(overhead "$name")"
	check "$name: the recording reads" recording_reads "$name"
	show "$work/check.out" 1
	[ ${#more[@]} = 0 ] || check "$name: its waits are in it" has_waits "$name"
}

# ---- programs that run to their end

do_sqlite3() {
	"${under[@]}" sqlite3 -init /dev/null base.db ".read $work/script.sql" &&
		sqlite3 base.db 'PRAGMA integrity_check; SELECT count(*) FROM t'
}

do_python3() {
	local modules="test_bisect test_heapq test_struct test_textwrap"
	[ "$work_factor" = 1 ] || modules="$modules test_queue test_json test_re test_threading test_subprocess \
		test_signal test_asyncio test_socket test_select test_fork1 test_multiprocessing_fork"
	# shellcheck disable=SC2086
	"${under[@]}" "$python" -m test -q $modules 2>&1 |
		sed -E '/duration|^== |load avg|^\[|slow|^$/d; s/[0-9.]+ (ms|sec|min)//g'
	return "${PIPESTATUS[0]}"
}

cat >"$work/git.sh" <<'SCRIPT'
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b trunk repository
cd repository
for commit in $(seq 1 "$1"); do
	awk -v seed="$commit" 'BEGIN { srand(seed); for (f = 0; f < 60; f++) {
		name = "file" f; for (i = 0; i < 80; i++) print f, i, int(rand() * 1e6) > name; close(name) } }'
	git add -A
	git commit -q -m "commit $commit"
done
git checkout -q -b side HEAD~1
echo more >more
git add more
git commit -q -m side
git merge -q --no-edit trunk
git log --oneline --stat | tail -n 20
git fsck --full 2>&1
git gc -q --aggressive
git rev-parse HEAD
git grep -c 77 | sort | md5sum
git archive HEAD | md5sum
SCRIPT

do_git() {
	"${under[@]}" bash "$work/git.sh" $((3 * work_factor)) 2>&1
}

do_gcc() {
	"${under[@]}" gcc -O1 -c "$work/big.c" -o big.o && md5sum <big.o
}

cat >"$work/script.sh" <<'SCRIPT'
set -u
declare -A seen
trap 'echo interrupted' USR1
trap 'echo end' EXIT
count() { local n=0; while read -r line; do n=$((n + ${#line})); done; echo "$n"; }
for i in $(seq 1 "$1"); do
	seen[$((i * 7919 % 1009))]=$i
	[ $((i % 200)) = 0 ] && seq "$i" | sort -r | head -n 50 | md5sum
	[ $((i % 500)) = 0 ] && kill -USR1 $$
done
echo "${#seen[@]}"
seq 3000 | count
for i in 1 2 3 4; do (sleep 0.0$i; exit "$i") & pids+=($!); done
for pid in "${pids[@]}"; do wait "$pid"; echo "job $?"; done
x=$(printf '%s\n' {1..500} | while read -r a; do echo $((a * a)); done | tail -n 1)
echo "$x" | tr 0-9 a-j
diff <(seq 5) <(seq 6) || echo "differ $?"
cat <<END | rev
$(date -u -d @0)
END
timeout 5 sh -c 'kill -TERM $$'; echo "terminated $?"
exit 0
SCRIPT

do_bash() {
	"${under[@]}" bash "$work/script.sh" $((2000 * work_factor)) 2>&1
}

do_node() {
	"${under[@]}" node "$work/script.js"
}

# ---- servers: the server is recorded, whoever asks it is not. Each counts the time that the
# work took, not that of starting and stopping.

started_server() { # PID: so that nothing stays when the test is ended
	echo "$1" >>"$work/servers"
}

stop_server() { # PID SIGNAL
	local child
	child=$(awk '{ print $1 }' "/proc/$1/task/$1/children" 2>/dev/null)
	# weft passes SIGTERM on; other signals are for the server itself.
	if [ "${under[0]}" = "$weft" ]; then kill "-$2" "$child"; else kill "-$2" "$1"; fi
	wait "$1"
	echo "server status $?"
}

do_redis() {
	local n=$((4000 * work_factor)) server began cli=(redis-cli -s "$PWD/redis.sock")
	"${under[@]}" redis-server --port 0 --unixsocket "$PWD/redis.sock" --dir "$PWD" --save '' \
		--appendonly yes --loglevel warning --logfile redis.log &
	server=$!
	started_server "$server"
	await 200 "${cli[@]}" ping || return 1
	began=$EPOCHREALTIME
	redis-benchmark -s "$PWD/redis.sock" -n "$n" -c 8 -P 4 -q -t set,get,incr,lpush,lpop,sadd,zadd,mset |
		tr '\r' '\n' | grep -c 'requests per second'
	seconds_since "$began" >"$work/took"
	"${cli[@]}" get counter:__rand_int__
	"${cli[@]}" eval 'local s = 0 for i = 1, 300000 do s = s + i end return s' 0
	"${cli[@]}" dbsize
	"${cli[@]}" bgsave >/dev/null
	await 100 eval '"${cli[@]}" info persistence | grep -q rdb_bgsave_in_progress:0'
	"${cli[@]}" info persistence | tr -d '\r' | grep -E '^(rdb_last_bgsave|aof_last_write)_status'
	"${cli[@]}" shutdown nosave
	wait "$server"
	echo "server status $?"
	redis-check-rdb dump.rdb | grep -c 'RDB looks OK'
}

do_nginx() {
	local n=$((4000 * work_factor)) server began port=$((20000 + RANDOM % 20000))
	head -c 20000 "$work/data" >page.txt
	: >users
	[ "$(id -u)" != 0 ] || echo 'user root;' >users
	cat >nginx.conf <<-END
		$(cat users)
		worker_processes 2;
		daemon off;
		pid $PWD/nginx.pid;
		error_log $PWD/error.log warn;
		events { worker_connections 128; }
		http {
			access_log $PWD/access.log;
			gzip on; gzip_types text/plain;
			client_body_temp_path $PWD; proxy_temp_path $PWD; fastcgi_temp_path $PWD;
			uwsgi_temp_path $PWD; scgi_temp_path $PWD;
			default_type text/plain;
			server { listen 127.0.0.1:$port; root $PWD; }
		}
	END
	"${under[@]}" "$nginx" -p "$PWD" -c "$PWD/nginx.conf" -e "$PWD/error.log" &
	server=$!
	started_server "$server"
	await 200 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" || {
		cat error.log
		return 1
	}
	began=$EPOCHREALTIME
	ab -q -n "$n" -c 8 -k -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/page.txt" >ab.out
	seconds_since "$began" >"$work/took"
	grep -E '^(Document Length|Complete requests|Failed requests|Non-2xx)' ab.out
	kill -HUP "$(cat nginx.pid)" # new workers
	ab -q -n 200 -c 4 "http://127.0.0.1:$port/page.txt" | grep -E '^(Complete|Failed) requests'
	stop_server "$server" QUIT
	grep -c 'GET /page.txt' access.log
	cat error.log
}

postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
as_postgres=(env)
[ "$(id -u)" != 0 ] || as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups --
	env -i "PATH=$PATH" "HOME=$work/pg")

make_database() {
	mkdir -p "$work/pg" && chmod 711 "$work" && "${as_postgres[@]}" true || return 1
	[ "$(id -u)" != 0 ] || chown postgres:postgres "$work/pg" || return 1
	cd "$work/pg" && "${as_postgres[@]}" "$postgres_bin/initdb" -D "$work/pg/data" -A trust --no-sync -U postgres >/dev/null
}

# One client and a seed: the tables hold the same afterwards.
do_postgres() {
	local n=$((800 * work_factor)) server began pgbench psql
	local to=$work/pg/postgres.jfr
	cd "$work/pg" && rm -rf run && cp -a data run || return 1
	[ "${under[0]}" = env ] || record_into "$to"
	psql=("${as_postgres[@]}" "$postgres_bin/psql" -h "$work/pg" -U postgres -At)
	pgbench=("${as_postgres[@]}" "$(type -P "$postgres_bin/pgbench" pgbench | head -n 1)" -h "$work/pg" -U postgres)
	"${as_postgres[@]}" "${under[@]}" "$postgres_bin/postgres" -D "$work/pg/run" -k "$work/pg" \
		-c listen_addresses= -c fsync=off -c autovacuum=off >"$work/pg.log" 2>&1 &
	server=$!
	started_server "$server"
	await 300 "$postgres_bin/pg_isready" -q -h "$work/pg" -U postgres || return 1
	"${pgbench[@]}" -i -s 1 -q postgres 2>/dev/null
	began=$EPOCHREALTIME
	"${pgbench[@]}" -n -c 1 -t "$n" --random-seed=7 postgres 2>&1 | grep -E '^number of (transactions|failed)'
	seconds_since "$began" >"$work/took"
	"${psql[@]}" -c 'SELECT sum(abalance), sum(abalance * (aid % 97)) FROM pgbench_accounts' \
		-c 'SELECT count(*), sum(delta) FROM pgbench_history' \
		-c 'SELECT count(*) FROM generate_series(1, 300000) AS n WHERE n % 7 = 3'
	stop_server "$server" INT
	grep -E 'PANIC|terminated by signal|crash' "$work/pg.log"
	[ "${under[0]}" = env ] || mv "$to" "$work/postgres.jfr"
}

stop_servers() {
	local pid
	while read -r pid; do
		kill -9 "$pid" $(awk '{ print $0 }' "/proc/$pid/task/$pid/children" 2>/dev/null)
	done <"$work/servers" 2>/dev/null
	clean_up
}
: >"$work/servers"
trap stop_servers EXIT

nginx=$(PATH=$PATH:/usr/sbin type -P nginx)
try sqlite3 sqlite3
if "$python" -c 'import test.test_bisect' 2>/dev/null; then
	try python3 "$python"
else
	skip "python3" "its test suite is not installed"
fi
try git git
try gcc gcc
try bash bash
try node node
try redis redis-server redis-benchmark redis-cli
if [ -n "$nginx" ]; then try nginx ab; else skip "nginx" "nginx is not installed"; fi
if ! is_wanted postgres; then
	:
elif [ -z "$postgres_bin" ]; then
	skip "postgres" "not installed"
elif ! "${as_postgres[@]}" test -x "$weft"; then
	skip "postgres" "its user cannot reach $weft"
else
	check "postgres: a new database" make_database && try postgres awk
fi
finish
