#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Code that a program makes at run time has names: from a perf map, from a jitdump, from files
# as node and its V8 write them; never from what an earlier process left. Stacks go through it
# to the outermost frame.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
cd "$work" || exit 1

# A node script that works for a second or two of CPU time, in functions of known names.
cat >"$work/work.js" <<'END'
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
function sortNumbers() {
	const a = [];
	for (let i = 0; i < 5000; i++) a.push((i * 7919) % 10007);
	return a.sort((x, y) => x - y)[5];
}
function areaOf() { let t = 0; for (let i = 0; i < 1500000; i++) t += Math.sqrt(i) * 1.5; return t; }
function workLoop() {
	let sum = 0;
	while (process.cpuUsage().user + process.cpuUsage().system < +process.argv[2] * 1000)
		sum += fibonacci(27) + sortNumbers() + areaOf();
	return sum;
}
console.log(workLoop() > 0);
END

recorded() { # NAME COMMAND...: $work/NAME.samples, a line for each: its frames
	local name=$1
	shift
	bounded "$weft" record -o "$work/$name.jfr" -- "$@" </dev/null >"$work/$name.out" \
		2>"$work/$name.err" || { show "$work/$name.err"; return 1; }
	"$tools/list-samples" "$work/$name.jfr" | cut -f 8 >"$work/$name.samples"
}

# Perf maps stay in /tmp for ever: those of our processes go.
forget_maps() { # NAME
	local pid
	for pid in $(bounded "$weft" report --json --by process "$work/$1.jfr" |
		jq -r '.. | strings' | sed -n 's/.*\[\([0-9]*\)\]$/\1/p' | sort -u); do
		rm -f "/tmp/perf-$pid.map"
	done
}

share_of() { # NAME REGEX: per cent of the samples with such a frame
	awk -v regex="$2" '{ all++ } $0 ~ regex { n++ } END { print all ? 100 * n / all : 0 }' \
		"$work/$1.samples"
}

# A jitdump tells the time. A map does not: what the collector finds late, while the machine
# is busy with others, was there since its look before.
each_has_its_share() { # NAME PERCENT
	at_least 80 "$(wc -l <"$work/$1.samples")" &&
		at_least "$2" "$(share_of "$1" '^made_first;')" &&
		at_least "$2" "$(share_of "$1" '^made_second;')"
}

ends_at_the_start() { # NAME: at least 98 % of the stacks
	awk -F';' '{ print $NF }' "$work/$1.samples" | sort | uniq -c | sort -rn | sed 5q
	at_least 98 "$(share_of "$1" ';(_start|(__)?clone3?|start_thread)$')"
}

nobody_is() { # NAME REGEX
	at_least 80 "$(wc -l <"$work/$1.samples")" && same 0 "$(share_of "$1" "$2")"
}

check "a perf map is recorded" recorded map "$tools/jit-maker" map 1000
check "two functions at one address have their shares" each_has_its_share map 10
check "through made code to the start" ends_at_the_start map
forget_maps map

check "a perf map is recorded by who sees nothing until the end" \
	recorded blind "$tools/jit-maker" map 600 blind
check "code that was made and run unseen has a name" \
	at_least 90 "$(share_of blind '^made_(first|second)(;|$)')"
forget_maps blind

check "a jitdump is recorded" recorded dump "$tools/jit-maker" dump 1000
check "two functions at one address have their halves, told at the end" each_has_its_share dump 35
check "through it to the start" ends_at_the_start dump
lines_of() {
	bounded "$weft" report --by line --top 0 "$work/dump.jfr" >"$work/lines" || return 1
	grep -q 'made_first.*made.lang:11' "$work/lines" &&
		grep -q 'made_second.*made.lang:22' "$work/lines" || { cat "$work/lines"; return 1; }
}
check "and has lines" lines_of

