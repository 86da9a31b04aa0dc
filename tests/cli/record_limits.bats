#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft record --max-size, --max-age, --environment: what is refused, and what the file has then.

load common

spin() { # as a program: uses CPU for so many rounds
	echo "i=0; while [ \$i -lt $1 ]; do i=\$((i+1)); done"
}

# As a program: uses CPU until its recording a.jfr is another file than it was, dropped parts less.
spin_until_replaced() {
	echo "number() { stat -L -c %i a.jfr; }
		n=0
		until first=\$(number) || [ \$n -gt 1000 ]; do n=\$((n+1)); done
		while [ \"\$(number)\" = \"\$first\" ] && [ \$n -lt 1000 ]; do
			$(spin 100000)
			n=\$((n+1))
		done"
}

@test "limits that make no sense are refused" {
	weft record --max-size 1023K -- true
	expect_status 2
	expect_in "$err" "--max-size: '1023K' is below 1M"
	weft record --max-age 999ms -- true
	expect_status 2
	expect_in "$err" "--max-age: '999ms' is below 1s"
	weft record --max-size 1M --chunk-size 600K -- true
	expect_status 2
	expect_in "$err" "--chunk-size: '600K' is more than half of --max-size"
	weft record --memory 16383K -- true
	expect_status 2
	expect_in "$err" "--memory: '16383K' is below 16M"
}

@test "a limit needs a regular file" {
	weft record --max-age 5s -o /dev/null -- true
	expect_status 2
	expect_in "$err" "--max-age: '/dev/null' is no regular file"
	mkfifo pipe
	weft record --max-size 5M -o pipe -- true
	expect_status 2
	expect_in "$err" "--max-size: 'pipe' is no regular file"
	echo mine >file
	inode=$(stat -c %i file)
	weft record --max-size 5M -o /dev/fd/3 -- true 3>>file
	expect_status 2
	expect_in "$err" "'/dev/fd/3': a descriptor's file cannot be replaced"
	[ "$(cat file)" = mine ]
	[ "$(stat -c %i file)" = "$inode" ]
}

@test "--max-size: the file stays below it, and says what was dropped" {
	weft record --max-size 1M --chunk-time 5ms --chunk-size 4K -o a.jfr -- sh -c "$(spin_until_replaced)"
	expect_status 0
	[ "$(stat -c %s a.jfr)" -le 1048576 ]
	[[ $err =~ the\ oldest\ [0-9]+\ parts\ of\ the\ file ]] || {
		echo "$err"
		return 1
	}
	told=$(sed -n 's/^weft record: \([0-9]*\) samples\?,.*/\1/p' stderr)
	weft report a.jfr --json
	expect_status 0
	expect_in "$out" "\"samples\": $told,"
}

@test "without a limit nothing is dropped" {
	weft record --chunk-time 50ms -o a.jfr -- sh -c "$(spin 100000)"
	expect_status 0
	expect_not grep -q dropped stderr
}

@test "nothing is left beside the file" {
	weft record --max-size 1M --chunk-time 5ms --chunk-size 4K -o a.jfr -- sh -c "$(spin_until_replaced)"
	expect_status 0
	expect_in "$err" "dropped"
	weft report a.jfr
	expect_status 0
	[ "$(ls -A)" = "a.jfr
stderr
stdout" ]
}

@test "--environment: variables without their secrets, off by default" {
	export MY_TOKEN=verysecret MY_PLAIN=quiteplain
	weft record -o a.jfr -- true
	expect_status 0
	expect_not grep -q quiteplain a.jfr
	weft record --environment -o a.jfr -- true
	expect_status 0
	grep -q quiteplain a.jfr
	grep -q MY_TOKEN a.jfr
	expect_not grep -q verysecret a.jfr
}
