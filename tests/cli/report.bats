#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft report on recordings whose samples are known (tests/report/recordings.c).

load common

recording() { "$MAKE_RECORDING" "$1" "${2:-$1.jfr}"; }

# rows JSON-FILE: "key samples self_ns total_ns", a line each
rows() { jq -r '.rows[] | "\(.key) \(.samples) \(.self_ns) \(.total_ns)"' "$1"; }

expect_rows() {
	rows stdout >found
	diff -u - found
}

@test "without FILE it reads weft.jfr" {
	recording shop weft.jfr
	weft report
	expect_status 0
	expect_in "$out" "weft.jfr: 250.000 ms, 13 samples, 65.000 ms"
}

@test "the overview shows tags, spans and functions, and what was lost" {
	recording shop
	weft report shop.jfr
	expect_status 0
	[ -z "$err" ]
	diff -u "$WEFT_SOURCE/tests/cli/report-shop.txt" stdout
}

@test "--by stack is a tree, callers above" {
	recording shop
	weft report shop.jfr --by stack
	expect_status 0
	sed -n '/  stack$/,$p' stdout >tree
	diff -u - tree <<-END
	   total           self         samples  stack
	  92.3 % ±25.6    0.0 % ±22.8        12  main
	  69.2 % ±26.9    0.0 % ±22.8         9    serve
	  46.2 % ±24.7    7.7 % ±25.6         6      checkout
	  38.5 % ±26.0   38.5 % ±26.0         5        hash
	  23.1 % ±27.2    0.0 % ±22.8         3      search<a;b>
	  23.1 % ±27.2    0.0 % ±22.8         3        walk
	  23.1 % ±27.2    0.0 % ±22.8         3          walk
	  23.1 % ±27.2   23.1 % ±27.2         3            walk
	  23.1 % ±27.2   23.1 % ±27.2         3    idle
	   7.7 % ±25.6    7.7 % ±25.6         1  libfoo.so+0x10
	± is the 95 % interval; 26 more samples (2.9 times as many) would halve the first row's
	END
	weft report shop.jfr --by stack --top 3
	sed -n '/  stack$/,$p' stdout >tree
	diff -u - tree <<-END
	   total           self         samples  stack
	  92.3 % ±25.6    0.0 % ±22.8        12  main
	  69.2 % ±26.9    0.0 % ±22.8         9    serve
	  46.2 % ±24.7    7.7 % ±25.6         6      checkout
	... and 7 lighter ones (--top 0)
	± is the 95 % interval; 26 more samples (2.9 times as many) would halve the first row's
	END
}

@test "--json has the promised members in their order" {
	recording shop
	weft report shop.jfr --json --by span
	expect_status 0
	[ "$(jq -c 'keys_unsorted[:7]' stdout)" = \
		'["file","duration_ns","samples","weight_ns","lost","by","rows"]' ]
	[ "$(jq -c '[.file, .duration_ns, .samples, .weight_ns, .by]' stdout)" = \
		'["shop.jfr",250000000,13,65000000,"span"]' ]
	[ "$(jq -c '[.lost.ring_full, .lost.no_slot, .lost.nested]' stdout)" = '[3,1,0]' ]
	[ "$(jq -c '.rows[0] | keys_unsorted[:4]' stdout)" = \
		'["key","samples","self_ns","total_ns"]' ]
	[ "$(jq -c '[.counters.primed_hook, .counters.threads, .counters.slots_high]' stdout)" = '[3,4,3]' ]
	[ "$(jq -c '.histograms.handler_ns' stdout)" = \
		'[{"up_to":1024,"count":9},{"up_to":2048,"count":4}]' ]
	[ "$(jq -r '.rows[] | select(.key == "00000000000000b1") | .context.route' stdout)" = /search ]
}

