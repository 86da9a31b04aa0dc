#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft view on recordings whose events are known (tests/report/recordings.c); a JVM's recording
# is counted by the JDK's own tool.

load common

setup_file() { export JAVA17=/usr/lib/jvm/java-17-openjdk-amd64/bin; }

recording() { "$MAKE_RECORDING" "$1" "${2:-$1.jfr}"; }

# rows FIELD...: these members of each row, a line each
rows() {
	jq -r --args '.rows[] | [.[$ARGS.positional[]] | tostring] | join(" ")' "$@" <stdout
}

expect_rows() {
	rows "$@" >found
	diff -u - found
}

@test "without a name it lists the views, each of which works" {
	recording queue
	weft view
	expect_status 0
	[ "$(awk '{ print $1 }' stdout | xargs)" = \
		"hot-methods latencies spans labels threads locks TYPE" ]
	for view in hot-methods latencies spans labels threads locks; do
		weft view $view queue.jfr
		expect_status 0
		[ -z "$err" ]
		expect_in "$out" "queue.jfr: $view, 250.000 ms"
	done
}

@test "the views are those of the documentation" {
	recording queue
	sed -n 's/^    \$ weft \(view .*\)/\1/p' "$WEFT_SOURCE/docs/view.md" >lines
	[ "$(wc -l <lines)" -ge 6 ]
	while read -ra line; do
		weft "${line[@]}"
		expect_status 0
		awk -v line="    \$ weft ${line[*]}" '$0 == line { on = 1; next }
			on && (/^    \$/ || /^[^ ]/) { exit } on' "$WEFT_SOURCE/docs/view.md" |
			sed 's/^    //' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >page
		diff -u page stdout
	done <lines
}

@test "latencies are those of hand" {
	recording queue
	weft view latencies queue.jfr --json
	expect_status 0
	expect_rows event count total_ns p50_ns p90_ns p99_ns max_ns <<-END
	weft.LockWait 5 47000000 4000000 30000000 30000000 30000000
	weft.IOWait 2 30000000 10000000 20000000 20000000 20000000
	END
	[ "$(jq -c '[.view, .file, .duration_ns, .events]' stdout)" = \
		'["latencies","queue.jfr",250000000,7]' ]
}

@test "spans have what is inside them, once in each row" {
	recording queue
	weft view spans queue.jfr --json
	expect_rows type span count total_ns samples cpu_ns waits waited_ns <<-END
	weft.Span route=/checkout 2 200000000 2 10000000 4 64000000
	weft.Span route=/search 1 100000000 1 5000000 2 11000000
	app.Step step=sort 1 40000000 1 5000000 2 14000000
	END
	weft view spans queue.jfr --json --by type
	expect_rows type span count samples waits waited_ns <<-END
	weft.Span null 3 3 6 75000000
	app.Step null 1 1 2 14000000
	END
	weft view spans queue.jfr --json --by tag:route
	expect_rows type span count samples waits <<-END
	weft.Span /checkout 2 2 4
	weft.Span /search 1 1 2
	app.Step /checkout 1 1 2
	END
	weft view spans queue.jfr --json --by span
	expect_rows type span waits <<-END
	weft.Span 00000000000000a1 2
	weft.Span 00000000000000a2 2
	weft.Span 00000000000000b1 2
	app.Step 00000000000000a1 2
	END
	recording nested
	weft view spans nested.jfr --json
	expect_rows span count total_ns samples cpu_ns <<<"route=/checkout 2 120000000 2 10000000"
	weft view labels nested.jfr --json
	expect_rows value samples <<<"/checkout 2"
	weft view spans queue.jfr --json --where tag:route=/search
	expect_rows type span count samples waits <<<"weft.Span route=/search 1 1 2"
}

@test "wall-clock time is apart from CPU time" {
	recording waits
	weft view spans waits.jfr --json
	expect_rows span samples cpu_ns wall_ns <<<"route=/checkout 10 100000000 950000000"
	weft view threads waits.jfr --json --event wall
	[ "$(jq '[.rows[].cpu_ns] | add' stdout)" = 0 ]
	[ "$(jq '[.rows[].wall_ns] | add' stdout)" = 1950000000 ]
}

@test "labels and tags, by value" {
	recording queue
	weft view labels queue.jfr --json
	expect_rows key value samples waits waited_ns <<-END
	tag:route /checkout 2 4 64000000
	tag:number 7 1 2 14000000
	tag:step sort 1 2 14000000
	tag:route /search 1 2 11000000
	END
	recording labels
	weft view labels labels.jfr --json
	expect_rows key value samples <<-END
	tag:route tag 4
	label:http.route /a=b 3
	label:route R1 3
	label:tenant acme 3
	label:http.route /c 1
	label:tenant (empty) 1
	label:tenant beta 1
	END
}

@test "threads: samples, waits, events" {
	recording queue
	weft view threads queue.jfr --json
	expect_rows thread process samples cpu_ns waits waited_ns events <<-END
	worker [101] shop [100] 2 10000000 4 25000000 9
	worker [102] shop [100] 1 5000000 3 52000000 5
	END
}

