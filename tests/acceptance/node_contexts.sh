#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What Node.js runs for, as @datadog/pprof publishes it (dd-trace-js's library): seen by weft inspect,
# in samples of CPU time and of waits, against what the program knows of its requests. Node.js 24 and
# the library come from the package registry, once a run.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
have jq || skip_all "jq is not installed"
have npm || skip_all "npm is not installed"
unset NODE_OPTIONS

seconds=${WEFT_TEST_SECONDS:-8}
hertz=75
packages=$work/packages
first=0000000000000011 second=0000000000000022

# fetched PACKAGE...: into $packages, without running anything of theirs.
fetched() {
	timeout 200 npm install --prefix "$packages" --ignore-scripts --no-audit --no-fund \
		--cache "$work/cache" "$@" >"$work/log" 2>&1
}

runs() { # NODE: is it one in which contexts are followed so?
	"$1" -e 'process.exit(process.versions.node.split(".")[0] < 24 ? 1 : 0)' 2>/dev/null
}

mkdir "$packages"
echo '{}' >"$packages/package.json"
case $(uname -m) in
	x86_64) machine=x64 ;;
	aarch64) machine=arm64 ;;
	*) skip_all "no Node.js is known for this machine" ;;
esac
node=$(command -v node)
if [ -z "$node" ] || ! runs "$node"; then
	fetched "node-linux-$machine@24" || skip_all "Node.js 24 cannot be had: $(tail -n 1 "$work/log")"
	node=$packages/node_modules/node-linux-$machine/bin/node
	runs "$node" || skip_all "the Node.js 24 that could be had does not run here"
fi
fetched @datadog/pprof@5 || skip_all "@datadog/pprof cannot be had: $(tail -n 1 "$work/log")"
"$node" "$here/node_requests.js" wait 0.2 "$packages" >"$work/own" 2>&1 || {
	show "$work/own"
	skip_all "this @datadog/pprof does not publish in this Node.js"
}
note "Node.js $("$node" --version), @datadog/pprof $(jq -r .version "$packages/node_modules/@datadog/pprof/package.json")"

begin() { # burn|wait: its PID in $pid
	"$node" "$here/node_requests.js" "$1" "$seconds" "$packages" >"$work/own" 2>"$work/errors" &
	pid=$!
	started+=("$pid")
	await 600 grep -q ^ready "$work/own"
}

asked() { # JQ-FILTER OPTION...
	local filter=$1
	shift
	bounded "$weft" report --json "${which[@]}" "$@" "$work/a.jfr" | jq "$filter"
}

samples() { # KEY VALUE
	asked "[.rows[] | select(.key == \"$2\") | .samples] | add // 0" --by "$1"
}

counter() { # NAME
	asked ".counters.$1 // 0"
}

# Of both requests the first has three parts of four, as the program knows better. Five standard
# errors, and a point for what begins and ends.
shares_are_true() {
	tail -n 1 "$work/own" | awk -v first="$(samples span $first)" -v second="$(samples span $second)" '{
		n = first + second
		truth = $1 / ($1 + $2)
		if (n < 100) {
			printf "%d and %d samples\n", first, second
			exit 1
		}
		error = sqrt(truth * (1 - truth) / n)
		off = first / n - truth
		printf "true %.2f %%, seen %.2f %% of %d, standard error %.2f\n", 100 * truth, 100 * first / n,
			n, 100 * error
		exit (off < 0 ? -off : off) > 5 * error + 0.01
	}'
}

# Those of none are no more than a part of what is looked at.
unreadable_are_few() {
	echo "$(counter context_unreadable) unreadable, $(counter context_otel) taken"
	[ $((50 * $(counter context_unreadable))) -le "$(counter context_otel)" ]
}

sees() { # SPAN [OPTION...]
	local span=$1
	shift
	bounded "$weft" inspect --json "$@" "$pid" >"$work/inspected" && jq -e --arg span "$span" '
		.process.nodejs.publisher == "another library" and
		any(.threads[].contexts[]; .abi == "nodejs" and .span_id == $span and
			.trace_id == "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0")' "$work/inspected"
}

begin wait
check "weft inspect sees the first request" await 100 sees $first
check "and the second" await 100 sees $second
check "and does when it stops the thread" await 100 sees $first --stop
kill "$pid"

which=(--event wall --where state=sleeping)
if [ -r /proc/thread-self/schedstat ]; then
	begin wait
	attach() {
		bounded "$weft" record -o "$work/a.jfr" -e wall --wall-frequency $hertz -p "$pid" 2>"$work/err" || {
			cat "$work/err"
			return 1
		}
		wait "$pid"
	}
	check "waits: it is recorded from outside" attach
	check "waits: spans have their shares" shares_are_true
	show "$work/check.out"
	check "waits: nearly all could be read" unreadable_are_few
	show "$work/check.out"
	check "waits: the program is unharmed" test ! -s "$work/errors"
else
	skip "waits" "the kernel has no schedstat"
fi

which=(--event cpu)
burn() {
	bounded "$weft" record -o "$work/a.jfr" -F 499 -- "$node" "$here/node_requests.js" burn "$seconds" \
		"$packages" >"$work/own" 2>"$work/err" || {
		cat "$work/err"
		return 1
	}
}
check "CPU time: it is recorded" burn
check "CPU time: spans have their shares" shares_are_true
show "$work/check.out"
check "CPU time: the worker's has its own" at_least 50 "$(samples span 0000000000000033)"
check "CPU time: the trace is told" at_least 100 "$(samples trace a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0)"
check "CPU time: nearly all could be read" unreadable_are_few
show "$work/check.out"
finish