@test "every key sums to what is computed by hand" {
	recording shop
	weft report shop.jfr --json --by function
	expect_rows <<-END
	hash 5 25000000 25000000
	idle 3 15000000 15000000
	walk 3 15000000 15000000
	checkout 6 5000000 30000000
	libfoo.so+0x10 1 5000000 5000000
	main 12 0 60000000
	serve 9 0 45000000
	search<a;b> 3 0 15000000
	END
	weft report shop.jfr --json --by span
	expect_rows <<-END
	(none) 4 20000000 20000000
	00000000000000a1 3 15000000 15000000
	00000000000000a2 3 15000000 15000000
	00000000000000b1 3 15000000 15000000
	END
	weft report shop.jfr --json --by root
	expect_rows <<-END
	00000000000000aa 6 30000000 30000000
	(none) 4 20000000 20000000
	00000000000000bb 3 15000000 15000000
	END
	weft report shop.jfr --json --by trace
	expect_rows <<-END
	0af7651916cd43dd8448eb211c80319c 6 30000000 30000000
	(none) 4 20000000 20000000
	0af7651916cd43dd8448eb211c80319d 3 15000000 15000000
	END
	weft report shop.jfr --json --by tag:route
	expect_rows <<-END
	/checkout 6 30000000 30000000
	(none) 4 20000000 20000000
	/search 3 15000000 15000000
	END
	weft report shop.jfr --json --by thread
	expect_rows <<-END
	worker [101] 7 35000000 35000000
	worker [102] 4 20000000 20000000
	child [200] 1 5000000 5000000
	shop [100] 1 5000000 5000000
	END
	weft report shop.jfr --json --by process
	expect_rows <<-END
	shop [100] 12 60000000 60000000
	child [200] 1 5000000 5000000
	END
	weft report shop.jfr --json --by module
	expect_rows <<-END
	shop 12 35000000 60000000
	libcrypto.so.3 5 25000000 25000000
	libfoo.so 1 5000000 5000000
	END
	weft report shop.jfr --json --by stack
	expect_rows <<-END
	main;serve;checkout;hash 5 25000000 25000000
	main;serve;search<a:b>;walk;walk;walk 3 15000000 15000000
	main;idle 3 15000000 15000000
	main;serve;checkout 1 5000000 5000000
	libfoo.so+0x10 1 5000000 5000000
	END
}

@test "--json is by span when there is context, else by function" {
	recording shop
	weft report shop.jfr --json
	[ "$(jq -r .by stdout)" = span ]
	recording weightless
	weft report weightless.jfr --json
	[ "$(jq -r .by stdout)" = function ]
}

@test "--where selects, several must all hold" {
	recording shop
	weft report shop.jfr --json --by function --where tag:route=/checkout
	expect_status 0
	[ "$(jq -c '[.samples, .weight_ns]' stdout)" = '[6,30000000]' ]
	weft report shop.jfr --json --where tag:route=/checkout --where 'thread=worker [101]'
	[ "$(jq .samples stdout)" = 3 ]
	weft report shop.jfr --json --where 'tag:route=/*' --where function=serve --where process=shop
	[ "$(jq .samples stdout)" = 9 ]
	weft report shop.jfr --json --where 'span=(none)' --where module=libfoo.so
	[ "$(jq .samples stdout)" = 1 ]
	long=$(printf '/%300s' '' | tr ' ' '*')
	weft report shop.jfr --where "tag:route=$long"
	expect_in "$out" "tag:route=$long"
	weft report shop.jfr --where tag:route=/nowhere
	expect_status 1
	expect_in "$err" "weft report: shop.jfr: none of 13 samples is selected by --where"
}

@test "--top limits rows, 0 shows all, JSON has all by itself" {
	recording shop
	weft report shop.jfr --json --by function --top 2
	[ "$(jq '.rows | length' stdout)" = 2 ]
	weft report shop.jfr --json --by function --top 0
	[ "$(jq '.rows | length' stdout)" = 8 ]
	weft report shop.jfr --by function --top 2
	expect_in "$out" "... and 6 more (--by function --top 0)"
}

