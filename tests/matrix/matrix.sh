#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The matrix: programs whose requests are told by each library that weft reads, by each way in which
# weft looks at them. What a program does is known by construction and by its own clocks (turns.h):
# shares by span and by label must agree, within five standard errors of so many looks and a point;
# and the program says and returns what it does alone. What comes from others is fetched by package
# managers; a row that cannot be had is skipped, and says why.
#
# matrix.sh [ROW...]: directories of this one; all without. WEFT_MATRIX_DIR keeps what was fetched
# and built. A row's row.sh says: `version`; `get`, which makes `command` in a copy of the directory
# (status 77: it cannot be had); and, if they are not as here:
defaults() {
	labels=tenant # the label that tells the request; empty: the library publishes none
	carries=      # yes: the program has weft in it, and CPU time is recorded when weft attaches
	preloads=     # what it needs in LD_PRELOAD for that
	pause=1.5     # seconds before work begins
}
source=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$source/tests/acceptance/lib.sh"
have jq || skip_all "jq is not installed"
[ -r /proc/thread-self/schedstat ] || skip_all "the kernel has no schedstat"
unset RUSTFLAGS WEFT_STATIC WEFT_PUBLISH LD_PRELOAD PYTHONPATH OTEL_PYTHON_CONTEXT WEFT_OTEL_LABELS

turns=${WEFT_TEST_TURNS:-100}
cache=${WEFT_MATRIX_DIR:-$work}
ways="inspect record attach wall"
export CARGO_TARGET_DIR=$cache/target CARGO_PROFILE_DEV_DEBUG=0

# --- What rows use to get their library.

fetched() { # COMMAND...: of a package manager; its last words are the reason
	timeout 400 "$@" || return 77
}

crate() { # the one in this directory, fetched and built
	have cargo || return 77
	[ "$(printf '1.79\n%s\n' "$(rustc --version | cut -d' ' -f2)" | sort -V | head -n 1)" = 1.79 ] || {
		echo "rustc is older than 1.79"
		return 77
	}
	fetched cargo fetch -q && timeout 500 cargo build -q --offline
}

of_crate() { # NAME jq-EXPRESSION
	cargo metadata -q --offline --format-version 1 |
		jq -r --arg name "$1" "[.packages[] | select(.name == \$name)][0] | $2"
}

crate_version() { # NAME
	of_crate "$1" .version
}

crate_directory() { # NAME
	dirname "$(of_crate "$1" .manifest_path)"
}

# --- The ways. Each leaves what the program said in $work/own, and its status in $status.

alone() { # TURNS PAUSE: in the background, as $pid
	LD_PRELOAD=$preloads "${command[@]}" "$1" "$2" >"$work/own" 2>"$work/errors" &
	pid=$!
	started+=("$pid")
	await 600 grep -q ^ready "$work/own"
}

ends() {
	wait "$pid"
	status=$?
}

# Threads are stopped while they are looked at: a running one could be read by luck alone.
by_inspect() {
	alone "$turns" "$pause" || return
	bounded "$weft" inspect --json --watch -i 10ms --stop -t worker "$pid" >"$work/looks" 2>"$work/err" &
	looker=$!
	ends
	wait "$looker"
	seen_by_looks >"$work/seen"
}

by_record() {
	bounded "$weft" record -F 999 -o "$work/a.jfr" -- "${command[@]}" "$turns" "$pause" \
		>"$work/own" 2>"$work/err"
	status=$?
	seen_in_recording cpu >"$work/seen"
}

by_wall() {
	bounded "$weft" record -e wall --wall-frequency 150 -o "$work/a.jfr" -- \
		"${command[@]}" "$turns" "$pause" >"$work/own" 2>"$work/err"
	status=$?
	seen_in_recording wall --where state=sleeping >"$work/seen"
}

by_attach() {
	alone "$turns" "$pause" || return
	if [ -n "$carries" ]; then
		bounded "$weft" record -F 999 -o "$work/a.jfr" -p "$pid" 2>"$work/err"
		ends
		seen_in_recording cpu >"$work/seen"
	else
		bounded "$weft" record -e wall --wall-frequency 150 -o "$work/a.jfr" -p "$pid" 2>"$work/err"
		ends
		seen_in_recording wall --where state=sleeping >"$work/seen"
	fi
}

# What the program counts that this way sees: the column of its lines.
measure() { # WAY
	case $1$carries in
		inspect*) echo 5 ;;
		record* | attachyes) echo 3 ;;
		*) echo 4 ;;
	esac
}

# --- What was seen of the workers: lines "SPAN LABEL SAMPLES", `-` for none.

