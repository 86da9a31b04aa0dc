#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Labels of goroutines (runtime/pprof) of programs that know nothing of weft, built in the ways in
# which Go builds: what weft inspect reads against what the program has set, and shares of wall-clock
# samples against what its threads know of their waits. Judged by the number of looks, not by time:
# five standard errors of a share of as many independent samples, and a point for what a loaded
# collector adds.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
have go || skip_all "Go is not installed"
[ -r /proc/thread-self/schedstat ] || skip_all "the kernel has no schedstat"

sources=$(cd "$(dirname "$0")" && pwd)/golabels
seconds=${WEFT_TEST_SECONDS:-6}
# Nothing is fetched: the program is of the standard library alone.
export GOFLAGS=-mod=mod GOPROXY=off

build() { # HOW
	local files=("$sources/golabels.go") options=()
	export CGO_ENABLED=0
	case $1 in
		cgo) CGO_ENABLED=1 files+=("$sources/cgo.go") ;;
		pie) options=(-buildmode=pie) ;;
		stripped) options=(-ldflags='-s -w') ;;
		cgo-stripped)
			CGO_ENABLED=1 files+=("$sources/cgo.go")
			options=(-ldflags='-s -w')
			;;
		shared)
			CGO_ENABLED=1 files+=("$sources/library.go")
			options=(-buildmode=c-shared)
			;;
	esac
	bounded go build ${options[@]+"${options[@]}"} -o "$work/$1" "${files[@]}"
}

# begin HOW ARGUMENT...: its PID in $pid, its words in $work/own.
begin() {
	local command=("$work/$1" "${@:2}")
	[ "$1" != shared ] ||
		command=(python3 -c "import ctypes; ctypes.CDLL('$work/shared').GoLabelsHold()")
	"${command[@]}" >"$work/own" 2>"$work/errors" &
	pid=$! program=$!
	started+=("$pid")
	await 600 grep -q ^ready "$work/own"
}

end() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
}

# ---- inspect

inspect() { # JQ-FILTER OPTION...
	bounded "$weft" inspect --json "${@:2}" "$pid" >"$work/inspect.json" || return 1
	jq -r "$1" "$work/inspect.json"
}

# The threads begin to wait a moment after they have said that they will.
holds_labels() { # OPTION...
	local each='[.threads[].contexts[] | select(.abi == "go")]'
	same "3 3 6 15" "$(inspect "$each"' | map(.attributes) |
		"\(map(select(.tenant == "acme")) | length) \(map(select(.tenant == "globex")) | length)" +
		" \(map(select(.route == "/a b")) | length) \(map(length) | max)"' "$@")"
}

holds_all_labels() {
	await 100 holds_labels "$@" || holds_labels "$@"
}

knows_version() {
	same "$(go env GOVERSION)" "$(inspect '.process.go.version')"
}

says() { # WORDS
	bounded "$weft" inspect "$pid" >"$work/inspect.txt" || return 1
	grep -qF "$1" "$work/inspect.txt" || {
		cat "$work/inspect.txt"
		return 1
	}
}

inspected() { # HOW
	begin "$1" hold
	check "$1: inspect knows the version" knows_version
	check "$1: inspect has the labels of each thread" holds_all_labels
	check "$1: and with --stop" holds_all_labels --stop
	check "$1: other formats have none" \
		same 0 "$(inspect '[.threads[].contexts[]] | length' --abi otel)"
	check "$1: the program goes on" kill -0 "$pid"
	end
}

# ---- the wall clock

attach() { # OPTION...
	bounded "$weft" record -o "$work/a.jfr" -e wall --wall-frequency 75 "$@" -p "$pid" \
		2>"$work/err" || {
		cat "$work/err"
		return 1
	}
	wait "$program"
}

asked() { # JQ-FILTER OPTION...: of the workers' samples
	bounded "$weft" report --json --event wall --where state=sleeping --where thread=worker \
		"${@:2}" "$work/a.jfr" | jq "$1"
}

of_tenant() {
	asked "[.rows[] | select(.key == \"$1\") | .samples] | add // 0" --by label:tenant
}

counter() { # NAME
	asked ".counters.$1 // 0"
}