@test "--counters shows every counter that there is, and the histogram" {
	recording shop
	weft report shop.jfr --counters
	expect_status 0
	sed -n 's/^\tX([0-9]*, *[A-Z_]*, *"\([a-z_]*\)".*/\1/p' \
		"$WEFT_SOURCE/include/weft/abi/counters.h" >names
	[ "$(wc -l <names)" -ge 36 ]
	while read -r name; do
		grep -qE "^ +[0-9]+  $name " stdout || { echo "no $name"; return 1; }
	done <names
	grep -qE '^ +3  ring_full +LOST ' stdout
	grep -qE '^ +[0-9]+  slots_used +LEVEL slots in use at the end$' stdout
	grep -qE '^ +[0-9]+  collector_memory_high LEVEL the most' stdout
	# Each in its column, under its head.
	[ "$(sed -nE 's/^( +value  counter +)kind .*/\1/p' stdout | wc -c)" = \
		"$(sed -nE 's/^( +3  ring_full +)LOST .*/\1/p' stdout | wc -c)" ]
	grep -qE '1.024 us \.\. 2.048 us +4 +#' stdout
}

@test "inline ids need no spans" {
	recording inline
	weft report inline.jfr --json --by tag:route
	expect_rows <<-END
	/checkout 2 10000000 10000000
	(none) 1 5000000 5000000
	/search 1 5000000 5000000
	END
}

@test "other programs' samples: ids as numbers, weights, wall-clock apart" {
	recording foreign
	weft report foreign.jfr --json --by span
	expect_rows <<-END
	fffffffffffffffe 1 30000000 30000000
	(none) 1 10000000 10000000
	END
	weft report foreign.jfr --json --by tag:Order.id
	expect_rows <<-END
	42 1 30000000 30000000
	(none) 1 10000000 10000000
	END
	weft report foreign.jfr --json --by thread --event wall
	expect_rows <<<"worker [102] 7 140000000 140000000"
	weft report foreign.jfr --json --event all
	[ "$(jq .samples stdout)" = 9 ]
	weft report foreign.jfr --event spam
	expect_status 2
}

@test "wall-clock samples count what they stand for, and say how a thread spent its time" {
	recording waits
	weft report waits.jfr --json
	[ "$(jq -c '[.samples, .weight_ns, .time]' stdout)" = '[10,100000000,null]' ]
	weft report waits.jfr --json --event wall --by state
	expect_rows <<-END
	sleeping 32 1600000000 1600000000
	uninterruptible 4 200000000 200000000
	runnable 2 100000000 100000000
	waiting_for_cpu 1 50000000 50000000
	END
	[ "$(jq -c '[.samples, .weight_ns, .time]' stdout)" = \
		'[39,1950000000,{"running_ns":100000000,"waiting_for_cpu_ns":50000000,"blocked_ns":1800000000}]' ]
	weft report waits.jfr --json --event wall --by tag:route
	expect_rows <<-END
	(none) 20 1000000000 1000000000
	/checkout 19 950000000 950000000
	END
	weft report waits.jfr --json --event wall --by function --where tag:route=/checkout --where state=sleeping
	[ "$(jq -c '.rows[0] | [.key, .self_ns, .self_samples]' stdout)" = '["checkout",600000000,12]' ]
	weft report waits.jfr --json --event wall --where 'state=*cpu'
	[ "$(jq .samples stdout)" = 1 ]
}

@test "the head of wall-clock time adds up, an overview has a table of states" {
	recording waits
	weft report waits.jfr --event wall
	expect_status 0
	expect_in "$out" "time        1.950 s = 100.000 ms running + 50.000 ms waiting for a CPU + 1.800 s blocked"
	expect_in "$out" "10 jdk.ExecutionSample of 10.000 ms, not counted (see --event)"
	expect_in "$out" "6 profiler.WallClockSample of 50.000 ms"
	grep -q '82.1 % ±77.8  *1.600 s  *32  sleeping$' stdout
	weft report waits.jfr
	expect_in "$out" "6 profiler.WallClockSample of 50.000 ms, not counted (see --event)"
	! grep -q '^time' stdout
}