# The program that is recorded runs under the pid of the shell that leaves this behind.
cat >"$work/after.sh" <<'END'
printf '200000000 100 of_the_dead\n' >"/tmp/perf-$$.map"
touch -d 2001-01-01 "/tmp/perf-$$.map"
exec "$@"
END
check "with an older map in /tmp" recorded dead sh "$work/after.sh" "$tools/jit-maker" none 600
check "what an earlier process left lends no names" nobody_is dead of_the_dead
forget_maps dead
check "and is appended to" recorded both sh "$work/after.sh" "$tools/jit-maker" map 1000
check "then only what is new does" nobody_is both of_the_dead
check "which does" each_has_its_share both 10
forget_maps both
# The same by a stranger: not older, but not ours.
cat >"$work/stranger.sh" <<'END'
printf '200000000 100 of_a_stranger\n' >"/tmp/perf-$$.map"
chown 12345 "/tmp/perf-$$.map"
exec "$@"
END
if [ "$(id -u)" = 0 ]; then
	check "with a stranger's map" recorded stranger sh "$work/stranger.sh" "$tools/jit-maker" none 600
	check "what a stranger owns lends no names" nobody_is stranger of_a_stranger
	forget_maps stranger
else
	skip "what a stranger owns lends no names" "only root can give a file away"
fi

# V8's builtins have no rules and some keep no frame: where it compiles lazily, or gives up made code,
# a stack may end in one of them, named.
ends_in_the_open() { # NAME
	at_least 90 "$(share_of "$1" ';(_start|(__)?clone3?|start_thread)$')" || return 1
	at_least 98 "$(share_of "$1" ';(_start|(__)?clone3?|start_thread|Builtins_[A-Za-z0-9_]*)$')"
}

node_names() { # NAME
	at_least 100 "$(wc -l <"$work/$1.samples")" &&
		at_least 10 "$(share_of "$1" '[*^~]fibonacci ')" &&
		at_least 10 "$(share_of "$1" '[*^~]areaOf ')" &&
		at_least 80 "$(share_of "$1" '[*^~]workLoop |InterpreterEntryTrampoline')"
}
# Code is made at once, by the thread that wants it: elsewhere its functions would have no names
# while others that make it wait for a CPU. What is inlined has no name in these files.
at_once=(--no-concurrent-recompilation --always-sparkplug --no-turbo-inlining)
if have node && node --v8-options | grep -q perf-basic-prof; then
	node "${at_once[@]}" -e 0 2>/dev/null || at_once=()
	check "node --perf-basic-prof is recorded" recorded basic node "${at_once[@]}" --perf-basic-prof \
		work.js 1600
	check "its JavaScript functions have names" node_names basic
	check "its stacks reach the outermost frame" ends_in_the_open basic
	forget_maps basic
	check "node --perf-prof is recorded" recorded prof node "${at_once[@]}" --perf-prof work.js 1600
	check "its JavaScript functions have names, too" node_names prof
	check "its stacks reach the outermost frame, too" ends_in_the_open prof
else
	skip "node's JavaScript functions have names" "node is not installed"
fi

# A JVM that writes its map when it ends; its stacks need the frame pointer.
cat >"$work/Work.java" <<'END'
public class Work {
	static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
	static double areaOf(int n) {
		double t = 0;
		for (int i = 0; i < n; i++) t += Math.sqrt(i) * 1.5;
		return t;
	}
	public static void main(String[] a) {
		double sum = 0;
		for (int i = 0; i < 700; i++) sum += fibonacci(27) + areaOf(400000);
		System.out.println(sum > 0);
	}
}
END
jvm_names() {
	at_least 80 "$(wc -l <"$work/jvm.samples")" &&
		at_least 20 "$(share_of jvm 'int Work.fibonacci')" &&
		at_least 10 "$(share_of jvm 'double Work.areaOf')"
}
# With no unwind tables at first: stacks go through its code to libjvm.so all the same.
if home=$(jdk 17) && export WEFT_CACHE=$work/cold && "$home/bin/javac" -d "$work" Work.java 2>/dev/null; then
	check "a JVM with -XX:+DumpPerfMapAtExit is recorded" recorded jvm "$home/bin/java" \
		-Xbatch -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Work.areaOf \
		-XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit \
		-cp "$work" Work
	check "its compiled methods have names, told when it ended" jvm_names
	check "its stacks reach the outermost frame" ends_at_the_start jvm
	forget_maps jvm
else
	skip "a JVM's compiled methods have names" "JDK 17 is not installed"
fi
finish