# Each tenant against the other; and both against all, which a worker that waits for the scheduler of
# Go, between its system calls, is part of, too.
shares_are_true() {
	tail -n 1 "$work/own" | awk -v first="$(of_tenant acme)" -v second="$(of_tenant globex)" \
		-v all="$(asked .samples)" -v taken="$(counter wall_taken)" '
		# A look that came late stands for several samples.
		function check(what, seen, n, truth, more,   error, off) {
			error = sqrt(truth * (1 - truth) / (n < taken ? n : taken))
			off = seen / n - truth
			printf "%s: true %.2f %%, seen %.2f %% of %d by %d looks, standard error %.2f\n",
				what, 100 * truth, 100 * seen / n, n, taken, 100 * error
			if ((off < 0 ? -off : off) > 5 * error + more) bad = 1
		} {
			if (first + second < 100 || all < first + second) {
				printf "%d and %d of %d samples\n", first, second, all
				exit 1
			}
			check("the first of both", first, first + second, $1 / ($1 + $2), 0.01)
			check("both of all", first + second, all, ($1 + $2) / ($1 + $2 + $3), 0.05)
			exit bad
		}'
}

said_nothing_else() {
	same "0 2" "$(wc -l <"$work/errors") $(wc -l <"$work/own")"
}

recorded() { # HOW
	begin "$1" turns "$seconds"
	check "$1: recorded from outside" attach
	check "$1: tenants have their shares" shares_are_true
	show "$work/check.out"
	check "$1: what was taken is counted" at_least 100 "$(counter context_go)"
	check "$1: nothing was unreadable" same 0 "$(counter context_unreadable)"
	check "$1: the program said what it says" said_nothing_else
}

under_weft() {
	bounded "$weft" record -o "$work/a.jfr" -e wall --wall-frequency 75 -- "$work/cgo" turns \
		"$seconds" >"$work/own" 2>"$work/err"
}

for how in static cgo pie stripped cgo-stripped; do
	if ! build $how >"$work/build.out" 2>&1; then
		show "$work/build.out" 5
		skip "$how: labels of goroutines" "there is no go that builds so"
		continue
	fi
	inspected $how
	recorded $how
	if [ $how = cgo ]; then
		check "$how: recorded from its beginning" under_weft
		check "$how: tenants have their shares then" shares_are_true
		show "$work/check.out"
	fi
done

if ! have python3 || ! build shared >"$work/build.out" 2>&1; then
	skip "shared: labels of goroutines" "there is no go that builds so, or no Python"
else
	inspected shared
fi

# Its tids are not those that we see.
if [ -x "$work/static" ] && unshare -p -f --kill-child true 2>/dev/null; then
	unshare -p -f --kill-child "$work/static" turns "$seconds" >"$work/own" 2>"$work/errors" &
	program=$!
	started+=("$program")
	await 600 grep -q ^ready "$work/own"
	pid=$(cat "/proc/$program/task/$program/children") pid=${pid%% *}
	check "in a PID namespace: recorded" attach
	check "in a PID namespace: tenants have their shares" shares_are_true
	show "$work/check.out"
else
	skip "in a PID namespace: tenants have their shares" "there may be none here"
fi

if [ -x "$work/static" ]; then
	begin static turns "$seconds"
	check "--context-from labels: recorded" attach --context-from labels
	check "--context-from labels: not of goroutines" same "0 0" "$(of_tenant acme) $(counter context_go)"
fi

# The same program, which says that it is of another version: one that nobody knows, and one whose
# runtime looked different.
claims() { # NAME VERSION
	LC_ALL=C sed "s/go1\.[0-9][0-9]\./go1.$2./g" "$work/static" >"$work/$1" && chmod +x "$work/$1"
}

nothing_wrong() { # told, or read
	says "not read: its runtime is not as this version of Go has it" ||
		same 0 "$(inspect '[.threads[].contexts[]] | length')"
}

if [ -x "$work/static" ] && claims unknown 99 && claims older 21; then
	begin unknown hold
	check "unknown version: inspect says that" says "weft does not know where this version of Go"
	check "unknown version: and has nothing" same 0 "$(inspect '[.threads[].contexts[]] | length')"
	end
	begin older hold
	check "a version that it is not: nothing is told" nothing_wrong
	end
fi
finish