@test "two ways of sampling CPU time are not added up" {
	recording twice
	weft report twice.jfr --json --by function
	[ "$(jq -c '[.samples, .weight_ns]' stdout)" = '[2,20000000]' ]
	weft report twice.jfr --json --event jdk.ExecutionSample
	[ "$(jq -c '[.samples, .weight_ns]' stdout)" = '[1,20000000]' ]
	weft report twice.jfr
	expect_in "$out" "1 jdk.ExecutionSample of 20.000 ms, not counted (see --event)"
	expect_in "$out" "2 jdk.CPUTimeSample of 10.000 ms"
}

@test "without a period shares are of samples and weights 0" {
	recording weightless
	weft report weightless.jfr --by function
	expect_status 0
	expect_in "$out" "3 jdk.ExecutionSample of unknown weight"
	grep -qE '^ +66\.7 % ±54\.8 +- +66\.7 % ±54\.8 +- +2  hash$' stdout
	weft report weightless.jfr --json
	[ "$(jq -c '[.weight_ns, .samples_of_unknown_weight]' stdout)" = '[0,3]' ]
}

@test "no samples is a failure that shows the rest" {
	recording empty
	weft report empty.jfr
	expect_status 1
	expect_in "$out" "0 samples"
	[ "$err" = "weft report: empty.jfr: no samples" ]
	weft report empty.jfr --json
	expect_status 1
	[ "$(jq -c '[.samples, .rows]' stdout)" = '[0,[]]' ]
}

@test "a truncated file shows what is whole and fails" {
	recording shop
	head -c -20 shop.jfr >cut.jfr
	weft report cut.jfr --json
	expect_status 1
	expect_in "$err" "weft report: cut.jfr: "
	expect_in "$err" "shown is what is whole"
	[ "$(jq .samples stdout)" -ge 9 ]
	[ "$(jq -r '.damage | length > 0' stdout)" = true ]
}

@test "what cannot be read is named" {
	weft report nothing.jfr
	expect_status 1
	[ "$err" = "weft report: nothing.jfr: No such file or directory" ]
	[ -z "$out" ]
	weft report .
	expect_status 1
	[ "$err" = "weft report: .: Is a directory" ]
	echo "some text that is no recording" >text
	weft report text
	expect_status 1
	[ "$err" = "weft report: text: not a JFR file" ]
	: >nothing
	weft report nothing
	expect_status 1
	expect_in "$err" "weft report: nothing: "
}

@test "wrong keys are usage errors that name the right ones" {
	recording shop
	weft report shop.jfr --by spam
	expect_status 2
	expect_in "$err" "span"
	weft report shop.jfr --by tag:
	expect_status 2
	weft report shop.jfr --where spam=1
	expect_status 2
	expect_in "$err" "unknown key 'spam'; known: function, span, root, trace, thread, process, module, line, state, coroutine, site, tag:NAME"
	weft report shop.jfr --where span
	expect_status 2
	weft report shop.jfr other.jfr
	expect_status 2
}

@test "colours only on a terminal and not with NO_COLOR" {
	command -v script >/dev/null || skip "no script"
	recording shop
	weft report shop.jfr
	expect_not grep -q $'\033' stdout
	TERM=xterm script -qec "'$WEFT' report shop.jfr" /dev/null >typed </dev/null
	grep -q $'\033\[' typed
	NO_COLOR=1 TERM=xterm script -qec "'$WEFT' report shop.jfr" /dev/null >typed </dev/null
	expect_not grep -q $'\033' typed
}

@test "lines fit the terminal" {
	command -v script >/dev/null || skip "no script"
	recording shop
	NO_COLOR=1 TERM=xterm script -qec \
		"stty cols 60; '$WEFT' report shop.jfr --by span" /dev/null >typed </dev/null
	tr -d '\r' <typed | sed -n '/  span$/,$p' >table
	[ "$(wc -l <table)" -eq 5 ]
	[ "$(awk '{ if (length > most) most = length } END { print most }' table)" -le 60 ]
	grep -q '\.\.\.$' table
}

