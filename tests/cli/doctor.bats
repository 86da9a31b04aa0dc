#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft doctor against what other tools say, and against limits that the tests set.

load common

# What it says without anything special, asked once: it measures, which takes a moment.
setup_file() {
	as_plain
	"$WEFT" doctor --json >"$BATS_FILE_TMPDIR/json" 2>/dev/null </dev/null || true
}
plain() { cp "$BATS_FILE_TMPDIR/json" json; }

json() {
	"$WEFT" doctor --json >json 2>stderr </dev/null || true
	[ "$(jq -r type json)" = object ]
}

value() { jq -r ".checks.$1.$2" json; }

@test "says the same for people and for programs" {
	weft doctor
	people=$status
	status=0
	"$WEFT" doctor --json >json || status=$?
	[ "$status" = "$people" ]
	[ "$(jq -r .ok json)" = "$([ "$status" = 0 ] && echo true || echo false)" ]
	[ "$("$WEFT" --version)" = "weft $(jq -r .version json)" ]
	jq -r '.checks[].title' json | while read -r title; do
		grep -qF " $title " stdout || { echo "not shown: $title"; exit 1; }
	done
}

@test "every check says what it found, in a known state" {
	plain
	[ "$(jq '[.checks[] | select(.value == "")] | length' json)" = 0 ]
	[ "$(jq '[.checks[].state] - ["ok", "info", "limited", "missing"] | length' json)" = 0 ]
}

@test "kernel is what uname says" {
	plain
	expect_in "$(value kernel value)" "$(uname -r)"
	expect_in "$(value kernel value)" "$(uname -m)"
}

@test "clock source and perf_event_paranoid are the kernel's" {
	[ -r /sys/devices/system/clocksource/clocksource0/current_clocksource ] || skip "no /sys"
	plain
	[ "$(value clocksource value)" = \
		"$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)" ]
	[ "$(value perf_paranoid value)" = "$(cat /proc/sys/kernel/perf_event_paranoid)" ]
}

@test "CPU timers were measured: no more than asked, no less than the slowest HZ" {
	plain
	[ "$(value cpu_timer state)" != missing ]
	rate=$(value cpu_timer number)
	[ "$rate" -ge 50 ]
	[ "$rate" -le 1100 ]
}

@test "limits are the ones in force" {
	ulimit -S -n 123
	ulimit -S -i 300
	ulimit -S -f 2048
	ulimit -S -c 0
	ulimit -S -v 4194304
	json
	[ "$(value open_files number)" = 123 ]
	[ "$(value open_files state)" = limited ]
	[ "$(value sigpending number)" = 300 ]
	expect_in "$(value sigpending choice)" "half"
	[ "$(value file_size number)" = 2097152 ]
	[ "$(value file_size state)" = limited ]
	[ "$(value core_size number)" = 0 ]
	[ "$(value address_space number)" = 4294967296 ]
	[ "$(value address_space state)" = limited ]
}

@test "without signals to queue there are no timers: recording does not work" {
	ulimit -S -i 0
	weft doctor
	expect_status 1
	expect_in "$out" "Recording does not work here:"
	expect_in "$out" "queued signals"
	json
	[ "$(value cpu_timer state)" = missing ]
	[ "$(value sigpending state)" = missing ]
	expect_in "$(value priming value)" "signal: Resource temporarily unavailable" # nobody waits for it
	[ "$(jq .ok json)" = false ]
}

@test "a library that is not there is named" {
	WEFT_LIB=/nowhere/libweft.so weft doctor
	expect_status 1
	expect_in "$out" "/nowhere/libweft.so: No such file or directory"
}

@test "a library that is none of ours is found out" {
	libc=$(ldd "$WEFT" | sed -n 's/.*libc\.[^ ]* => \([^ ]*\).*/\1/p')
	[ -n "$libc" ]
	export WEFT_LIB=$libc
	weft doctor
	expect_status 1
	json
	[ "$(value library state)" = ok ]
	[ "$(value hooks state)" = missing ]
}

@test "hooks are the groups that WEFT_HOOKS leaves on" {
	plain
	[ "$(value hooks state)" = ok ]
	expect_in "$(value hooks value)" "threads signals exec modules (start hook called: 1)"
	WEFT_HOOKS=-signals json
	expect_in "$(value hooks value)" "threads exec modules ("
	WEFT_HOOKS=-threads json
	[ "$(value hooks state)" = limited ]
	expect_in "$(value hooks value)" "signals exec modules (start hook called: 0)"
}

