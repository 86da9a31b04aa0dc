#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One program in many worlds: under limits, filters, other roots, with nothing left to open. In
# each it does, says and returns what it does unrecorded; what was sampled adds up; and where
# nothing could be, that is the expected reason. --long: all of them.
. "$(dirname "$0")/../lib.sh"
patience=60
have jq || skip_all "jq is not installed"
dweller=$BUILD/tests/acceptance/anywhere/dweller
library=$BUILD/src/runtime/libweft.so
all=${1-}
place=$work # where recordings go
meet=$work/meet
mkdir -m 700 "$meet"
export dweller WEFT_DIR=$meet
filters=$(one_filter_more)
env=$(command -v env)
export filters env

# Stdout, stderr and status are kept.
run() { # NAME WAY COMMAND...
	local name=$1 way=$2
	shift 2
	bounded "$@" >"$work/$name.$way.out" 2>"$work/$name.$way.err" </dev/null
	echo $? >"$work/$name.$way.status"
}

as_unrecorded() { # NAME WAY
	same "$(cat "$work/$1.plain.status")" "$(cat "$work/$1.$2.status")" &&
		same "$(cat "$work/$1.plain.out")" "$(cat "$work/$1.$2.out")" &&
		same "$(cat "$work/$1.plain.err")" "$(grep -v '^weft' "$work/$1.$2.err")" ||
		{ cat "$work/$1.$2.err"; return 1; }
}

# adds_up NAME WAY SAMPLES: `some`: periods of CPU time, twenty or more; `few`: one; `any`: or
# none at all, and then perhaps no file.
adds_up() {
	local file=$place/$1.$2.jfr
	if [ "$3" = any ]; then
		"$weft" report "$file" >"$work/report" 2>"$work/no-report" ||
			{ grep -q 'no samples' "$work/no-report" || [ ! -e "$file" ]; return; }
	fi
	# Nobody waits for the file behind an exec.
	await 100 "$weft" report "$file"
	"$weft" report --json --top 0 "$file" >"$work/report" &&
		same true "$(jq -r '(.counters.attempted // 0) ==
			(.counters.delivered // 0) + ([.lost[]] | add // 0)' "$work/report")" || return
	case $3 in
	some) at_least 20 "$(jq -r '(.counters.delivered // 0) + (.counters.overruns // 0)' "$work/report")" ;;
	few) at_least 1 "$(jq -r '.counters.delivered // 0' "$work/report")" ;;
	esac || { jq -c '.counters, .lost' "$work/report"; cat "$work/$1.$2.err"; return 1; }
}

# A process gives up after a second without an answer, which on a loaded machine may be late.
itself() { # NAME SAMPLES SHELL
	local tries
	for tries in 1 2 3; do
		run "$1" itself ${as-} env "LD_PRELOAD=$library" "WEFT_RECORD=$place/$1.itself.jfr" \
			bash -c "$3"
		! adds_up "$1" itself "$2" >/dev/null 2>&1 || break
	done
}

# world NAME SAMPLES TEXT SHELL: SHELL is what a person would type. $as: by whom.
world() {
	local name=$1 samples=$2 text=$3 entry=$4
	run "$name" plain ${as-} bash -c "$entry" &
	[ -z "${as-}" ] || wait # their pending signals are counted together
	itself "$name" "${by_itself-$samples}" "$entry" &
	[ -z "${as-}" ] || wait
	run "$name" weft ${as-} "$weft" record -F 500 -o "$place/$name.weft.jfr" -- bash -c "$entry"
	wait
	check "$text" as_unrecorded "$name" weft &&
		check "$text: samples ($samples), the books balance" adds_up "$name" weft "$samples"
	check "$text, by WEFT_RECORD" as_unrecorded "$name" itself &&
		check "$text, by WEFT_RECORD: samples (${by_itself-$samples}), the books balance" \
			adds_up "$name" itself "${by_itself-$samples}"
}

# Those that differ little from others.
more() {
	[ -z "$all" ] || world "$@"
}

without_timers() { # NAME: weft says so
	grep -q 'had no CPU timer' "$work/$1.weft.err" || { cat "$work/$1.weft.err"; return 1; }
}

can() {
	"$@" >"$work/can" 2>&1
}