@test "a full disk is told" {
	[ -w /dev/full ] || skip "no /dev/full"
	recording shop
	status=0
	"$WEFT" report shop.jfr >/dev/full 2>stderr || status=$?
	[ "$status" = 1 ]
	grep -q "standard output: No space left on device" stderr
}

@test "a recording of JDK 17's" {
	java=/usr/lib/jvm/java-17-openjdk-amd64/bin/java
	[ -x "$java" ] || skip "no JDK 17"
	cat >Burn.java <<-END
	public class Burn {
		static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		public static void main(String[] a) {
			long until = System.nanoTime() + 700_000_000L, sum = 0;
			while (System.nanoTime() < until) sum += fib(25);
			System.out.println(sum);
		}
	}
	END
	"$java" -XX:StartFlightRecording=filename=jvm.jfr,settings=profile Burn.java >/dev/null 2>&1
	weft report jvm.jfr --json --by function
	expect_status 0
	# the JDK's own tool counts the same events
	want=$("${java%java}jfr" summary jvm.jfr | awk '$1 == "jdk.ExecutionSample" { print $2 }')
	[ "$(jq .samples stdout)" = "$want" ]
	[ "$(jq 'any(.rows[]; .key == "Burn.fib")' stdout)" = true ]
	[ "$(jq '.events["jdk.ExecutionSample"].period_ns' stdout)" = 10000000 ]
	weft report jvm.jfr --json --by process
	[[ $(jq -r '.rows[0].key' stdout) =~ ^java\ \[[0-9]+\]$ ]]
	weft convert jvm.jfr --to collapsed
	expect_status 0
	[ "$(awk '{ sum += $NF } END { print sum }' stdout)" = "$want" ]
}

@test "what is no recording is refused with what it is, and never waited for" {
	recording shop
	mkfifo pipe
	: >empty.jfr
	echo hello | gzip >packed.jfr
	head -c 30 shop.jfr >short.jfr
	while read -r file why; do
		status=0
		timeout 10 "$WEFT" report "$file" >stdout 2>stderr || status=$?
		[ "$(cat stderr)" = "weft report: $file: $why" ] || { cat stderr; return 1; }
		[ $status = 1 ]
	done <<-END
		pipe not a regular file
		/dev/null not a regular file
		empty.jfr empty, not a JFR file
		packed.jfr packed by gzip, and no recording in it, or cut short within its first bytes
		short.jfr at byte 0: chunk header is cut short
	END
}

@test "a tag that the recording does not have is warned of, with those it has" {
	recording shop
	weft report shop.jfr --by tag:rout
	expect_status 0
	[ "$err" = "weft report: warning: shop.jfr: no tag 'rout'; there are: route" ] || {
		echo "$err"
		return 1
	}
	weft report shop.jfr --where tag:Span.rout=x
	expect_status 1
	expect_in "$err" "no tag 'Span.rout'; there are: route"
	weft report shop.jfr --by tag:route
	[ -z "$err" ]
}

@test "an output that cannot be written is named, not the recording" {
	recording shop
	for option in --json --counters; do
		status=0
		"$WEFT" report $option shop.jfr >/dev/full 2>stderr || status=$?
		[ $status = 1 ]
		grep -qx 'weft report: standard output: No space left on device' stderr
	done
}

@test "escapes in a process's name do not reach the terminal" {
	recording escapes
	weft report escapes.jfr --counters
	expect_status 0
	expect_not grep -q "$(printf '[\001-\010\013-\037\177]')" stdout
	expect_not grep -q "$(printf '\302\233')" stdout
}