@test "waits are the groups that WEFT_WAITS names, without it both" {
	plain
	[ "$(value waits state)" = ok ]
	[ "$(value waits value)" = "locks io" ]
	WEFT_WAITS=io json
	[ "$(value waits value)" = io ]
	mkdir alone
	cp "$WEFT_BUILD/src/runtime/libweft.so" alone/
	WEFT_LIB=$PWD/alone/libweft.so json
	[ "$(value waits state)" = missing ]
	[ "$(value library state)" = ok ]
}

@test "formats: those that are on, and OpenTelemetry's when it is switched on" {
	unset WEFT_PUBLISH
	json
	expect_in "$(value formats value)" "v1 labels (otel when on: process context by weft as "
	expect_in "$(value formats value)" "OTEL_CTX"
	expect_in "$(value formats value)" "thread context by weft)"
	[ "$(value formats state)" = ok ]
}

@test "priming: a thread that no hook saw takes a slot when it is told to" {
	plain
	[ "$(value priming state)" = ok ]
	[ "$(value priming number)" = 23 ]
	expect_in "$(value priming value)" "start hook: works; thread watcher: works; signal: SIGURG"
	WEFT_PRIME_SIGNAL=45 json
	[ "$(value priming number)" = 45 ]
	WEFT_PRIME_SIGNAL=none json
	[ "$(value priming state)" = limited ]
	expect_in "$(value priming value)" "signal: none"
	WEFT_HOOKS=-threads json
	[ "$(value priming state)" = limited ]
	expect_in "$(value priming value)" "start hook: off"
}

@test "the cache directory follows WEFT_CACHE, XDG_CACHE_HOME, HOME" {
	HOME=$PWD XDG_CACHE_HOME= json
	[ "$(value cache value)" = "$PWD/.cache/weft (can be made)" ]
	HOME=$PWD XDG_CACHE_HOME=$PWD/x json
	[ "$(value cache value)" = "$PWD/x/weft (can be made)" ]
	mkdir c
	WEFT_CACHE=$PWD/c json
	[ "$(value cache value)" = "$PWD/c (0 tables, 0 KiB)" ]
	touch file
	WEFT_CACHE=$PWD/file/below json
	[ "$(value cache state)" = limited ]
}

@test "room for unwind tables is told, and what limits it" {
	plain
	[ "$(value tables state)" = ok ]
	ulimit -f 8192
	json
	[ "$(value tables state)" = limited ]
	expect_in "$(value tables value)" "RLIMIT_FSIZE"
}

@test "the rendezvous follows WEFT_DIR and XDG_RUNTIME_DIR, and must be one's own" {
	mkdir -m 700 run
	XDG_RUNTIME_DIR=$PWD/run json
	[ "$(value rendezvous state)" = ok ]
	if [ "$(id -u)" = 0 ]; then # what it starts may be another user's, who could not pass there
		[[ $(value rendezvous value) == /tmp/weft-* ]]
	else
		[ "$(value rendezvous value)" = "$PWD/run/weft" ]
	fi
	WEFT_DIR=$PWD/mine json
	[ "$(value rendezvous value)" = "$PWD/mine" ]
	XDG_RUNTIME_DIR= json
	[[ $(value rendezvous value) == /tmp/weft-* ]]
	expect_not [ -e "$(value rendezvous value)" ]
	touch file
	WEFT_DIR=$PWD/file weft doctor
	expect_status 1
	expect_in "$out" "$PWD/file"
}

@test "it leaves nothing behind" {
	mkdir home tmp run
	before=$(find . | sort)
	HOME=$PWD/home XDG_CACHE_HOME= TMPDIR=$PWD/tmp XDG_RUNTIME_DIR=$PWD/run \
		"$WEFT" doctor >/dev/null 2>&1 || true
	[ "$(find . | sort)" = "$before" ]
}

@test "--counters lists every counter of the layout, and --json the same" {
	weft doctor --counters
	expect_status 0
	sed -n 's/^\tX([0-9]*, *[A-Z_]*, *"\([a-z_]*\)".*/\1/p' \
		"$WEFT_SOURCE/include/weft/abi/counters.h" >names
	[ "$(wc -l <names)" -ge 36 ]
	while read -r name; do grep -q "^$name " stdout; done <names
	plain
	diff names <(jq -r '.counters[].name' json)
}

@test "where /proc is of an outer PID namespace, what is told is still of weft" {
	unshare -fp true 2>/dev/null || skip "no PID namespace here"
	json
	[ "$(value container value)" = "no sign of one" ] || skip "this is a container already"
	unshare -fp "$WEFT" doctor --json >json 2>stderr </dev/null || true
	expect_in "$(value container value)" "a PID namespace below the first"
}
