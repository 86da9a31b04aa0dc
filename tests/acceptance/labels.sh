#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Labels of a real program, from its threads to the report: shares by label are those by span and
# those that the program measures; JDK and pprof read the same; a program that changes labels all
# the time is recorded with books that balance; waiting has labels as running has.
# labels.sh [--long]: four times as much work, so that a few lost labels in a thousand are seen.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
times=1
[ "${1-}" != --long ] || times=4

# report ARGUMENTS...: "key <tab> samples" of each row
by() {
	bounded "$weft" report "$@" --json --top 0 | jq -r '.rows[] | [.key, .samples] | @tsv' | sort
}

samples_of() { # FILE KEY...: of its rows
	awk -F'\t' -v key="$2" '$1 == key { n = $2 } END { print n + 0 }' "$1"
}

record() {
	bounded "$weft" record -F 400 -o "$work/a.jfr" -- "$tools/tenants" 3 $times >"$work/own" 2>"$work/err" &&
		by --by label:tenant "$work/a.jfr" >"$work/tenants" &&
		by --by root "$work/a.jfr" >"$work/roots" && cat "$work/own" "$work/tenants" "$work/roots"
}

# A sample between the first and the last store of a write may have the one and not the other:
# where the ids are being written, it has none, and labels all the same.
labels_are_spans() {
	local label root
	cat "$work/tenants" "$work/roots"
	for pair in acme:0000000000000ace beta:000000000000be7a; do
		label=$(samples_of "$work/tenants" "${pair%:*}")
		root=$(samples_of "$work/roots" "${pair#*:}")
		[ "$label" -gt 100 ] && [ $((label > root ? label - root : root - label)) -le 5 ] || return 1
	done
}

shares_are_right() {
	awk -v acme="$(samples_of "$work/tenants" acme)" -v beta="$(samples_of "$work/tenants" beta)" '
		{ own[$1] = $2 }
		END {
			a = 100 * acme / (acme + beta); b = 100 * own["acme"] / (own["acme"] + own["beta"])
			printf "acme: %.1f %% of samples, %.1f %% of its own CPU time\n", a, b
			exit b < 60 || a - b > 6 || b - a > 6
		}' "$work/own"
}

crossed() { # samples with one tenant's label and the other's root span
	local n=0 one
	for pair in acme:000000000000be7a beta:0000000000000ace; do
		one=$(bounded "$weft" report "$work/a.jfr" --where "label:tenant=${pair%:*}" \
			--where "root=${pair#*:}" --json 2>/dev/null | jq .samples)
		n=$((n + one))
	done
	note "$n samples between ids and labels"
	[ "$n" -le 5 ]
}

every_way_is_there() {
	by --by label:http.route "$work/a.jfr" >"$work/routes" || return 1
	cat "$work/routes"
	for route in /batch /scope /checkout /search; do
		at_least 20 "$(samples_of "$work/routes" "$route")" || return 1
	done
}

where_selects() { # a pattern is the sum of what it matches
	by --by label:tenant --where 'label:http.route=/[bs]*' "$work/a.jfr" >"$work/none"
	by --by label:tenant --where 'label:http.route=/s*' "$work/a.jfr" >"$work/some" || return 1
	same "$(($(samples_of "$work/routes" /scope) + $(samples_of "$work/routes" /search)))" \
		"$(awk -F'\t' '{ n += $2 } END { print n }' "$work/some")"
}

overview_lists() {
	bounded "$weft" report "$work/a.jfr" >"$work/overview" || return 1
	grep -x 'labels      .*tenant.*' "$work/overview" && grep 'label:tenant$' "$work/overview"
}

unknown_is_told() {
	"$weft" report "$work/a.jfr" --by label:tenent >"$work/out" 2>"$work/warned"
	cat "$work/warned"
	grep "no label 'tenent'; there are: .*tenant" "$work/warned"
}

balanced() { # FILE
	bounded "$weft" report --json "$1" >"$work/json" || return 1
	jq -c '.books, .lost' "$work/json"
	same true "$(jq .books.balanced "$work/json")" && same 0 "$(jq .books.difference "$work/json")"
}