@test "--by line: function, file and line; self of inlined functions is theirs" {
	recording lines
	weft report lines.jfr --by line --top 5
	expect_status 0
	sed -n '/  line$/,$p' stdout >table
	diff -u - table <<-END
	    self                      total                     samples  line
	  26.7 % ±25.3   20.000 ms   26.7 % ±25.3   20.000 ms         4  skip skip.h:3
	  13.3 % ±24.5   10.000 ms   40.0 % ±24.3   30.000 ms         6  parse parse.c:5
	  13.3 % ±24.5   10.000 ms   13.3 % ±24.5   10.000 ms         2  helper b.c:5
	  13.3 % ±24.5   10.000 ms   13.3 % ±24.5   10.000 ms         2  parse parse.c:7
	   6.7 % ±23.1    5.000 ms    6.7 % ±23.1    5.000 ms         1  helper a.c:5
	... and 11 more (--by line --top 0)
	± is the 95 % interval; 43 more samples (3.8 times as many) would halve the first row's
	END
	weft report lines.jfr --by line --json
	[ "$(jq -c '.rows[0] | [.key, .function, .file, .line, .self_ns]' stdout)" = \
		'["skip skip.h:3","skip","/src/app/skip.h",3,20000000]' ]
	[ "$(jq -c '.rows[] | select(.function == "parse" and .line == null) | [.key, .file]' stdout)" = \
		'["parse",null]' ]
	[ "$(jq '[.rows[].self_ns] | add' stdout)" = 75000000 ]
}

@test "--by line: files of one name are told apart by their paths, where rows would be equal" {
	recording doubles
	weft report doubles.jfr --by line
	expect_status 0
	expect_in "$out" '1  spin /src/a/util.c:2'
	expect_in "$out" '1  spin /src/b/util.c:2'
	expect_in "$out" '1  spin util.c:3'
}

@test "--no-inlines counts inlined functions as those around them" {
	recording lines
	weft report lines.jfr --by line --no-inlines --json
	expect_not grep -q skip stdout
	[ "$(jq -c '.rows[0] | [.key, .samples, .self_samples]' stdout)" = '["parse parse.c:5",6,6]' ]
	weft report lines.jfr --by function --no-inlines --json
	[ "$(jq -c '.rows[0] | [.key, .samples, .self_samples]' stdout)" = '["parse",9,9]' ]
}

@test "--where line= by file, by path, by all that is shown" {
	recording lines
	for value in 'skip.h:3' '/src/app/skip.h:3' 'skip skip.h:3' 'skip*'; do
		weft report lines.jfr --where "line=$value" --json
		[ "$(jq .samples stdout)" = 4 ]
	done
	weft report lines.jfr --where 'line=helper*' --json
	[ "$(jq .samples stdout)" = 3 ]
	weft report lines.jfr --where 'line=main.c:10' --by function --json
	[ "$(jq .samples stdout)" = 8 ]
}

@test "--by label:KEY: by the key as the program gave it, whatever the field is called" {
	recording labels
	weft report labels.jfr --by label:tenant --json
	expect_status 0
	expect_rows <<-END
	acme 3 15000000 15000000
	(none) 2 10000000 10000000
	(empty) 1 5000000 5000000
	beta 1 5000000 5000000
	END
	weft report labels.jfr --by label:http.route --json
	expect_rows <<-END
	(none) 3 15000000 15000000
	/a=b 3 15000000 15000000
	/c 1 5000000 5000000
	END
	weft report labels.jfr --by label:route --json
	expect_rows <<-END
	(none) 4 20000000 20000000
	R1 3 15000000 15000000
	END
	weft report labels.jfr --by tag:route --json
	expect_rows <<-END
	tag 4 20000000 20000000
	(none) 3 15000000 15000000
	END
}

@test "--where label:KEY=PATTERN, also beside others" {
	recording labels
	weft report labels.jfr --where 'label:http.route=/*' --by label:tenant --json
	expect_rows <<-END
	acme 3 15000000 15000000
	beta 1 5000000 5000000
	END
	weft report labels.jfr --where 'label:http.route=/a=*' --where function=hash --json
	[ "$(jq .samples stdout)" = 2 ]
	[ "$(jq -r '.where[0]' stdout | tr -d '\n')" != "" ]
	weft report labels.jfr --where 'label:tenant=(empty)' --json
	[ "$(jq .samples stdout)" = 1 ]
	weft report labels.jfr --where 'label:tenant=nobody'
	expect_status 1
	expect_in "$err" "none of 7 samples"
}

