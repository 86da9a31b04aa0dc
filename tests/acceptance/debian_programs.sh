#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs as the distribution ships them: built without frame pointers, stripped, not
# prepared in any way. Their output and status stay the same, and at least 98 % of their
# samples reach the outermost frame; the rest is counted by cause. Raw copies of the stack
# end at their limit, so of these it is 90 %.
#
# usage: debian_programs.sh [--long]: more work, and each by --stack raw, too
. "$(dirname "$0")/lib.sh"
work_factor=1
modes=auto
[ "${1-}" = --long ] && work_factor=3 && modes='auto raw' && patience=300
have jq || skip_all "jq is not installed"
have readelf || skip_all "readelf is not installed"

# Where a whole stack ends: where the C runtime starts a program or a thread. A stripped
# program has no name for it, but its ELF header says where its first instruction is.
outermost='^(_start|_dl_start_user|clone|clone3|__clone|__clone3)$'

entry_of() { # PROGRAM: where it begins, as list-samples shows a pc there
	readelf -h "$1" | awk '/Entry point/ { print $NF }'
}

# Names of frames that are within 64 bytes of where one of the programs begins.
entries_of() { # PROGRAM...
	local path
	for path; do
		path=$(readlink -f "$(type -P "$path")") &&
			printf '%s %d\n' "$(basename "$path")" "$(($(entry_of "$path")))"
	done
}

least_share() { # MODE
	[ "$1" = raw ] && echo 90 || echo 98
}

