#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks of blocked threads, read from outside without stopping them, are those that gdb sees when
# it stops them afterwards: each address, from the leaf to the outermost frame.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

have gdb || skip_all "gdb is not installed"
gdb -batch -ex 'python print(1)' 2>/dev/null | grep -q 1 || skip_all "gdb has no Python"

counts() { # run counts of all threads: as long as they are the same, nobody has run
	cat "/proc/$1/task/"*/schedstat 2>/dev/null | awk '{ print $3 }'
	ls "/proc/$1/task"
}

is_steady() {
	local before
	before=$(counts "$1")
	sleep 0.3
	[ "$before" = "$(counts "$1")" ]
}

stacks() { # PID NAME: two files, or failure when a thread has run meanwhile
	local before
	await 300 is_steady "$1" || return 1
	before=$(counts "$1")
	bounded "$tools/wall-stack" "$1" 300 >"$work/$2.raw" || return 1
	[ "$before" = "$(counts "$1")" ] || return 1
	awk '$1 != "counters" { $2 = ""; $3 = ""; print }' "$work/$2.raw" | tr -s ' ' | sort >"$work/$2.ours"
	bounded gdb -nx -p "$1" -batch -x "$here/gdb_stacks.py" 2>"$work/$2.gdb.err" |
		awk '$1 == "weft-stack" { $1 = ""; print substr($0, 2) }' | sort >"$work/$2.gdb"
	[ -s "$work/$2.gdb" ]
}

equal() { # PID NAME
	await 5 stacks "$1" "$2" || {
		echo "no two looks at a time when nobody ran"
		return 1
	}
	diff "$work/$2.gdb" "$work/$2.ours" >"$work/$2.diff" || {
		echo "gdb (<) and weft (>) differ:"
		cat "$work/$2.diff"
		return 1
	}
}

compare() { # NAME TEXT COMMAND...: it says "ready", or is ready when it is steady
	local name=$1 text=$2
	shift 2
	"$@" >"$work/$name.out" 2>&1 &
	local pid=$!
	started+=("$pid")
	if [ "$name" != "${name#ready-}" ]; then
		await 300 grep -q ready "$work/$name.out"
	fi
	check "$text" equal "$pid" "$name"
	note "$name: $(wc -l <"$work/$name.ours") threads, $(awk '{ n += NF - 1 } END { print n + 0 }' "$work/$name.ours") frames," \
		"$(awk '$1 != "counters" { n += $3 } END { print n + 0 }' "$work/$name.raw") stacks with a frame pointer found by scanning"
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

compare ready-plain "a program without frame pointers" "$tools/blocked"
compare ready-fp "a program with frame pointers" "$tools/blocked-fp"
compare ready-o0 "a program that was not optimised" "$tools/blocked-o0"
check "with frame pointers stacks needed a scan" at_least 10 \
	"$(awk '$1 != "counters" { n += $3 } END { print n + 0 }' "$work/ready-fp.raw")"
check "without frame pointers none did" same 0 \
	"$(awk '$1 != "counters" { n += $3 } END { print n + 0 }' "$work/ready-plain.raw")"
compare sleep "sleep" sleep 1000
mkfifo "$work/fifo"
exec 3<>"$work/fifo"
compare cat "cat" cat "$work/fifo"

if [ -x /usr/bin/python3 ]; then
	cat >"$work/blocked.py" <<-'END'
		import os, queue, select, threading, time
		r, w = os.pipe()
		lock = threading.Lock()
		lock.acquire()
		for wait in (
		    lambda: time.sleep(1000),
		    lambda: lock.acquire(),
		    lambda: select.select([r], [], []),
		    lambda: select.epoll().poll(),
		    lambda: queue.Queue().get(),
		    lambda: queue.Queue().get(timeout=1000),
		    lambda: os.read(r, 1),
		):
		    threading.Thread(target=wait, daemon=True).start()
		poll = select.poll()
		poll.register(r)
		print("ready", flush=True)
		poll.poll()
	END
	compare ready-python "python3 in sleep, locks, select, epoll, queues, read and poll" \
		/usr/bin/python3 "$work/blocked.py"
else
	skip "python3" "no /usr/bin/python3"
fi
if have node; then
	compare ready-node "node that has nothing to do" node -e 'console.log("ready"); setInterval(() => {}, 1e6)'
else
	skip "node" "no node"
fi
finish