@test "what a row's samples share has labels under their own names" {
	recording labels
	weft report labels.jfr --by label:tenant --json
	[ "$(jq -r '.rows[0].context | .["label:tenant"], .["label:route"], .["label:http.route"], .route' stdout | tr '\n' ' ')" = "acme R1 /a=b tag " ]
}

@test "the overview lists labels, and has tables of them" {
	recording labels
	weft report labels.jfr
	expect_status 0
	expect_in "$out" "labels      route, http.route, tenant"
	expect_in "$out" "label:http.route"
	expect_in "$out" "tag:route"
	recording shop
	weft report shop.jfr
	expect_not grep -q '^labels ' stdout
}

@test "keys of labels reach the terminal without control characters, and not cut" {
	recording odd_labels
	weft report odd_labels.jfr --by label:nobody
	expect_in "$err" 'there are: key \x1b[31m\x0a0 0'
	grep -q ', \.\.\.$' stderr
	expect_not grep -q $'\x1b' stderr
	weft report odd_labels.jfr --by $'label:no\x1b[31m'
	expect_in "$err" "no label 'no\\x1b[31m'"
	weft report odd_labels.jfr
	expect_in "$out" 'key \x1b[31m\x0a39 0'
	expect_not grep -q $'\x1b' stdout
	key=$(printf 'key \x1b[31m\n0 %042d' 0)
	weft report odd_labels.jfr --by "label:$key" --json
	[ "$(jq -c '.rows[0] | [.key, .samples]' stdout)" = '["red\u001b[31m",2]' ]
}

@test "an unknown label is warned of, with those that there are; wrong usage is 2" {
	recording labels
	weft report labels.jfr --by label:tenent
	expect_status 0
	expect_in "$err" "no label 'tenent'; there are: route, http.route, tenant"
	weft report labels.jfr --by tag:tenant
	expect_in "$err" "no tag 'tenant'; there are: route"
	weft report labels.jfr --by label:
	expect_status 2
	expect_in "$err" "label:"
	recording shop
	weft report shop.jfr --by label:route
	expect_in "$err" "no label 'route'; there are: none"
}

@test "shares have their 95 % interval, in text and in JSON" {
	recording hrtimer
	weft report hrtimer.jfr --by tag:route
	expect_status 0
	sed -n '/tag:route$/,$p' stdout >table
	diff -u - table <<-END
	   share                     samples  tag:route
	  50.5 % ±4.9      1.010 s       202  /b
	  49.5 % ±4.9   990.000 ms       198  /a
	± is the 95 % interval; 1210 more samples (4.0 times as many) would halve the first row's
	END
	weft report hrtimer.jfr --by tag:route --json
	[ "$(jq -c '.rows[0] | [.self_share, .total_share_low, .total_share_high]' stdout)" = \
		"[0.505,0.456189358,0.553715519]" ]
	[ "$(jq -c '[.confidence, .independent_samples]' stdout)" = '[0.95,400]' ]
	# a signal of four events is one sample: twice as unsure
	recording ticks
	weft report ticks.jfr --by tag:route --json
	[ "$(jq -c '[.independent_samples, (.rows[0].self_share_high * 1000 | round)]' stdout)" = '[100,596]' ]
}

@test "events that are no samples have shares without an error" {
	recording queue
	weft report queue.jfr --event weft.LockWait --by function
	expect_status 0
	expect_not grep -q ± stdout
	weft report queue.jfr --event weft.LockWait --by function --json
	[ "$(jq -c '[.rows[].self_share_low] | unique' stdout)" = '[null]' ]
	[ "$(jq 'has("independent_samples")' stdout)" = false ]
}

