#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libweft-late.so opened by a program that runs already: it loads where no static TLS is left,
# its hooks reach calls of every kind, and no handler of it asks for memory.
. "$(dirname "$0")/lib.sh"
sources=$SOURCE_ROOT/tests/runtime/late

build() { # NAME COMPILER ARGS...
	name=$1
	shift
	"$@" -O1 -I "$SOURCE_ROOT/include" "$sources/latecomer.c" -o "$out/$name" -ldl -pthread
}

# began THREADS-AFTER: every one by the start hook, all under their spans, the books balance.
began() {
	is "$1: status" "$status" -eq 0
	is "$1: primed by the start hook" "$(sum primed_hook)" -eq "$2"
	for number in $3; do
		is "$1: samples under $number" "$(span "$number")" -gt 0
	done
	is "$1: samples without a slot" "$(sum no_slot)" -eq 0
	books "$1"
}

late() { # PROGRAM ARGS...: not preloaded; opens the library itself
	timeout 100 "$TINY" -p 1000000 "$@" >"$out/answer" 2>"$out/errors"
	status=$?
}

# The object itself.
is "no static TLS is asked for" "$(readelf -d "$LIBWEFT_LATE" | grep -c STATIC_TLS)" -eq 0
is "its TLS is reached by descriptors" "$(readelf -rW "$LIBWEFT_LATE" | grep -c 'TLSDESC.*weft_thread_slot')" -eq 1
is "no other TLS" "$(readelf -rW "$LIBWEFT_LATE" | grep -Ec 'TPOFF|DTPMOD|DTPOFF|TLS_TPREL|TLS_DTPMOD')" -eq 0
is "no version requirements" "$(readelf -V "$LIBWEFT_LATE" | grep -c 'version_r\|Version needs')" -eq 0
is "never unloaded" "$(readelf -d "$LIBWEFT_LATE" | grep -c NODELETE)" -ge 1
nm -D --defined-only "$LIBWEFT" | awk '{ print $3 }' | sort >"$out/exported"
nm -D --defined-only "$LIBWEFT_LATE" | awk '{ print $3 }' | sort >"$out/exported_late"
# OpenTelemetry's variable libweft.so has beside it, lest it took the place of another's.
is "exports what libweft.so does, and libweft-otel.so" \
	"$(comm -3 "$out/exported" "$out/exported_late" | tr -d '\t')" = otel_thread_ctx_v1