@test "locks: by address and place, with holder and spans" {
	recording queue
	weft view locks queue.jfr --json
	expect_rows kind lock at holder count total_ns p50_ns max_ns spans <<-END
	rwlock-read 0x2000 push null 1 30000000 30000000 30000000 1
	mutex 0x1000 push worker [102] 3 16000000 4000000 10000000 1
	mutex 0x1000 pop shop [100] 1 1000000 1000000 1000000 1
	END
	recording long_queue
	weft view locks long_queue.jfr --json
	expect_rows kind count holder spans <<-END
	rwlock-read 1 null 1
	mutex 3 worker [102] 1
	mutex 1 shop [100] 1
	END
	weft view locks queue.jfr --json --where 'thread=worker [102]'
	expect_rows kind count holder <<-END
	rwlock-read 1 null
	mutex 1 worker [101]
	END
}

@test "hot-methods are weft report's functions" {
	recording shop
	weft view hot-methods shop.jfr --json
	rows function self_samples self_ns total_ns | sort >view
	weft report shop.jfr --json --by function
	jq -r '.rows[] | "\(.key) \(.self_samples) \(.self_ns) \(.total_ns)"' stdout | sort >report
	[ -s report ]
	diff -u report view
	weft view hot-methods shop.jfr --json
	[ "$(jq '.rows[0].self_share * 13 | round' stdout)" = 5 ]
}

@test "the events of a type, with all their fields" {
	recording queue
	weft view weft.IOWait queue.jfr --json
	[ "$(jq -c '.rows[0]' stdout)" = '{"startTime":"2023-11-14T22:13:20.095000000Z","duration":10000000,"eventThread":"worker [101]","stackTrace":"idle","operation":"poll","fd":3}' ]
	weft view weft.LockWait queue.jfr --top 2
	expect_in "$out" "... and 3 more"
	weft view app.Step queue.jfr --where tag:route=/search
	expect_status 1
	expect_in "$err" "none of 1 events is selected by --where"
}

@test "--top, --width" {
	recording queue
	weft view labels queue.jfr --top 1
	expect_in "$out" "... and 3 more"
	weft view labels queue.jfr --json --top 1
	[ "$(jq '.rows | length' stdout)" = 1 ]
	weft view spans queue.jfr --width 150
	[ "$(awk '{ if (length > most) most = length } END { print most }' stdout)" -le 150 ]
	weft view spans queue.jfr --width 1000
	expect_in "$out" "route=/checkout"
}

@test "what is not there is told" {
	recording queue
	recording shop
	weft view locks shop.jfr
	expect_status 1
	expect_in "$err" "weft view: shop.jfr: nothing for locks"
	weft view lock queue.jfr
	expect_status 2
	expect_in "$err" "'lock' is no view, and no event type of queue.jfr; did you mean 'locks'?"
	weft view locks queue.jfr --by span
	expect_status 2
	weft view spans queue.jfr --by function
	expect_status 2
	weft view spans nothing.jfr
	expect_status 1
	[ "$err" = "weft view: nothing.jfr: No such file or directory" ]
	weft view spans queue.jfr shop.jfr
	expect_status 0
	expect_in "$out" "shop.jfr: spans"
}

@test "a damaged file: what is whole is shown, the error told" {
	recording shop
	head -c -20 shop.jfr >cut.jfr
	weft view hot-methods cut.jfr --json
	expect_status 1
	expect_in "$err" "shown is what is whole"
	[ "$(jq '[.rows[].self_samples] | add' stdout)" -ge 9 ]
	[ "$(jq '.damage | length > 0' stdout)" = true ]
}

@test "a full disk is told" {
	[ -w /dev/full ] || skip "no /dev/full"
	recording queue
	status=0
	"$WEFT" view locks queue.jfr >/dev/full 2>stderr || status=$?
	[ "$status" = 1 ]
	grep -q "standard output: No space left on device" stderr
}

