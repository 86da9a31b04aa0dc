#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is wrong is said clearly: the thing is named, the status is right (1 failed, 2 usage,
# 126 cannot be run, 127 does not exist), nothing is written to standard output.
. "$(dirname "$0")/lib.sh"

# refuse STATUS PATTERN ARGUMENTS...: weft must end so, with an error that matches.
shows= # not empty: what is whole is shown all the same
refuse() {
	local status=$1 pattern=$2 rc
	shift 2
	(cd "$work" && bounded "$weft" "$@") </dev/null >"$work/out" 2>"$work/err"
	rc=$?
	cat "$work/err"
	same "$status" "$rc" && grep -qE -- "$pattern" "$work/err" &&
		{ [ -n "$shows" ] || same "" "$(cat "$work/out")"; } &&
		! grep -qE 'Assertion|ERROR: AddressSanitizer|runtime error' "$work/err"
}

bad() { # TEXT STATUS PATTERN ARGUMENTS...
	local text=$1
	shift
	check "$text" refuse "$@"
}

cd "$work" || exit 1
echo "not a recording" >text.jfr
: >empty.jfr
printf '#!/nowhere/interpreter\n' >script
echo data >data
chmod +x script
mkdir dir
"$weft" record -o good.jfr -- "$tools/burn" 0.3 >/dev/null 2>&1
head -c 400 good.jfr >cut.jfr

bad "no verb" 2 'weft'
bad "unknown verb" 2 'frobnicate' frobnicate
bad "record: no command" 2 'record' record
bad "record: unknown option" 2 'frobnicate' record --frobnicate -- true
bad "record: unknown engine" 2 'foo' record -e foo -- true
bad "record: rate that is no number" 2 'often' record -F often -- true
bad "record: rate of zero" 2 '0' record -F 0 -- true
bad "record: interval without a unit that exists" 2 '3parsecs' record -i 3parsecs -- true
bad "record: rate and interval" 2 '(-F|-i)' record -F 100 -i 1ms -- true
bad "record: duration that is no time" 2 'soon' record --duration soon -- true
bad "record: option without its value" 2 '-o' record -o
bad "record: command that does not exist" 127 'no-such-command.*(not found|No such file)' record -- no-such-command
bad "record: path that does not exist" 127 '\./no/such' record -- ./no/such
bad "record: command that may not be run" 126 'data.*[Pp]ermission' record -- ./data
bad "record: directory as command" 126 'dir' record -- ./dir
bad "record: interpreter that does not exist" 127 'interpreter|script' record -- ./script
bad "record: output in a directory that does not exist" 1 'nowhere/x\.jfr.*No such file' \
	record -o nowhere/x.jfr -- true
bad "record: output is a directory" 1 'dir.*[Dd]irectory' record -o dir -- true
bad "report: file that does not exist" 1 'gone\.jfr.*No such file' report gone.jfr
bad "report: not a recording" 1 'text\.jfr.*not a JFR' report text.jfr
bad "report: empty file" 1 'empty\.jfr' report empty.jfr
shows=yes bad "report: truncated file" 1 'cut\.jfr.*(truncated|damaged|cut short)' report cut.jfr
bad "report: directory" 1 'dir.*[Dd]irectory' report dir
bad "report: unknown grouping" 2 'weather' report --by weather good.jfr
bad "report: unknown option" 2 'frobnicate' report --frobnicate good.jfr
bad "report: number of rows that is none" 2 'many' report --top many good.jfr
bad "report: --where without a value" 2 'where|span' report --where span good.jfr
bad "report: two files" 2 'text\.jfr' report good.jfr text.jfr
bad "convert: no format" 2 '--to' convert good.jfr
bad "convert: unknown format" 2 'papyrus' convert good.jfr --to papyrus
bad "convert: file that does not exist" 1 'gone\.jfr.*No such file' convert gone.jfr --to collapsed
bad "convert: output that cannot be written" 1 'nowhere' convert good.jfr --to pprof -o nowhere/x
bad "doctor: unknown option" 2 'frobnicate' doctor --frobnicate

# ---- what cannot be recorded is looked at first, and refused by name

built() { # NAME FLAGS...
	local name=$1
	shift
	echo 'int main(void) { return 0; }' >"$name.c" && cc "$@" -o "$name" "$name.c" 2>cc.err
}

if have cc && built static -static; then
	bad "record: static program" 1 'static: cannot be recorded: statically linked' \
		record -o none.jfr -- ./static
else
	skip "record: static program" "no compiler, or no static libc"
fi
if have cc && built asan -fsanitize=address; then
	bad "record: AddressSanitizer's program" 1 'asan.*(ASan|AddressSanitizer|sanitizer)' record -- ./asan
else
	skip "record: AddressSanitizer's program" "no compiler with it"
fi
if have cc && built narrow -m32; then
	bad "record: 32-bit program" 1 'narrow.*32' record -- ./narrow
else
	skip "record: 32-bit program" "no compiler for it"
fi
# ---- what this system does not allow: the engine has no timers to work with

no_timers() {
	local rc
	(ulimit -i 0 && bounded "$weft" record -o untimed.jfr -- "$tools/burn" 0.1 2) >out 2>err
	rc=$?
	cat err
	same 0 "$rc" && same burnt "$(cat out)" && grep -q '2 threads had no CPU timer.*ulimit -i' err
}

check "record: the limit allows no timer: runs, says so and what would help" no_timers
bad "record: an engine that is not there" 2 "alloc.*known: cpu, wall" record -e alloc -- true

if [ "$(id -u)" = 0 ] && cp "$(type -P true)" mine && chown 1:1 mine && chmod 4755 mine; then
	bad "record: setuid program" 1 'mine.*set-?user-?id|mine.*setuid' record -- ./mine
else
	skip "record: setuid program" "needs root to make one"
fi
if [ "$(id -u)" = 0 ] && have setpriv; then
	chmod 711 "$work" && chmod 600 good.jfr
	no_permission() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$weft" report "$work/good.jfr" \
			>out 2>err
		same 1 $? && grep -q 'good\.jfr.*Permission denied' err
	}
	no_permission_to_write() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$weft" record \
			-o "$work/new.jfr" -- true >out 2>err
		same 1 $? && grep -q 'new\.jfr.*Permission denied' err
	}
	if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$weft"; then
		check "record: no permission to write" no_permission_to_write
		check "report: no permission to read" no_permission
	else
		skip "report: no permission to read" "the build tree is not open to other users"
	fi
else
	skip "report: no permission to read" "needs root and setpriv"
fi
check "after all that, a good file still reads" bounded "$weft" report good.jfr
finish
