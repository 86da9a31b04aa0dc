#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Process trees of every kind in one recording. What trees.c says of its processes (pid, name,
# function, CPU time) is held against the file: each process is there once, under its name,
# with its own function and no other's, and with its CPU time.
. "$(dirname "$0")/lib.sh"

export TREES_LOG=$work/log TREES_MS=200
trees=$tools/trees

# kind OPTIONS -- COMMAND: records it and keeps samples as "group <tab> stack".
kind() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	: >"$TREES_LOG"
	bounded "$weft" record ${options[@]+"${options[@]}"} -o "$work/trees.jfr" -- "$@" \
		>"$work/out" 2>"$work/err" </dev/null || {
		cat "$work/out" "$work/err"
		return 1
	}
	"$tools/list-samples" "$work/trees.jfr" | cut -f2,8 >"$work/samples"
}

# agrees COUNT: the log has COUNT processes, and the file has them all.
agrees() {
	awk -F'\t' -v count="$1" -v strangers="${2:-}" '
	function bad(text) { print text; failed = 1 }
	FNR == NR { # the log; one that exec keeps its pid
		pid[++n] = $1; comm[n] = $2; burner[n] = $3; ms[n] = $4
		next
	}
	{
		got[$1] += 1000 / 199
		if (match($2, /burn_in_child_[0-9]/)) {
			name = substr($2, RSTART, RLENGTH)
			seen[name] = seen[name] == "" || seen[name] == $1 ? $1 : seen[name] " and " $1
			if (gsub(/burn_in_child_/, "&", $2) > 1)
				bad("two functions in a stack: " $2)
			in_group[$1, name] = 1
		}
	}
	END {
		if (n != count)
			bad("processes: " n " told of themselves, expected " count)
		for (i = 1; i <= n; i++) {
			group = seen[burner[i]]
			if (strangers) # pids of a namespace of its own
				sub(/ \[[0-9]+\]$/, "", group)
			want = strangers ? comm[i] : comm[i] " [" pid[i] "]"
			if (group != want)
				bad(burner[i] ": expected in " want ", is in " (group == "" ? "none" : group))
			total[seen[burner[i]]] += ms[i]
			others[seen[burner[i]]] = others[seen[burner[i]]] " " burner[i]
		}
		for (group in total) {
			printf "%s: %d ms used, %d ms in the file (%s )\n", group, total[group], got[group], others[group]
			off = got[group] - total[group]
			# five standard errors: gaps are random, by blocks of eight
			if (off > total[group] * 0.12 + 50 || -off > total[group] * 0.12 + 50)
				bad(group ": " int(total[group]) " ms were used, " int(got[group]) " ms are in the file")
		}
		for (key in in_group) {
			split(key, part, SUBSEP)
			if (index(others[part[1]], part[2]) == 0)
				bad(part[2] " is also in " part[1])
		}
		exit failed
	}' "$TREES_LOG" "$work/samples" >"$work/verdict" || {
		cat "$work/verdict" "$TREES_LOG"
		return 1
	}
}

report_names() { # weft report shows the same groups
	bounded "$weft" report "$work/trees.jfr" --by process --json | grep -o '"key": *"[^"]*"' |
		sed 's/.*: *"//; s/"$//' | sort >"$work/names"
	cut -f1 "$work/samples" | sort -u >"$work/groups"
	cmp "$work/names" "$work/groups" || cat "$work/names" "$work/groups"
	cmp -s "$work/names" "$work/groups"
}

# try TEXT COUNT OPTIONS -- COMMAND
try() {
	local text=$1 count=$2
	shift 2
	check "$text" kind "$@" || return
	check "... each process by its name, with its own functions and CPU time" agrees "$count" "${strangers:-}"
	sed 's/^/# /' "$work/verdict"
}

try "fork, two generations" 3 -- "$trees" fork
check "... weft report --by process names the same" report_names
try "_Fork" 2 -- "$trees" _Fork
try "clone" 2 -- "$trees" clone
try "vfork and exec" 3 -- "$trees" vfork
try "posix_spawn" 2 -- "$trees" spawn
try "system" 3 -- "$trees" system
try "popen" 2 -- "$trees" popen
try "daemon(), waited for" 2 --wait-all -- "$trees" daemon
try "two forks, all descriptors closed, a worker that outlives it: waited for" 3 --wait-all -- \
	"$trees" old-daemon

for name in first second third; do
	ln "$trees" "$work/$name" 2>/dev/null || cp "$trees" "$work/$name"
done
try "a chain of execs: one pid, a name for each program" 4 -- \
	"$work/first" chain "$work/second" "$work/third" "$trees"

printf '#!/bin/sh\nexec "%s" leaf 1\n' "$trees" >"$work/inner"
printf '#!%s\n' "$work/inner" >"$work/outer"
chmod +x "$work/inner" "$work/outer"
try "a script whose interpreter is a script" 1 -- "$work/outer"

cat >"$work/script" <<END
"$trees" leaf 0 | cat | "$work/first" leaf 1
"$work/second" leaf 2 &
(
	"$work/third" leaf 3 &
	"$trees" leaf 4
	wait
) | cat
wait
exec "$work/first" leaf 5
END
try "a shell script: pipelines, background jobs, subshells, exec" 6 -- sh "$work/script"

# Whoever is not below the recorded program has no business in root's recording.
stranger() {
	mkfifo -m 666 "$work/go" && : >"$TREES_LOG" || return
	bounded "$weft" record -o "$work/stranger.jfr" -- \
		sh -c 'echo "$WEFT_SOCKET" >"$1/socket"; read -r line <"$1/go"' sh "$work" &
	await 100 test -s "$work/socket" || return
	bounded $other env "LD_PRELOAD=$BUILD/src/runtime/libweft.so" \
		"WEFT_SOCKET=$(cat "$work/socket")" "$trees" leaf 3
	echo >"$work/go"
	wait $! || return
	grep -q burn_in_child_3 "$TREES_LOG" || return # it ran
	! "$tools/list-samples" "$work/stranger.jfr" | grep burn_in_child_3
}

other="setpriv --reuid 64321 --clear-groups"
chmod 711 "$work"
: >"$TREES_LOG"
chmod 666 "$TREES_LOG"
if TREES_MS=1 $other "$trees" leaf 5 2>/dev/null && grep -q burn_in_child_5 "$TREES_LOG"; then
	try "a program of another user" 1 -- $other "$trees" leaf 1
	try "a worker that gives up its privileges" 2 -- "$trees" worker 64321
	check "another user's program that is none of ours is not heard" stranger
else
	skip "other users" "no other user to be"
fi

unshare() {
	command unshare --pid --fork --mount-proc "$@"
}
if unshare true 2>/dev/null; then
	strangers=1
	try "a PID namespace" 3 -- unshare "$trees" fork
	try "... within another" 3 -- \
		unshare unshare --pid --fork --mount-proc "$trees" fork
else
	skip "PID namespaces" "this one may not make any"
fi
finish