seen_by_looks() {
	jq -r --arg key "$labels" '.threads[] | select(.name == "worker") | .contexts[0] //
		{} | select(.torn | not) | [.span_id // "-", .attributes[$key] // "-"] | @tsv' "$work/looks" |
		sort | uniq -c | awk '{ print $2, $3, $1 }'
}

asked() { # JQ-FILTER OPTION...
	local filter=$1
	shift
	bounded "$weft" report --json --top 0 --where thread=worker "$@" "$work/a.jfr" | jq -r "$filter"
}

seen_in_recording() { # EVENT OPTION...
	local event=$1 span samples
	shift
	asked '.rows[] | [.key, .samples] | @tsv' --event "$event" "$@" --by span >"$work/spans"
	while read -r span samples; do
		if [ "$span" = "(none)" ] || [ -z "$labels" ]; then
			echo "${span/(none)/-} - $samples"
		else
			asked '.rows[] | [.key, .samples] | @tsv' --event "$event" "$@" \
				--where "span=$span" --by "label:$labels" |
				awk -v span="$span" '{ print span, $1 == "(none)" ? "-" : $1, $NF }'
		fi
	done <"$work/spans"
}

# --- The judgement.

# shares_agree COLUMN KEY: KEY is 1, the tenant (by the label), or 2, the span. Says the shares of
# both tenants, of all looks, and the true ones.
shares_agree() {
	tail -n 5 "$work/err"
	awk -v column="$1" -v key="$2" '
		function agrees(seen, n, truth,   error, off) {
			error = sqrt(truth * (1 - truth) / n)
			off = seen / n - truth
			text = text sprintf("%.1f/%.1f ", 100 * seen / n, 100 * truth)
			if ((off < 0 ? -off : off) > 5 * error + 0.01) bad = 1
		}
		FNR == NR { if (NF == 5) { name[++rows] = $key; own[rows] = $column; sum += $column }; next }
		{ seen[key == 1 ? $2 : $1] += $3; all += $3 }
		END {
			a = seen[name[1]]; b = seen[name[2]]
			if (rows != 3 || all < 200) { print rows + 0 " lines, " all + 0 " looks"; exit 1 }
			agrees(a, all, own[1] / sum)
			agrees(b, all, own[2] / sum)
			if (a + b) agrees(a, a + b, own[1] / (own[1] + own[2]))
			print text "of " all
			exit bad
		}' "$work/own" "$work/seen"
}

# Looks with one tenant's label and the other's span, or with a label or a span of nobody's, are
# wrong; but for the few that meet a program between two stores.
nothing_is_wrong() {
	local wrong
	wrong=$(awk -v labels="$labels" '
		FNR == NR { if (NF == 5 && $1 != "none") tenant[$2] = $1; next }
		$1 == "-" && $2 == "-" { next }
		!($1 in tenant) || labels && $2 != tenant[$1] { wrong += $3; print > "/dev/stderr" }
		END { print wrong + 0 }' "$work/own" "$work/seen")
	echo "$wrong wrong looks"
	[ "$wrong" -le 5 ]
}

shape() { # FILE: what is said, without the figures
	sed -E 's/[0-9a-f]{16}/SPAN/; s/ [0-9]+/ N/g' "$1"
}

unharmed() {
	tail -n 20 "$work/err"
	same "$status_alone" "$status" && same "$(cat "$work/shape")" "$(shape "$work/own")" &&
		same "turns $((2 * turns))" "$(tail -n 1 "$work/own")"
}

way() { # WAY
	local column text
	column=$(measure "$1")
	: >"$work/seen"
	"by_$1" || note "$row, $1: it was never ready"
	check "$row, $1: the program says and returns what it does alone" unharmed
	check "$row, $1: shares by span" shares_agree "$column" 2
	text=$(tail -n 1 "$work/check.out")
	note "span: $text"
	if [ -n "$labels" ]; then
		check "$row, $1: shares by label" shares_agree "$column" 1
		note "label: $(tail -n 1 "$work/check.out")"
	else
		skip "$row, $1: shares by label" "the library publishes no label"
	fi
	check "$row, $1: no look tells another request" nothing_is_wrong || show "$work/seen"
	cells+=" | $text"
}

# --- The rows.

prepared() { # in the copy of the row's directory; 77: it cannot be had
	cd "$cache/tests/matrix/$row" && get
}

one_row() {
	local result
	row=$1 cells="" command=()
	defaults
	. "$source/tests/matrix/$row/row.sh"
	pushd "$work" >/dev/null || return
	prepared >"$work/get" 2>&1
	result=$?
	popd >/dev/null || return
	if [ $result = 77 ]; then
		skip "$row" "$version: $(grep . "$work/get" | tail -n 1 | cut -c1-120)"
		table+=("| $row | $version | not here |")
		return
	fi
	check "$row: $version is there and builds" fails_unless "$result" || return
	LD_PRELOAD=$preloads bounded "${command[@]}" 5 0 >"$work/alone" 2>"$work/err"
	status_alone=$?
	shape "$work/alone" >"$work/shape"
	check "$row: the program runs alone" runs_alone || return
	for name in $ways; do
		way "$name"
	done
	table+=("| $row | $version$cells |")
}

fails_unless() { # STATUS
	cat "$work/get"
	return "$1"
}

runs_alone() {
	cat "$work/err" "$work/alone"
	same 3 "$status_alone" && same 10 "$(sed -n 's/^turns //p' "$work/alone")"
}

mkdir -p "$cache/tests" "$cache/bindings"
cp -r "$source/tests/matrix" "$cache/tests"
cp -r "$source/bindings/rust" "$source/bindings/rust-tracing" "$cache/bindings"
rm -rf "$cache"/bindings/*/target
cd "$source/tests/matrix" || exit 1
[ $# -gt 0 ] || set -- */
table=()
for name; do
	one_row "${name%/}"
done
note "shares of acme and globex of all looks, and of acme of both: seen/true, in %"
note "| row | library | ${ways// / | } |"
for line in "${table[@]}"; do
	note "$line"
done
finish