@test "the clock is told, and what of the time used was seen" {
	recording hrtimer
	weft report hrtimer.jfr
	grep -qx 'clock       hrtimer, 200 Hz' stdout
	grep -qx 'account     seen 2.000 s of 2.050 s used (97.6 %; ±4.9 expected)' stdout
	weft report hrtimer.jfr --json
	[ "$(jq -c '[.clocks[] | [.process, .clock, .reason, .period_ns, .tick_ns]]' stdout)" = \
		'[["app [10]","hrtimer",null,5000000,4000000]]' ]
	[ "$(jq -c '.account | [.used_ns, .seen_ns, .samples, .within, .without_sample.threads]' stdout)" = \
		'[2050000000,2000000000,400,true,0]' ]
	# the root of 5 ms x 2.05 s
	[ "$(jq '.account.standard_error_ns | round' stdout)" = 101242284 ]
	recording shop
	weft report shop.jfr
	expect_not grep -qE '^(clock|account)' stdout
	weft report shop.jfr --json
	[ "$(jq -c '[.clocks, .account]' stdout)" = '[[],{}]' ]
}

@test "outside three standard errors it is said, with the threads" {
	recording ticks
	weft report ticks.jfr
	sed -n '/^clock/,/^$/p' stdout >head
	diff -u - head <<-END
	clock       ticks of 4 ms; work that repeats with them is misjudged (perf_event_open: Permission denied)
	account     seen 400.000 ms of 3.401 s used (11.8 %; ±3.4 expected): off by 26 standard errors, which is not chance
	            timer [12]: seen 0 ns of 3.000 s
	            worker [11]: seen 0 ns of 1.000 ms
	            2 threads used 3.001 s and have no sample: timer [12], worker [11]

	END
	weft report ticks.jfr --json
	[ "$(jq -c '.account | [.within, .without_sample.threads, .largest_gaps[0].thread]' stdout)" = \
		'[false,2,"timer [12]"]' ]
	[ "$(jq '.clocks[0].design_effect | round' stdout)" = 4 ]
}

@test "mixed clocks say whose; a thread without a sample is told when the whole is right" {
	recording silent
	weft report silent.jfr
	sed -n '/^clock/,/^$/p' stdout >head
	diff -u - head <<-END
	clock       hrtimer, 200 Hz: app [10]
	            ticks of 4 ms; work that repeats with them is misjudged (perf_event_open: Permission denied): child [20]
	account     seen 2.005 s of 2.210 s used (90.7 %; ±4.8 expected)
	            1 thread used 200.000 ms and has no sample: timer [12]

	END
}

@test "what ticks misjudge, by random looks, is told" {
	recording lockstep
	weft report lockstep.jfr
	sed -n '/^clock/,/^account/p' stdout | sed '$d' >head
	diff -u - head <<-END
	clock       ticks of 4 ms; work that repeats with them is misjudged (perf_event_open: Permission denied)
	            samples of app [10] bunch at one phase of work=on-B (chance 1e-09): its share is misjudged, 40.0 % by ticks and 30.0 % by random looks
	END
	weft report lockstep.jfr --json
	[ "$(jq -c '.clocks[0] | [.looks, .misjudged, .tick_share, .look_share, .chance < 1e-8]' stdout)" = \
		'[5000,"work=on-B",0.4,0.3,true]' ]
	recording ticks
	weft report ticks.jfr --json
	[ "$(jq -c '.clocks[0] | [.looks, .misjudged, .chance]' stdout)" = '[0,null,1]' ]
}

@test "tag tables that say nearly the same are left out, and named" {
	recording alike
	weft report alike.jfr
	expect_status 0
	[ "$(grep -c '  tag:' stdout)" = 2 ]
	grep -q 'samples  tag:route$' stdout
	grep -q 'samples  tag:kind$' stdout
	grep -qx 'tables left out: tag:handler (nearly as tag:route); --by KEY shows one' stdout
	weft report alike.jfr --by tag:handler
	grep -q 'samples  tag:handler$' stdout
	# by kind routes differ
	weft report alike.jfr --where tag:kind=x
	grep -q 'samples  tag:route$' stdout
	recording odd_labels
	weft report odd_labels.jfr
	grep -qx 'tables left out: 28 more tags and labels; --by KEY shows one' stdout
}
