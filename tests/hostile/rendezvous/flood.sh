#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Another user floods the rendezvous of root's recording, by all addresses that there are, while 42
# processes are begun: all of them are recorded, and their samples. So are programs that have become
# other users'.
. "$(dirname "$0")/../../acceptance/lib.sh"
knock=$BUILD/tests/hostile/rendezvous/knock
trees=$tools/trees
stranger="setpriv --reuid=65534 --regid=65534 --clear-groups"
other="setpriv --reuid=64321 --regid=64321 --clear-groups"
[ "$(id -u)" = 0 ] || skip_all "needs root, to be another user, too"
have setpriv || skip_all "no setpriv"
$stranger "$knock" 2>/dev/null || skip_all "another user may not run what was built"

export TREES_MS=100
chmod 711 "$work"

# begin_recording COMMAND...: it runs when there is $here/go; $socket is the rendezvous. At its end
# there is $here/status.
begin_recording() {
	here=$(mktemp -d "$work/recording.XXXXXX")
	export TREES_LOG=$here/log
	: >"$TREES_LOG"
	chmod 666 "$TREES_LOG"
	chmod 711 "$here"
	{
		"$weft" record -F 500 -o "$here/flood.jfr" -- sh -c '
			echo "$WEFT_SOCKET" >"$0/socket.new" && mv "$0/socket.new" "$0/socket"
			while [ -d "$0" ] && [ ! -e "$0/go" ]; do sleep 0.1; done
			"$@"' "$here" "$@" >"$here/out" 2>"$here/err"
		echo $? >"$here/status.new"
		mv "$here/status.new" "$here/status"
	} &
	started+=($!)
	await 600 test -e "$here/socket" && socket=$(cat "$here/socket")
}

# flood PATH...: three processes, until end_flood.
flood() {
	floods=()
	for _ in 1 2 3; do
		$stranger "$knock" "$@" >"$here/knocked.${#floods[@]}" &
		floods+=($!)
	done
	started+=("${floods[@]}")
	sleep 1
}

end_flood() {
	kill "${floods[@]}"
	wait "${floods[@]}"
	cat "$here"/knocked.*
}

# How many connections were let in at the path of this number.
let_in() {
	awk -v path="$1" '$1 == path { n += $2 } END { print n + 0 }' "$here"/knocked.*
}

lost() {
	"$weft" report --counters "$here/flood.jfr" | awk '$2 ~ /^lost_/ { n += $1 } END { print n + 0 }'
}

cat >"$work/many" <<-'END'
	i=0
	while [ $i -lt "$1" ]; do
		"$2" leaf 1 &
		i=$((i + 1))
		[ $((i % 6)) -ne 0 ] || wait
	done
	wait
END

record_flooded() { # COUNT PATHS COMMAND...
	local count=$1 paths=$2
	shift 2
	begin_recording "$@" || return 1
	# shellcheck disable=SC2046,SC2086
	flood $(eval echo $paths)
	: >"$here/go"
	local ended=0
	await 1500 test -e "$here/status" || ended=$?
	end_flood
	cat "$here/err"
	[ "$ended" = 0 ] || echo "it did not end before the flood did"
	await 600 test -e "$here/status" && [ "$ended" = 0 ] && same 0 "$(cat "$here/status")" &&
		same "$count" "$(wc -l <"$TREES_LOG")"
}

# Each process that told of itself has samples in its own name.
all_recorded() {
	"$tools/list-samples" "$here/flood.jfr" | grep burn_in_child | cut -f2 |
		sed 's/.*\[\([0-9]*\)\]$/\1/' | sort -u >"$work/seen"
	cut -f1 "$TREES_LOG" | sort -u >"$work/told"
	cmp "$work/told" "$work/seen" || diff "$work/told" "$work/seen"
	cmp -s "$work/told" "$work/seen"
}

nothing_lost() {
	local taken lost
	taken=$(samples_in "$here/flood.jfr")
	lost=$(lost)
	echo "samples: $taken, lost: $lost"
	[ "$taken" -gt 300 ] && [ $((lost * 100)) -le "$taken" ]
}

modes() {
	begin_recording true || return 1
	same "600 666 711" "$(stat -c %a "$socket" "$socket+" "${socket%/*}" | paste -sd' ')" || return 1
	! grep -F "$socket" /proc/net/unix || return 1
	: >"$here/go"
	await 600 test -e "$here/status"
}

others_wait() { # a program begun by another user, and a worker that gives up its privileges
	cat >"$work/others" <<-'END'
		i=0
		while [ $i -lt 8 ]; do
			$2 "$1" leaf 1 &
			"$1" worker 64321 &
			i=$((i + 1))
			[ $((i % 4)) -ne 0 ] || wait
		done
		wait
	END
	record_flooded 24 "$1" sh "$work/others" "$trees" "$other"
}

check "the sockets' modes; nothing shows their names to other users" modes
if check "42 processes while another user floods all addresses" \
	record_flooded 42 '$socket $socket+' sh "$work/many" 42 "$trees"; then
	check "... nobody else is let in at the first" same 0 "$(let_in 1)"
	check "... all are recorded" all_recorded
	check "... and their samples" nothing_lost
fi
if TREES_LOG=/dev/null TREES_MS=1 $other "$trees" leaf 5 2>/dev/null; then
	check "programs of other users, while one floods who knows no name" \
		others_wait '${socket%-*}.sock ${socket%-*}-0.sock+ ${socket%/*}'
	check "... all are recorded" all_recorded
	check "programs of other users end as ever while one floods who knows all" \
		others_wait '$socket $socket+'
else
	skip "programs of other users" "no other user to be"
fi
finish
