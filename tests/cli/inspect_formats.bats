#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft inspect: all formats, of strangers and of weft, against gdb.

load common
load carry

contexts() { jq -c "[.threads[].contexts[] | select(.abi == \"$1\") | $2] | sort" stdout; }

# same FOUND EXPECTED
same() {
	[ "$1" = "$2" ] || {
		printf 'found:    %s\nexpected: %s\n' "$1" "$2"
		cat stdout stderr
		return 1
	}
}

# What a stranger's three threads publish, and its process.
all_of_the_stranger() {
	same "$(jq -c 'def of(abi; f): [.threads[].contexts[] | select(.abi == abi) | f] | sort;
		of("otel"; .span_id), of("otel"; .root_span_id),
		([of("otel"; .trace_id), of("otel"; .attributes["http.route"]), of("otel"; .attributes["#7"])] | map(unique)),
		of("custom-labels"; .span_id),
		(of("custom-labels"; .root_span_id, .trace_id) | unique),
		(of("custom-labels"; .attributes.tenant) | unique),
		(of("custom-labels"; .attributes | keys) | unique),
		[.threads[] | select(.contexts == []) | .tid],
		[.threads[].contexts[] | select(.torn or .unreadable or .cut)],
		.process.otel_process.resource, .process.otel_process.keys,
		([.process.otel_process, .process.otel_thread, .process.custom_labels | .publisher] | unique),
		.process.weft' stdout)" "$(cat <<-END
		["0000000000001001","0000000000001002","0000000000001003"]
		["0000000000002001","0000000000002002","0000000000002003"]
		[["a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"],["/orders"],["x"]]
		["0000000000001001","0000000000001002","0000000000001003"]
		[null]
		["first"]
		[["line","span-id","tenant"]]
		[$pid]
		[]
		{"service.name":"stranger"}
		["datadog.local_root_span_id","http.route"]
		["another library"]
		null
	END
	)"
}

@test "a stranger that publishes all by itself: in the program" {
	start one "$WEFT_STRANGER"
	weft inspect --json "$pid"
	expect_status 0
	all_of_the_stranger
}

@test "in a program that exports nothing: by .symtab" {
	local symbols
	for program in "$WEFT_STRANGER_HIDDEN" ${WEFT_STRANGER_STATIC:+"$WEFT_STRANGER_STATIC"}; do
		symbols=$(readelf -W --dyn-syms "$program")
		expect_not grep -q custom_labels <<<"$symbols"
		start one "$program"
		weft inspect --json "$pid"
		expect_status 0
		all_of_the_stranger
		weft inspect --stop --json "$pid"
		all_of_the_stranger
	done
}

@test "in a library that was loaded by dlopen" {
	start one "$WEFT_STRANGER_OPENS" "$WEFT_STRANGER_LIBRARY"
	weft inspect --json "$pid"
	expect_status 0
	all_of_the_stranger
	same "$(jq -r '.process.otel_thread.modules[]' stdout)" "$WEFT_STRANGER_LIBRARY"
}

# The threads' contexts in a library's own variable, each once.
own_variable_alone() {
	weft inspect --json "$pid"
	expect_status 0
	same "$(contexts otel .span_id)" '["0000000000001001","0000000000001002","0000000000001003"]'
	same "$(jq -r '.process.otel_thread.modules[]' stdout)" "$WEFT_STRANGER_LIBRARY"
	same "$(jq -r '.process.otel_thread.publisher' stdout)" "another library"
}

@test "weft in the process takes no other library's variable away" {
	start one env LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" "$WEFT_STRANGER_OPENS" "$WEFT_STRANGER_LIBRARY"
	own_variable_alone
	start one env LD_PRELOAD="$WEFT_BUILD/src/runtime/libweft.so" WEFT_PUBLISH=v1,otel \
		"$WEFT_STRANGER_OPENS" "$WEFT_STRANGER_LIBRARY"
	weft inspect --json "$pid"
	same "$(contexts otel .span_id)" '["0000000000001001","0000000000001002","0000000000001003"]'
}

@test "nor does a recording" {
	start one "$WEFT" record -o one.jfr -- "$WEFT_STRANGER_OPENS" "$WEFT_STRANGER_LIBRARY"
	pid=$(pgrep -P "$pid" -x stranger-opens)
	CARRIED+=("$pid")
	own_variable_alone
}

@test "a variable of which several objects have the symbol is read once" {
	start one env LD_PRELOAD="$WEFT_STRANGER_LIBRARY" "$WEFT_STRANGER_OPENS" "$WEFT_STRANGER_TWIN"
	weft inspect --json "$pid"
	expect_status 0
	all_of_the_stranger
	same "$(jq -r '.process.otel_thread.modules | length' stdout)" 2
}

@test "--stop says the same, and gdb too" {
	start one "$WEFT_STRANGER"
	weft inspect --stop --json "$pid"
	expect_status 0
	all_of_the_stranger
	command -v gdb >/dev/null || skip "no gdb"
	gdb -nx -batch -p "$pid" -ex 'thread apply all -q -s x/8xb (char *)otel_thread_ctx_v1 + 16' \
		>gdb.out 2>gdb.err || true
	sed -n 's/^0x[0-9a-f]*[^:]*:\t//p' gdb.out | sed 's/0x//g; s/\t//g' |
		grep -v '^Cannot' | sort >gdb.spans
	[ -s gdb.spans ] || skip "gdb cannot look into it: $(head -n 2 gdb.err)"
	jq -r '.threads[].contexts[] | select(.abi == "otel") | .span_id' stdout | sort >ours
	diff gdb.spans ours
}