pprof_agrees() {
	bounded "$weft" convert "$work/a.jfr" --to pprof -o "$work/a.pb.gz" || return 1
	PPROF_TMPDIR=$work bounded go tool pprof -tags -sample_index=samples "$work/a.pb.gz" \
		>"$work/tags" 2>/dev/null || return 1
	sed -n '/^ tenant:/,/^$/p' "$work/tags"
	for tenant in acme beta; do
		same "$(samples_of "$work/tenants" $tenant)" "$(awk -v tenant=$tenant '
			/^ [^ ].*:/ { on = $1 == "tenant:" }
			on && $NF == tenant { print $1 }' "$work/tags")" || return 1
	done
}

collapsed_agrees() {
	bounded "$weft" convert "$work/a.jfr" --to collapsed --by label:tenant -o "$work/stacks" || return 1
	for tenant in acme beta; do
		same "$(samples_of "$work/tenants" $tenant)" \
			"$(awk -v t="tenant=$tenant;" 'index($0, t) == 1 { n += $NF } END { print n }' "$work/stacks")" ||
			return 1
	done
}

jdk_prints() { # HOME: as many spans with each tenant as there are in the file
	bounded "$1/bin/jfr" summary "$work/a.jfr" >"$work/summary" && grep weft.Span "$work/summary" || return 1
	bounded "$1/bin/jfr" print --events weft.Span "$work/a.jfr" >"$work/print" || return 1
	at_least 100 "$(grep -c '^ *tenant = "acme"' "$work/print")" &&
		at_least 20 "$(grep -c '^ *http_route = "/scope"' "$work/print")" &&
		at_least 50 "$(grep -Ec '^ *request = "[0-9]+"' "$work/print")"
}

jdk_shows_context() { # each sample with its tenant's name
	bounded "$1/bin/jfr" print --events jdk.ExecutionSample "$work/a.jfr" >"$work/print" || return 1
	grep -m 3 'Context: ' "$work/print"
	for tenant in acme beta; do
		same "$(samples_of "$work/tenants" $tenant)" \
			"$(grep -c "Context: .*tenant.*$tenant\|^ *Context: .*$tenant" "$work/print")" || return 1
	done
}

churn() { # a million changes a second, or what the machine gives
	bounded "$weft" record -F 400 -o "$work/c.jfr" -- "$tools/tenants" churn $((times + 1)) \
		>"$work/count" 2>"$work/err" || return 1
	note "$(cat "$work/count") changes in $((times + 1)) s of CPU time"
	by --by label:http.route "$work/c.jfr" >"$work/c.routes"
	cat "$work/c.routes"
	for route in /a /bb /ccc; do
		at_least 50 "$(samples_of "$work/c.routes" $route)" || return 1
	done
	# Before the first label is set, a sample or two may have none.
	at_least $(($(awk -F'\t' '{ n += $2 } END { print n }' "$work/c.routes") - 2)) \
		"$(bounded "$weft" report "$work/c.jfr" --where label:tenant=acme --json | jq .samples)" &&
		at_least "$(samples_of "$work/c.routes" '(none)')" 2
}

waiting_has_labels() {
	bounded "$weft" record -e wall -o "$work/w.jfr" -- "$tools/tenants" wait 2 2>"$work/err" || return 1
	by --event wall --where state=sleeping --by label:tenant "$work/w.jfr" >"$work/w.tenants" || return 1
	cat "$work/w.tenants"
	awk -F'\t' '{ n[$1] = $2 }
		END {
			share = 100 * n["acme"] / (n["acme"] + n["beta"])
			printf "%.0f %% of the wait is for acme\n", share
			exit n["acme"] + n["beta"] < 20 || share < 65 || share > 85
		}' "$work/w.tenants"
}

# Who comes later is told what holds already: twice, for the second comes to the same session.
attached() {
	local n status=0
	"$tools/tenants" hold 20 &
	held=$!
	started+=("$held")
	for n in 1 2; do
		bounded "$weft" record -F 400 -p "$held" --duration 1 -o "$work/p$n.jfr" 2>"$work/err" || {
			cat "$work/err"
			status=1
			break
		}
		by --by label:tenant "$work/p$n.jfr" >"$work/p.tenants"
		cat "$work/p.tenants"
		awk -F'\t' '{ n += $2 } $1 == "acme" { a = $2 } END { exit a < 20 || a < n - 2 }' \
			"$work/p.tenants" || status=1
	done
	kill "$held"
	return $status
}