for name in $(grep -v '^weft_\|^otel_' "$out/exported" | grep -v monstartup); do
	is "can be patched: $name" "$(grep -c "X($name," "$SOURCE_ROOT/src/runtime/hooks/patch.c")" -ge 1
done
is "own words are read in one place: $(grep -l '= weft_thread_slot\|, weft_thread_slot' "$SOURCE_ROOT"/src/runtime/*/*.c)" \
	"$(cat "$SOURCE_ROOT"/src/runtime/*/*.c | grep -c '= weft_thread_slot\|(weft_thread_slot\|, weft_thread_slot')" -eq 0

cc=${CC:-cc}
"$cc" -O1 -shared -fPIC "$sources/plugin.c" -o "$out/libplugin.so" -pthread
"$cc" -shared -fPIC -DBYTES=200 "$sources/tls.c" -o "$out/large.so"
"$cc" -shared -fPIC -DBYTES=8 "$sources/tls.c" -o "$out/small.so"
"$cc" -O1 -shared -fPIC "$sources/mallocs.c" -o "$out/mallocs.so"
mkdir "$out/full"
i=1
while [ $i -le 60 ]; do
	cp "$out/large.so" "$out/full/large-$i.so"
	cp "$out/small.so" "$out/full/small-$i.so"
	i=$((i + 1))
done

# A program's own probe finds it, when it is opened before the first coroutine.
"$cc" -O1 -I "$SOURCE_ROOT/include" "$sources/coroutine.c" -o "$out/coroutine" -ldl
for how in global local; do
	timeout 100 "$out/coroutine" "$LIBWEFT_LATE" $how
	is "a coroutine's labels are its own: $how" $? -eq 0
done

# Calls of every kind: bound early and late, by a table that RELRO protects, without one.
build plain "$cc"
build lazy "$cc" -Wl,-z,lazy
build relro "$cc" -Wl,-z,relro,-z,now
build noplt "$cc" -fno-plt
build fixed "$cc" -no-pie -fno-pie
for program in plain lazy relro noplt fixed; do
	late "$out/$program" -p "$out/libplugin.so" "$LIBWEFT_LATE" 2 2 160
	began "$program" 3 "100 101 102 103 900 aa"
	is "$program: patched" "$(sum calls_patched)" -ge 3
done
late "$out/plain" "$LIBWEFT" 1 2 160
began "libweft.so itself, where there is room for it" 2 "100 101 102 aa"

# Not found but by the paths of who calls: the loader must see the program, not us.
build by_name "$cc" -Wl,--enable-new-dtags "-Wl,-rpath,\$ORIGIN"
late "$out/by_name" -p libplugin.so "$LIBWEFT_LATE" 0 1 160
began "a library found by the program's own paths" 2 "100 900 aa"
late "$out/plain" -p libplugin.so "$LIBWEFT_LATE" 0 1 160
is "and not where the program has none" "$status" -eq 1

late "$out/plain" -g 300 -p "$out/libplugin.so" "$LIBWEFT_LATE" 1 1 160
began "threads begin while a library comes and goes" 303 "aa"

WEFT_HOOKS=-threads late "$out/plain" "$LIBWEFT_LATE" 1 2 160
began "without the start hook" 0 "100 101 102 aa"

# No static TLS left: seats instead, and nothing that could call malloc in a handler.
late "$out/plain" -k -f "$out/full" -e "$LIBWEFT" -p "$out/libplugin.so" "$LIBWEFT_LATE" 2 2 160
began "no static TLS" 3 "100 101 102 103 900 aa bb cc"
is "no static TLS: libweft.so fails cleanly" "$(grep -c '^libweft.so: .*static TLS' "$out/answer")" -eq 1
for hooks in +threads -threads; do
	WEFT_HOOKS=$hooks late env "LD_PRELOAD=$out/mallocs.so" \
		"$out/plain" -f "$out/full" -e "$LIBWEFT" "$LIBWEFT_LATE" 3 3 60
	is "no memory asked for in a handler ($hooks): status" "$status" -eq 0
	is "no memory asked for in a handler ($hooks): samples" "$(span 105)" -gt 0
done

# Together with a preloaded libweft.so: one runtime.
tiny "$out/plain" "$LIBWEFT_LATE" 1 2 160
status=$?
began "preloaded as well" 3 "100 101 102 aa"
is "preloaded as well: one session" "$(grep -c '^session ' "$out/answer")" -eq 1
# The program exports a copy of its own (libweft.a), a guest of the preloaded one, and stands
# before that in every lookup: the third copy must come to the same master.
build exporting "$cc" -rdynamic -Wl,--whole-archive "$LIBWEFT_A" -Wl,--no-whole-archive
tiny "$out/exporting" "$LIBWEFT_LATE" 1 2 160
status=$?
began "beside an exported libweft.a" 3 "100 101 102 aa"
is "beside an exported libweft.a: one session" "$(grep -c '^session ' "$out/answer")" -eq 1
"$cc" -O1 -shared -fPIC -o "$out/static.so" -Wl,--whole-archive "$LIBWEFT_A" -Wl,--no-whole-archive
tiny "$out/exporting" "$out/static.so" 1 2 160
status=$?
began "a static plugin beside it" 3 "100 101 102 aa"
"$WEFT" record -o "$out/plugin.jfr" -- "$out/exporting" "$out/static.so" 1 2 1500 >"$out/said" 2>&1
is "a static plugin beside it: recorded" $? -eq 0
is "a static plugin beside it: not called unrecorded" "$(grep -c unrecorded "$out/said")" -eq 0
late "$out/plain" "$LIBWEFT_LATE" 0 1 160
is "children are not recorded: no preload" "$(grep -c '^session ' "$out/answer")" -eq 1

if command -v c++ >/dev/null && c++ -O1 -std=c++11 "$sources/threads.cc" -o "$out/cxx" -ldl -pthread; then
	late "$out/cxx" "$LIBWEFT_LATE" 3 60
	is "C++: status" "$status" -eq 0
	is "C++: std::thread goes through the start hook" "$(sum primed_hook)" -eq 3
	books "C++"
fi

if command -v musl-gcc >/dev/null; then
	musl-gcc -O1 -shared -fPIC "$sources/plugin.c" -o "$out/libplugin.so" &&
		build musl musl-gcc
	late "$out/musl" -k -p "$out/libplugin.so" "$LIBWEFT_LATE" 2 2 160
	began "musl" 3 "100 101 102 103 900 aa bb cc"
fi
exit $failed
