#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bindings/cpp/weft_event.hpp by two compilers in two standards, with all warnings as errors; what
# such a program commits is in its recording. usage: events_cpp.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
n=0 status=0

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
	-Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wcast-qual -Wnull-dereference
	-Wdouble-promotion -Wformat=2 -Wundef -Werror"
weft=$libraries/../../weft
mkdir -p "$scratch/include/weft"
cp "$source/bindings/cpp/weft_event.hpp" "$scratch/include/weft"
export LD_LIBRARY_PATH="$libraries" WEFT_CACHE="$scratch/cache" WEFT_DIR="$scratch/run"

result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		status=1
		echo "not ok $n - $2"
		sed 's/^/# /' "$scratch/log"
	fi
}

# compiled COMPILER STANDARD FLAGS LIBRARY
compiled() {
	# shellcheck disable=SC2086
	"$1" -std="$2" $3 $warnings -I"$scratch/include" -isystem "$source/include" \
		-o "$scratch/events" "$source/tests/bindings/events.cpp" $4 -pthread >"$scratch/log" 2>&1
	result $? "$1 -std=$2 $3 $4: compiles"
}

ran() { # COMMAND...: as it says, and nothing else
	timeout 60 "$@" >"$scratch/log" 2>&1
	result $? "$*"
}

told() { # WHAT FILTER EXPECTED
	jq -cr ".recording.events[] | select(.type | startswith(\"cpp.\") or . == \"weft.TimedSpan\") | $2" \
		"$scratch/out.json" >"$scratch/log" 2>&1
	printf '%b' "$3" | cmp -s - "$scratch/log"
	result $? "$1"
}

recorded() {
	ran "$weft" record -o "$scratch/out.jfr" -- "$scratch/events" 8
	"$weft" print --json "$scratch/out.jfr" >"$scratch/out.json" 2>"$scratch/log"
	result $? "it is read"
	told "numbers" 'select(.type == "cpp.Numbers").values | [.bool_, .int8, .char16, .int16, .int32,
		.int64, .uint8, .uint16, .uint32, .float_, .double_]' \
		'[true,-8,"ß",-16,-32,-64,8,16,4000000000,0.5,-2.25]\n'
	told "texts" 'select(.type == "cpp.Texts").values | [.view, .c_string, .pooled, .span,
		(.thread != null)]' \
		'["","",null,null,false]\n["Zoë","c","pool","0000000000000abc",true]\n[null,null,null,null,false]\n'
	told "ways out" 'select(.type == "cpp.WayOut").values | [.n,
		(.stackTrace.frames[0].method.name | startswith("leave_by"))]' '[0,true]\n'
	told "contexts" 'select(.type == "cpp.Request").values.path' '/full\n'
	told "spans" 'select(.type == "weft.TimedSpan").values.name' 'checkout\n'
}

for compiler in g++ clang++; do
	command -v $compiler >/dev/null || { n=$((n + 1)); echo "ok $n # skip no $compiler"; continue; }
	for standard in c++17 c++20; do
		compiled $compiler $standard -O2 "-L$libraries -lweft"
		ran "$scratch/events" 0
	done
	compiled $compiler c++17 "-O0 -fno-inline" "$libraries/libweft.a"
	ran "$scratch/events" 0
	# shellcheck disable=SC2086
	echo '#include <weft/weft_event.hpp>' | $compiler -std=c++17 -fno-exceptions -fno-rtti $warnings \
		-I"$scratch/include" -isystem "$source/include" -x c++ -fsyntax-only - >"$scratch/log" 2>&1
	result $? "$compiler, no exceptions"
done
if command -v g++ >/dev/null && command -v jq >/dev/null && [ -x "$weft" ]; then
	compiled g++ c++17 -O1 "-L$libraries -lweft"
	recorded
	compiled g++ c++17 -O1 "$libraries/libweft.a"
	recorded
fi

# What is surely a mistake does not compile.
if command -v g++ >/dev/null; then
	for line in 't.emit();' 't.emit(1, 2);' 't.emit("text");' 'weft::event{t};' \
		'weft::event a(t), b(a);' 'static weft::event_type<int *> wrong("a.B", {}, {"p"});' \
		'static weft::event_type<int, int> few("a.B", {}, {"p"});'; do
		echo "#include <weft/weft_event.hpp>
			static weft::event_type<int> t(\"a.T\", {}, {\"n\"});
			int main() { t.emit(1); $line }" >"$scratch/wrong.cpp"
		g++ -std=c++17 -Wall -Werror -I"$scratch/include" -I"$source/include" \
			-c -o "$scratch/wrong.o" "$scratch/wrong.cpp" 2>"$scratch/log" && echo "it compiles" >"$scratch/log"
		! grep -qx "it compiles" "$scratch/log"
		result $? "refused: $line"
	done
fi
echo "1..$n"
exit $status