more plain some "no limits" '$dweller 300 plain; exit $?'
world mlocked some "mlockall" '$dweller 300 mlocked'
world room_left some "mlockall, then another user with an RLIMIT_MEMLOCK of 8 MiB" \
	'ulimit -s 512; ulimit -l 8192; exec $dweller 300 locked_room 64321'
world space some "RLIMIT_AS of 512 MiB" 'ulimit -v 524288; exec $dweller 300 plain'
more large some "RLIMIT_AS of 4 GiB" 'ulimit -v 4194304; exec $dweller 300 plain'
world size some "RLIMIT_FSIZE of 0" '(ulimit -f 0; exec $dweller 300 plain) | cat'
more ten some "ten descriptors" 'ulimit -n 10; exec $dweller 300 plain'
# The handshake takes three at a time.
by_itself=any more four any "four descriptors: no handshake fits" 'ulimit -n 4; exec $dweller 300 plain'
world nothing_left some "no descriptor left" '$dweller 300 descriptors'
world closed some "all descriptors closed" '$dweller 300 closed'
more daemon some "a daemon" '$dweller 300 daemon | cat'
more undumpable some "not dumpable" '$dweller 300 undumpable'

for call in process_vm_readv memfd_create prctl socket openat rt_tgsigqueueinfo madvise; do
	more "refused_$call" some "$call refused from now on" "\$dweller 300 refused $call"
done
more refused_timers few "timer_create refused from now on" '$dweller 300 refused timer_create timer_settime'
for call in process_vm_readv memfd_create prctl rt_tgsigqueueinfo madvise; do
	more "before_$call" some "begun with $call refused" "\$dweller 1 before $call -- $env WEFT_FILTERS=$filters \$dweller 300 plain"
done
by_itself=any world before_timers any "begun with timer_create refused" \
	'$dweller 1 before timer_create -- $env WEFT_FILTERS=$filters $dweller 300 plain'
check "... and weft says so" without_timers before_timers
by_itself=any more before_socket any "begun with socket refused" \
	'$dweller 1 before socket -- $env WEFT_FILTERS=$filters $dweller 300 plain'
world refused_much some "all that weft could ask for refused from now on" \
	'$dweller 300 refused process_vm_readv memfd_create prctl socket openat rt_tgsigqueueinfo madvise'
world strict some "a filter that kills for what it does not know" '$dweller 300 strict'
export WEFT_CACHE=$work/cold
more strict_cold some "the same, with no unwind tables yet" '$dweller 300 strict'
unset WEFT_CACHE

if can unshare -m true; then
	world readonly some "nothing can be written" \
		'exec unshare -m sh -c "mount -o remount,bind,ro / && exec \$dweller 300 plain"'
else
	skip "nothing can be written" "no mount namespaces here"
fi
if can unshare --pid --fork --mount-proc true; then
	world one some "PID 1 of a namespace" 'exec unshare --pid --fork --mount-proc $dweller 300 plain'
else
	skip "PID 1 of a namespace" "no PID namespaces here"
fi
if can chroot / true; then
	mkdir "$work/jail"
	export jail=$work/jail
	world chrooted some "in another root from now on" '$dweller 300 chroot $jail'
else
	skip "in another root" "may not chroot"
fi

# A user who has nothing else pending: a place for the program's own signals is left.
as="setpriv --reuid 64321 --clear-groups"
can $as "$dweller" 1 plain
if [ "$(cat "$work/can")" = "done 42" ]; then
	chmod 711 "$work"
	place=$work/theirs
	mkdir -m 777 "$place"
	export WEFT_DIR=$place/meet
	$as mkdir -m 700 "$WEFT_DIR"
	world pending some "RLIMIT_SIGPENDING of 24" 'ulimit -i 24; exec $dweller 40 queue'
	check "... and weft says that threads had no timer" without_timers pending
	world room some "mlockall under an RLIMIT_MEMLOCK of 8 MiB" \
		'ulimit -s 512; ulimit -l 8192; exec $dweller 300 locked_room'
	more little_room some "mlockall that the limit forbids" \
		'ulimit -l 512; exec $dweller 300 locked_room'
	more own_undumpable some "not dumpable, and no root" '$dweller 300 undumpable'
else
	skip "RLIMIT_SIGPENDING" "no other user to be"
fi
finish