reach_the_end() { # FILE MODE PROGRAM...
	local file=$1 mode=$2
	shift 2
	entries_of "$@" >"$work/entries"
	"$tools/list-samples" "$file" >"$work/samples" || return 1
	cut -f 8 "$work/samples" | awk -F';' '{ print $NF }' | sort | uniq -c |
		awk '{ n = $1; sub(/^ *[0-9]+ /, ""); print n "\t" $0 }' |
		while IFS=$(printf '\t') read -r n frame; do
			case $frame in
			*+0x*)
				grep -q "^${frame%+*} " "$work/entries" &&
					offset=$((${frame##*+} - $(awk -v m="${frame%+*}" '$1 == m { print $2 }' "$work/entries"))) &&
					[ "$offset" -ge 0 ] && [ "$offset" -lt 64 ] && frame=_start
				;;
			esac
			printf '%s\t%s\n' "$n" "$frame"
		done | awk -F'\t' -v last="$outermost" -v least="$(least_share "$mode")" '
		{ all += $1 }
		$2 ~ last { good += $1; next }
		++others <= 8 { print "  ends in " $2 ": " $1 }
		END {
			printf "%d of %d samples reach the outermost frame: %.2f %%\n", good, all, all ? 100 * good / all : 0
			exit !(all >= 20 && good >= least / 100 * all)
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
run_bare() { # COMMAND...
	(cd "$work" && bounded "$@") </dev/null >"$work/bare.out" 2>"$work/bare.err"
	bare=$?
}

unchanged() { # NAME MODE FILTER COMMAND...
	local name=$1 mode=$2 filter=$3 recorded
	shift 3
	(cd "$work" && bounded "$weft" record --stack "$mode" -F 240 -o "$work/$name.jfr" -- "$@") \
		</dev/null >"$work/recorded.out" 2>"$work/recorded.err"
	recorded=$?
	same "$bare" "$recorded" &&
		cmp <(eval "$filter" <"$work/bare.out") <(eval "$filter" <"$work/recorded.out") &&
		[ "$bare" = 0 ]
}

judge() { # NAME MODE PROGRAM...: what was recorded in $work/NAME.jfr
	local name=$1 mode=$2
	shift 2
	check "$name ($mode): $(least_share "$mode") % of the samples reach the outermost frame" \
		reach_the_end "$work/$name.jfr" "$mode" "$@"
	show "$work/check.out" 9
	check "$name ($mode): the rest is counted by cause" rest_is_counted "$work/$name.jfr"
	show "$work/check.out" 2
}

try() { # NAME PROGRAMS FILTER COMMAND...: PROGRAMS are those that it starts, itself first
	local name=$1 programs=$2 filter=$3 mode
	shift 3
	have "$1" || {
		skip "$name" "not installed"
		return
	}
	run_bare "$@"
	for mode in $modes; do
		# shellcheck disable=SC2086
		check "$name ($mode): output and status as without weft" \
			unchanged "$name" "$mode" "$filter" "$@" && judge "$name" "$mode" $programs
	done
}

# Its work comes in by pgbench, on a Unix socket; it does not run as root.
postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
as_postgres=(env)
[ "$(id -u)" != 0 ] || as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups --
	env -i "PATH=$PATH" "HOME=$work/pg")

make_database() {
	mkdir -p "$work/pg" && chmod 711 "$work" || return 1
	[ "$(id -u)" != 0 ] || chown postgres:postgres "$work/pg" || return 1
	"${as_postgres[@]}" "$postgres_bin/initdb" -D "$work/pg/data" -A trust --no-sync -U postgres >/dev/null
}

start_postgres() { # MODE
	cd "$work/pg" || return 1
	"${as_postgres[@]}" "$weft" record --stack "$1" -F 240 -o "$work/pg/postgres.jfr" -- \
		"$postgres_bin/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses= \
		-c fsync=off -c autovacuum=off >"$work/pg.out" 2>&1 &
	postgres_pid=$!
	started+=("$postgres_pid")
	cd "$work" || return 1
	await 300 "$postgres_bin/pg_isready" -q -h "$work/pg" -U postgres
}

drive_postgres() {
	local pgbench count=$((6000 * work_factor))
	pgbench=$(type -P "$postgres_bin/pgbench" || type -P pgbench) || return 1
	pgbench=("${as_postgres[@]}" timeout "$patience" "$pgbench" -h "$work/pg" -U postgres)
	(cd "$work/pg" && "${pgbench[@]}" -i -s 2 -q postgres &&
		"${pgbench[@]}" -n -c 2 -S -t "$count" postgres) >"$work/pgbench.out" 2>&1
	grep -q "processed: $((2 * count))/$((2 * count))" "$work/pgbench.out"
}

stop_postgres() {
	kill -TERM "$postgres_pid" && wait "$postgres_pid" && mv "$work/pg/postgres.jfr" "$work/postgres.jfr"
}

try_postgres() {
	local mode
	if [ -z "$postgres_bin" ]; then
		skip "postgres" "not installed"
		return
	elif ! "${as_postgres[@]}" test -x "$weft"; then
		skip "postgres" "its user cannot reach $weft"
		return
	fi
	check "postgres: a new database" make_database || return
	for mode in $modes; do
		check "postgres ($mode): the server starts" start_postgres "$mode" || {
			show "$work/pg.out"
			return
		}
		check "postgres ($mode): pgbench gets all its answers" drive_postgres || show "$work/pgbench.out"
		check "postgres ($mode): SIGTERM ends it well" stop_postgres || show "$work/pg.out"
		judge postgres "$mode" "$postgres_bin/postgres"
	done
}

. "$(dirname "$0")/programs.sh"

python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
try sqlite3 sqlite3 cat sqlite3 -init /dev/null :memory: ".read $work/script.sql"
try xz xz md5sum xz -9 -T1 -k -c "$work/data"
try openssl openssl "sed -E 's/ *[0-9.]+k?/ N/g'" openssl speed -seconds "$((2 * work_factor))" -bytes 1024 sha256
try python3 "$python" cat "$python" "$work/script.py"
try cc1 "gcc $(gcc -print-prog-name=cc1 2>/dev/null) $(gcc -print-prog-name=as 2>/dev/null)" cat \
	gcc -O2 -c "$work/big.c" -o "$work/big.o"
if have node; then # it leaves /tmp/perf-PID.map behind
	# shellcheck disable=SC2016
	try node node cat sh -c 'echo $$ >>node.pids; exec node --perf-basic-prof "$0"' "$work/script.js"
	sed 's|.*|/tmp/perf-&.map|' "$work/node.pids" | xargs rm -f
else
	skip "node" "not installed"
fi
try_postgres
finish