forked() { # the child has its parent's labels
	bounded "$weft" record -F 400 -o "$work/f.jfr" -- "$tools/tenants" fork 0.5 2>"$work/err" || return 1
	by --by label:tenant "$work/f.jfr" >"$work/f.tenants"
	cat "$work/f.tenants"
	awk -F'\t' '{ n += $2 } $1 == "acme" { a = $2 } END { exit a < 50 || a < 0.95 * n }' "$work/f.tenants"
}

# Sets of the program's own, changed in place: on a CPU and blocked.
of_the_program() {
	bounded "$weft" record -e cpu,wall -F 400 -o "$work/o.jfr" -- "$tools/own-labels" 1.5 2>"$work/err" || {
		cat "$work/err"
		return 1
	}
	by --event cpu --by label:tenant "$work/o.jfr" >"$work/o.cpu"
	by --event cpu --by label:request "$work/o.jfr" >"$work/o.requests"
	by --event wall --where state=sleeping --by label:tenant "$work/o.jfr" >"$work/o.wall"
	head -5 "$work/o.cpu" "$work/o.requests" "$work/o.wall"
	at_least 50 "$(wc -l <"$work/o.requests")" &&
		at_least 15 "$(samples_of "$work/o.wall" gamma)" &&
		same 0 "$(samples_of "$work/o.wall" acme)" &&
		awk -F'\t' '{ n[$1] = $2; all += $2 }
			END {
				share = 100 * n["acme"] / (n["acme"] + n["beta"])
				printf "%.0f %% for acme\n", share
				exit all < 200 || share < 65 || share > 85 || n["(none)"] > 5
			}' "$work/o.cpu"
}

without_ids() { # v1 off: no ids, labels all the same
	WEFT_PUBLISH=labels bounded "$weft" record -F 400 -o "$work/n.jfr" -- "$tools/tenants" 1 0.5 \
		>/dev/null 2>"$work/err" || return 1
	by --by root "$work/n.jfr" >"$work/n.roots" && by --by label:tenant "$work/n.jfr" >"$work/n.tenants"
	cat "$work/n.roots" "$work/n.tenants"
	same 1 "$(wc -l <"$work/n.roots")" && same '(none)' "$(cut -f1 "$work/n.roots")" &&
		at_least 50 "$(samples_of "$work/n.tenants" acme)"
}

check "two tenants, three threads, labels set one by one, in batches, in scopes" record || finish
check "samples by label:tenant are those by root span" labels_are_spans
check "... and as the program measures itself" shares_are_right
check "no sample has one tenant's label and the other's span, but for the instructions between" crossed
check "each way of setting labels is seen" every_way_is_there
check "--where label:KEY=PATTERN" where_selects
check "the overview lists labels" overview_lists
check "an unknown label is told, with what there is" unknown_is_told
check "the books balance" balanced "$work/a.jfr"
check "collapsed --by label:tenant has the same sums" collapsed_agrees
if have go; then
	check "go tool pprof -tags has the same sums" pprof_agrees
else
	skip "go tool pprof -tags" "go is not installed"
fi
for version in 17 25; do
	home=$(jdk $version)
	if [ -z "$home" ]; then
		skip "jfr of JDK $version" "it is not installed"
		continue
	fi
	check "jfr of JDK $version shows labels as fields of weft.Span" jdk_prints "$home"
	[ $version = 17 ] || check "... and beside each sample" jdk_shows_context "$home"
done
check "a label changed all the time: each sample has one" churn
check "... and the books balance" balanced "$work/c.jfr"
check "time of waiting has labels, also without a span" waiting_has_labels
check "recordings that attach are told what holds already" attached
check "a forked child has its parent's labels" forked
check "sets of the program's own" of_the_program
check "with v1 off samples have labels and no ids" without_ids
finish