@test "a stranger's text is no command to the terminal" {
	start one "$WEFT_STRANGER"
	weft inspect "$pid"
	expect_status 0
	expect_in "$out" 'line=a\x0ab\x1b[31m'
	expect_not grep -q $'\033' stdout
	expect_in "$out" "by another library"
	expect_in "$out" "service.name=stranger"
}

@test "the same ids and labels in all formats of weft" {
	start one env LD_PRELOAD="$WEFT_CUSTOM_LABELS" WEFT_PUBLISH=v1,labels,otel \
		OTEL_SERVICE_NAME=shop "$WEFT_LABELLED"
	weft inspect --json "$pid"
	expect_status 0
	for abi in weft otel custom-labels; do
		same "$(contexts $abi .span_id)" '["0000000000001111","0000000000001111"]'
		same "$(contexts $abi .root_span_id)" '["0000000000002222","0000000000002222"]'
		same "$(contexts $abi .attributes.tenant)" '["acme","zeta"]'
		same "$(contexts $abi .attributes.route)" '["/a b","/a b"]'
	done
	for abi in weft otel; do
		same "$(contexts $abi .trace_id | jq -c unique)" '["abababababababababababababababab"]'
		same "$(contexts $abi .trace_flags | jq -c unique)" '[1]'
	done
	same "$(contexts weft .attributes.colour | jq -c unique)" '["blue"]'
	same "$(contexts weft '.attributes | keys' | jq -c unique)" '[["colour","route","tenant"]]'
	same "$(jq -c .process.weft.formats stdout)" '["v1","labels","otel"]'
	same "$(jq -r .process.otel_process.publisher stdout)" weft
	same "$(jq -r .process.otel_thread.publisher stdout)" weft
	same "$(jq -r .process.custom_labels.publisher stdout)" weft
	same "$(jq -r '.process.otel_process.resource["service.name"]' stdout)" shop
	weft inspect --stop --json "$pid"
	same "$(contexts weft .attributes.tenant)" '["acme","zeta"]'
	same "$(contexts otel .attributes.tenant)" '["acme","zeta"]'
	weft inspect "$pid"
	expect_in "$out" 'route="/a b"'
	expect_in "$out" "publishes v1, labels, otel"
}

@test "a format that is off is left out" {
	start one env LD_PRELOAD="$WEFT_CUSTOM_LABELS" WEFT_PUBLISH=otel "$WEFT_LABELLED"
	weft inspect --json "$pid"
	expect_status 0
	same "$(contexts weft .span_id)" '[]'
	same "$(contexts otel .attributes.tenant)" '["acme","zeta"]'
	same "$(contexts custom-labels .span_id)" '[]'
}

@test "killed while it has a thread stopped, it leaves the thread unharmed" {
	start one "$WEFT_STRANGER"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		"$WEFT" inspect --stop --watch --interval 1ms "$pid" >/dev/null 2>&1 3>&- &
		watcher=$!
		sleep 0.05
		kill -KILL "$watcher"
		wait "$watcher" || true
	done
	for task in /proc/"$pid"/task/*; do
		until_true grep -q '^State:.[SR]' "$task/status"
		grep -q '^TracerPid:.0' "$task/status"
	done
	weft inspect --json "$pid"
	all_of_the_stranger
}

# Of all contexts that are not torn: span, trace id and label are of one of them.
contexts_agree() {
	same "$(jq -c '[.threads[].contexts[] | select(.torn != true and .span_id != null)] | length > 0' stdout)" true
	same "$(jq -c '.threads[].contexts[] | select(.torn != true and .span_id != null) | .span_id[-1:] as $n |
		select(.span_id != "000000000000100" + $n or .attributes.who != "t" + $n or
			(.abi != "custom-labels" and .trace_id != ("0" + $n) * 16))' stdout)" ""
}

@test "coroutines: at rest in one, and while contexts change places" {
	start one env LD_PRELOAD="$WEFT_CUSTOM_LABELS" WEFT_PUBLISH=v1,labels,otel "$WEFT_CORO_SWITCHER"
	for _ in {1..15}; do
		weft inspect --json "$pid"
		expect_status 0
		contexts_agree
		same "$(jq -c '[.threads[].contexts[] | select(.span_id == "0000000000001002") | .abi] | unique' stdout)" \
			'["custom-labels","otel","weft"]'
	done
	weft inspect --stop --json "$pid"
	contexts_agree
	same "$(jq '[.threads[].contexts[] | select(.torn)] | length' stdout)" 0
	same "$(jq '[.threads[].contexts[]] | length' stdout)" 6
}

@test "the variable of a format that is off is nobody's, and no other library's" {
	start one env LD_PRELOAD="$WEFT_CUSTOM_LABELS" WEFT_PUBLISH=v1 "$WEFT_LABELLED"
	weft inspect --json "$pid"
	expect_status 0
	same "$(jq -c .process.otel_thread stdout)" null
	same "$(jq -r .process.custom_labels.publisher stdout)" weft
	weft inspect "$pid"
	expect_status 0
	expect_not grep -q 'another library' stdout
}
