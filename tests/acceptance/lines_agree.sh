#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines and inlined functions: the weight is on the lines where it is, as addr2line sees the
# sampled addresses, and as go tool pprof and the JDK read the same recording.
. "$(dirname "$0")/lib.sh"
have jq || skip_all "jq is not installed"
source=$(cd "$(dirname "$0")" && pwd)/hot_lines.c
program=$tools/hot-lines

record() {
	bounded "$weft" record -F 240 -o "$work/a.jfr" -- "$program" 2000 2>"$work/err" &&
		bounded "$weft" report --json --by line "$work/a.jfr" >"$work/lines.json"
}

disassembles() {
	! bounded "$weft" annotate main -d "$work/a.jfr" 2>/dev/null | grep -q 'without a disassembler'
}

hot_line() { grep -n "HOT $1 " "$source" | cut -d: -f1; }

# self of the marked lines, each of its own function, with the head of their loop: how much of the
# loop's weight falls on its counter is the processor's affair
share_is_on_hot_lines() {
	local all sum=0 name line self
	all=$(jq .samples "$work/lines.json")
	for name in scramble divide other; do
		line=$(hot_line "$name")
		self=$(jq --arg f "$name" --argjson l "$line" '[.rows[] |
			select(.function == $f and (.line == $l or .line == $l - 1) and (.file | endswith("hot_lines.c"))) |
			.self_samples] | add // 0' "$work/lines.json")
		note "$name, line $line: $self of $all samples"
		at_least 1 "$self" || return 1
		sum=$((sum + self))
	done
	at_least "$(awk -v n="$all" 'BEGIN { print 0.95 * n }')" "$sum"
}

# Each sampled instruction by addr2line: "function line samples", summed.
by_addr2line() {
	local function
	for function in serve other main; do
		bounded "$weft" annotate "$function" --disassemble --json "$work/a.jfr" |
			jq -r '.instructions[] | select(.self_samples > 0) |
				"\(.address) \(.self_samples)"'
	done | while read -r address samples; do
		bounded addr2line -i -f -e "$program" "$(printf '0x%x' "$address")" | head -2 |
			paste -sd' ' | sed "s/^\([^ ]*\) .*:\([0-9]*\).*/\1 \2 $samples/"
	done | awk '{ n[$1 " " $2] += $3 } END { for (k in n) print k, n[k] }' | sort
}

by_weft() {
	jq -r '.rows[] | select(.self_samples > 0 and ((.file // "") | endswith("hot_lines.c"))) |
		"\(.function) \(.line) \(.self_samples)"' "$work/lines.json" | sort
}

agrees_with_addr2line() {
	by_addr2line >"$work/theirs" && by_weft >"$work/ours" || return 1
	at_least 3 "$(wc -l <"$work/ours")" && diff "$work/theirs" "$work/ours"
}

# The heaviest line of an annotated function is the marked one, shown with its text.
annotate_shows() {
	bounded "$weft" annotate "$1" "$work/a.jfr" >"$work/text" || return 1
	bounded "$weft" annotate "$1" --json "$work/a.jfr" >"$work/annotated.json" || return 1
	same "$(hot_line "$1")" \
		"$(jq '[.sources[].lines[]] | max_by(.self_ns) | .line' "$work/annotated.json")" &&
		grep -q "HOT $1 " "$work/text"
}

# Two static functions of one name: the instructions of each have the weight of its own lines.
twins_are_told_apart() {
	bounded "$weft" record -F 240 -o "$work/t.jfr" -- "$tools/twins" 1000 2>"$work/err" &&
		bounded "$weft" annotate twin --disassemble --json "$work/t.jfr" >"$work/twins.json" ||
		return 1
	jq -r '.sources[] | "\(.file) \([.lines[].self_samples] | add)"' "$work/twins.json" |
		sort >"$work/by_line"
	jq -r '.instructions | group_by(.file)[] |
		"\(.[0].file) \([.[].self_samples] | add)"' "$work/twins.json" |
		sort >"$work/by_instruction"
	same 2 "$(wc -l <"$work/by_line")" && diff "$work/by_line" "$work/by_instruction" &&
		same 2 "$(jq '[.instructions[] | select(.offset == 0)] | length' "$work/twins.json")"
}

pprof_list() {
	bounded "$weft" convert "$work/a.jfr" --to pprof -o "$work/a.pb.gz" &&
		PPROF_TMPDIR=$work bounded go tool pprof -sample_index=samples -list '^scramble$' \
			"$work/a.pb.gz" >"$work/list" 2>/dev/null || return 1
	local ours theirs
	ours=$(jq --argjson l "$(hot_line scramble)" '[.rows[] | select(.function == "scramble" and
		.line == $l) | .self_samples] | add' "$work/lines.json")
	theirs=$(awk '/HOT scramble/ { print $1 }' "$work/list")
	same "$ours" "$theirs"
}

jdk_shows_lines() { # HOME
	bounded "$1/bin/jfr" print --events jdk.ExecutionSample "$work/a.jfr" >"$work/print" || return 1
	at_least 10 "$(grep -c "hot-lines.scramble() line: $(hot_line scramble)$" "$work/print")" &&
		at_least 10 "$(grep -c 'hot-lines.main() line: [1-9]' "$work/print")"
}

check "record a program compiled with -O2 -g" record || finish
check "95 % of the weight is on the loops that burn it, in the functions inlined there" \
	share_is_on_hot_lines
if have addr2line && disassembles; then
	check "every sampled address is on the line that addr2line says" agrees_with_addr2line
else
	skip "addr2line" "not installed, or weft is built without a disassembler"
fi
for function in scramble divide other; do
	check "annotate $function: the heaviest line, with its text" annotate_shows "$function"
done
if disassembles; then
	check "functions of one name: each has its own instructions" twins_are_told_apart
else
	skip "functions of one name" "built without a disassembler"
fi
if have go; then
	check "go tool pprof -list has the same weight on it" pprof_list
else
	skip "go tool pprof" "go is not installed"
fi
for home in $(jdk 17) $(jdk 25); do
	check "$(basename "$home"): jfr print shows lines" jdk_shows_lines "$home"
done
finish