# A JVM that waits in every way, and what the JDK's own tool says of it.
record_jvm() {
	cat >Waits.java <<-'END'
	import java.net.*; import java.util.concurrent.locks.*;
	public class Waits {
		static final Object lock = new Object();
		static final ReentrantLock other = new ReentrantLock();
		static void locked() throws Exception { synchronized (lock) { Thread.sleep(7); } }
		static void parked() throws Exception {
			other.lock();
			try { Thread.sleep(7); } finally { other.unlock(); }
		}
		public static void main(String[] a) throws Exception {
			Thread[] all = new Thread[4];
			for (int k = 0; k < 4; k++) {
				all[k] = new Thread(() -> {
					try { for (int i = 0; i < 8; i++) { locked(); parked(); } }
					catch (Exception e) { }
				}, "worker-" + k);
				all[k].start();
			}
			for (Thread t : all) t.join();
			synchronized (lock) { lock.wait(20); }
			long until = System.nanoTime() + 300_000_000L, sum = 0;
			while (System.nanoTime() < until) sum += until % 7;
			System.out.println(sum);
		}
	}
	END
	cat >waits.jfc <<-'END'
	<?xml version="1.0" encoding="UTF-8"?>
	<configuration version="2.0">
	<event name="jdk.ExecutionSample"><setting name="enabled">true</setting><setting name="period">10 ms</setting></event>
	<event name="jdk.JavaMonitorEnter"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ms</setting></event>
	<event name="jdk.JavaMonitorWait"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ms</setting></event>
	<event name="jdk.ThreadPark"><setting name="enabled">true</setting><setting name="stackTrace">true</setting><setting name="threshold">0 ms</setting></event>
	<event name="jdk.ThreadSleep"><setting name="enabled">true</setting><setting name="threshold">0 ms</setting></event>
	<event name="jdk.ActiveSetting"><setting name="enabled">true</setting></event>
	</configuration>
	END
	"$JAVA17/java" -XX:StartFlightRecording=filename=jvm.jfr,settings=waits.jfc Waits.java >/dev/null 2>&1
	"$JAVA17/jfr" print --json --stack-depth 64 jvm.jfr >theirs.json
}

# The events of a JSON as "TYPE ns" lines; a duration is "PT1.234S".
durations() {
	jq -r '.recording.events[] | select(.values.duration != null) |
		"\(.type) \(.values.duration | capture("^PT((?<m>[0-9]+)M)?(?<s>[0-9.]+)S$") |
		((.m // "0" | tonumber) * 60 + (.s | tonumber)) * 1e9 | round)"' theirs.json |
		awk '$2 > 0'
}

@test "a JVM's recording: counts, sums and quantiles are the JDK's" {
	[ -x "$JAVA17/java" ] || skip "no JDK 17"
	record_jvm
	weft view latencies jvm.jfr --json
	expect_status 0
	rows event count total_ns max_ns | sort >ours
	durations | awk '{ n[$1]++; sum[$1] += $2; if ($2 > max[$1]) max[$1] = $2 }
		END { for (t in n) printf "%s %d %d %d\n", t, n[t], sum[t], max[t] }' | sort >theirs
	[ "$(wc -l <theirs)" -ge 4 ]
	diff -u theirs ours
	rows event p50_ns | while read -r type ours; do
		theirs=$(durations | awk -v t="$type" '$1 == t { print $2 }' | sort -n |
			awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')
		awk -v a="$theirs" -v b="$ours" 'BEGIN { exit !(b >= a && b <= a * (1 + 1 / 128)) }' || {
			echo "$type: median $ours, expected $theirs"
			exit 1
		}
	done
}

@test "a JVM's recording: locks, threads and events are the JDK's" {
	[ -x "$JAVA17/java" ] || skip "no JDK 17"
	record_jvm
	weft view locks jvm.jfr --json
	[ "$(jq '[.rows[] | select(.kind == "JavaMonitorEnter") | .count] | add' stdout)" = \
		"$(jq '[.recording.events[] | select(.type == "jdk.JavaMonitorEnter")] | length' theirs.json)" ]
	[ "$(jq '[.rows[] | select(.kind == "ThreadPark" and .at == "Waits.parked") | .count] | add' stdout)" = \
		"$(jq '[.recording.events[] | select(.type == "jdk.ThreadPark") | select(.values.stackTrace.frames |
			any(.method.type.name == "Waits" and .method.name == "parked"))] | length' theirs.json)" ]
	[ "$(jq -r '[.rows[] | select(.at == "Waits.locked")][0].holder | startswith("worker-")' stdout)" = true ]
	weft view threads jvm.jfr --json
	rows thread events | grep '^worker-' | sort >ours
	jq -r '.recording.events[].values | (.eventThread // .sampledThread) |
		"\(.javaName) [\(.osThreadId)]"' theirs.json | grep '^worker-' | sort | uniq -c |
		awk '{ print $2, $3, $1 }' >theirs
	[ "$(wc -l <theirs)" = 4 ]
	diff -u theirs ours
	weft view jdk.ThreadSleep jvm.jfr --json
	rows duration time >ours
	jq -r '.recording.events[] | select(.type == "jdk.ThreadSleep") | .values.time' theirs.json >theirs
	[ "$(wc -l <theirs)" = "$(wc -l <ours)" ]
	[ "$(awk '$2 == 7000000' ours | wc -l)" = 64 ]
	weft report jvm.jfr --event jdk.ThreadSleep --json --by thread
	[ "$(jq .weight_ns stdout)" = "$(durations | awk '$1 == "jdk.ThreadSleep" { s += $2 } END { printf "%d", s }')" ]
}

@test "an event type in a file that is damaged before it: the damage is told, not wrong usage" {
	recording queue
	head -c "$(($(stat -c %s queue.jfr) / 2))" queue.jfr >cut.jfr
	weft view jdk.ThreadPark cut.jfr
	expect_status 1
	[ "$err" = "weft view: cut.jfr: damaged, and no event type of that name in what is whole" ]
}
