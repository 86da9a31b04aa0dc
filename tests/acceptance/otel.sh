#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenTelemetry's contexts as those outside see them: the process context found by the names of
# its mapping and decoded by protoc, the thread record's bytes, children, kernels that refuse
# things, other publishers in the process, no system call in a write; symbols by readelf.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
source=$here/../..
unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES WEFT_PUBLISH WEFT_OTEL_ROOT_KEY WEFT_OTEL_SCHEMA
message=opentelemetry.proto.processcontext.v1development.ProcessContext
all=7 # v1, labels, otel

# begin COMMAND...: a program that takes commands; its PID in $pid.
begin() {
	exec {to}>&- {from}<&-
	rm -f "$work/to" "$work/from"
	mkfifo "$work/to" "$work/from"
	"$@" <"$work/to" >"$work/from" 2>"$work/errors" &
	shell=$!
	started+=("$shell")
	exec {to}>"$work/to" {from}<"$work/from"
	pid=
	read -r -t "$patience" word pid <&"$from"
	[ "$word" = ready ]
}
exec {to}>/dev/null {from}</dev/null

# ask COMMAND...: its answer in $answer.
ask() {
	answer=
	echo "$*" >&"$to"
	read -r -t "$patience" answer <&"$from"
}

answers() { # EXPECTED COMMAND...
	local expected=$1
	shift
	ask "$@"
	echo "$*: $answer"
	[ "$answer" = "$expected" ]
}

end() {
	echo quit >&"$to"
	wait "$shell"
}

look() { python3 -I -S "$here/otel_read.py" "$pid" "$work/payload" >"$work/header"; }

decoded() { # into $work/context
	look || return 1
	protoc --decode=$message -I "$here" process_context.proto <"$work/payload" >"$work/context" 2>"$work/protoc" &&
		[ ! -s "$work/protoc" ]
}

# The value of a resource attribute; the keys of the map, in order.
attribute() {
	decoded && awk -v key="\"$1\"" '$1 == "key:" { seen = ($2 == key) }
		seen && $1 == "string_value:" { sub(/^ *string_value: "/, ""); sub(/"$/, ""); print; exit }' "$work/context"
}
keys() {
	decoded && awk '$1 == "key:" { seen = ($2 == "\"threadlocal.attribute_key_map\"") }
		seen && $1 == "string_value:" { gsub(/"/, "", $2); printf "%s ", $2 }' "$work/context"
}

is() { # LEFT RIGHT
	echo "<$1> <$2>"
	[ "$1" = "$2" ]
}
isnt() {
	echo "<$1> <$2>"
	[ -n "$1" ] && [ "$1" != "$2" ]
}
inspect_says() { # WHOSE process|thread
	"$weft" inspect "$pid" | tee /dev/stderr | grep -qE "OpenTelemetry $2 context: by $1;"
}
doctor_says() { # LIBRARY TEXT: in a program that has that library, too
	LD_PRELOAD=$1 "$weft" doctor 2>&1 | tr -s ' \n' ' ' | tee /dev/stderr | grep -qF "$2"
}
header_is() { # FIELD VALUE
	look
	is "$(sed -n "s/^$1 //p" "$work/header")" "$2"
}

# ---- the mapping and its payload

not_on_by_default() {
	begin "$tools/otel-shop" && ask label tenant acme && header_is mappings 0 && answers none record && end
}
check "nothing is published unless asked for" not_on_by_default

begin env OTEL_SERVICE_NAME=shop OTEL_RESOURCE_ATTRIBUTES='deployment.environment.name=a%2Cb,service.name=no' \
	WEFT_PUBLISH=v1,otel "$tools/otel-shop"
check "there is one mapping" header_is mappings 1
check "it is not executable" header_is rights rw-p
check "it is one page" header_is bytes "$(getconf PAGESIZE)"
check "the attributes that the reference reader wants, in its order" is "$(decoded && awk '$1 == "key:" { gsub(/"/, "", $2); print $2 }' \
	"$work/context" | head -n 7 | tr '\n' ' ')" "deployment.environment.name service.instance.id service.name service.version telemetry.sdk.language telemetry.sdk.version telemetry.sdk.name "
check "its header has signature" header_is signature OTEL_CTX
check "and version" header_is version 2
check "published in the past" header_is is_past 1
check "protoc decodes the payload" decoded
check "service.name by OTEL_SERVICE_NAME" is "$(attribute service.name)" shop
check "OTEL_RESOURCE_ATTRIBUTES, percent-decoded" is "$(attribute deployment.environment.name)" a,b
check "the schema's version" is "$(attribute threadlocal.schema_version)" tlsdesc_v1_dev
check "the root span's key comes first" is "$(keys)" "datadog.local_root_span_id "
first_time=$(sed -n 's/^time //p' "$work/header")
ask label tenant acme
ask label route /x
ask label "bad key" # a label of one word: `bad` = key
ask context
check "keys of labels follow" is "$(keys)" "datadog.local_root_span_id tenant route bad "
check "published later" test "$(sed -n 's/^time //p' "$work/header")" -gt "$first_time"
trace=abababababababababababababababab
check "the record: ids, flags, root and labels by index" answers \
	"${trace}000000000000100001012100001030303030303030303030303032303030010461636d6502022f7803036b6579" record
check "a resource attribute of the program" answers 0 resource service.version "1.4.2 beta"
check "is seen" is "$(attribute service.version)" "1.4.2 beta"
check "weft inspect says who publishes the process context" inspect_says weft process
check "and the thread's" inspect_says weft thread
check "off again: no mapping" eval 'answers "on 3 process 0 thread 0" select 3 && header_is mappings 0'
check "and no record" answers none record
check "on again" eval "answers 'on $all process 1 thread 1' select $all && header_is mappings 1"
end

begin env WEFT_PUBLISH=v1,otel "$tools/otel-shop"
check "the map has room for 256 keys" eval 'answers -1 fill && is "$(keys | wc -w)" 256'
ask label fill-3 x
ask label tenant acme
ask label tenant other
check "a label whose key has no room is left out and counted, once" eval 'answers "left_out 1 full 1 foreign 0" counters &&
	ask record && is "${answer: -6}" 040178'
end

# ---- names by defaults and options

begin env WEFT_PUBLISH=otel WEFT_OTEL_ROOT_KEY=my.root WEFT_OTEL_SCHEMA=tls_v1 \
	OTEL_RESOURCE_ATTRIBUTES='broken=%zz,service.name=no' "$tools/otel-shop"
check "unknown_service:NAME where nobody says more" is "$(attribute service.name)" unknown_service:otel-shop
check "WEFT_OTEL_SCHEMA" is "$(attribute threadlocal.schema_version)" tls_v1
check "WEFT_OTEL_ROOT_KEY" is "$(keys)" "my.root "
end
begin env WEFT_PUBLISH=otel WEFT_OTEL_ROOT_KEY= OTEL_RESOURCE_ATTRIBUTES='service.name= ,team=a%20b' "$tools/otel-shop"
check "an empty service.name is none" is "$(attribute service.name)" unknown_service:otel-shop
check "what stands beside it counts" is "$(attribute team)" "a b"
check "an empty WEFT_OTEL_ROOT_KEY: no key" is "$(keys)" ""
ask context
check "and no root span in the record" answers "${trace}000000000000100001010000" record
end

# ---- kernels that refuse things

refused() { # WHAT BITS: the formats that are on then
	begin "$tools/otel-refuse" $1 -- "$tools/otel-shop" && ask select $all
	is "${answer%% process*}" "on $2"
}
if "$tools/otel-refuse" memfd -- true 2>/dev/null; then
	check "a kernel without MFD_NOEXEC_SEAL" refused sealed $all
	check "is published there" header_is mappings 1
	end
	check "a kernel without names for mappings" refused naming $all
	check "is found by its file's name there" header_is name "/memfd:OTEL_CTX (deleted)"
	end
	check "without memfd_create, with names" refused "memfd named" $all
	check "the memory is anonymous there" header_is mappings 0
	ask label tenant acme
	check "and written all the same" eval 'ask record && [ "$answer" != none ]'
	end
	check "with neither it is not on, and says so" refused "memfd naming" 3
	check "and writes no record" eval 'ask label tenant acme && answers none record'
	end
else
	skip "kernels that refuse things" "no seccomp filter here"
fi

# ---- children

begin env WEFT_PUBLISH=v1,otel "$tools/otel-shop"
ask label tenant acme
instance=$(attribute service.instance.id)
parent=$pid
child_has_its_own() { # fork|_Fork|clone
	ask "$1"
	pid=${answer#child }
	header_is mappings 1 && isnt "$(attribute service.instance.id)" "$instance"
}
check "a forked child publishes its own, another instance" child_has_its_own fork
check "weft inspect does not say whose it is" inspect_says "weft or another library" process
check "with its parent's keys" is "$(keys)" "datadog.local_root_span_id tenant "
ask record
check "its record has its parent's labels" is "${answer: -12}" 010461636d65
ask label tenant other
child=$pid pid=$parent
check "its parent's are as they were" is "$(attribute service.instance.id)" "$instance"
pid=$child instance=$(attribute service.instance.id)
check "a child by a raw clone publishes at its first write" child_has_its_own clone
instance=$(attribute service.instance.id)
check "a child by _Fork publishes its own" child_has_its_own _Fork
ask record
check "its record is its own, and empty" is "${answer: -8}" 01000000
ask exec
pid=${answer#ready }
check "a program begun by exec publishes anew" header_is mappings 1
check "it has keys of its own only" is "$(keys)" "datadog.local_root_span_id "
end
silent_child() {
	begin env WEFT_PUBLISH=v1,otel "$tools/otel-shop" && ask context || return 1
	parent=$pid
	ask silent
	pid=${answer#child }
	header_is mappings 0
}
check "a child that nobody told of it has none" silent_child
check "its first call sets a resource attribute" answers 0 resource service.version 2
check "and is seen" is "$(attribute service.version)" 2
end
silent_child >/dev/null
check "its first call names a key" answers 1 key route
check "and is seen" is "$(keys)" "datadog.local_root_span_id route "
end
silent_child >/dev/null
check "its first call switches otel off, its parent's header stays" answers "on 3 process 1 thread 1" select 3
check "and on again" eval 'answers "on $all process 1 thread 1" select $all && header_is mappings 1'
pid=$parent
check "its parent's mapping stays" header_is mappings 1
end
begin env WEFT_PUBLISH=v1 "$tools/otel-shop"
ask resource service.name early
ask fork
pid=${answer#child }
check "a forked child without a session of its own switches otel on" eval 'ask select 5 && header_is mappings 1'
instance=$(attribute service.instance.id)
check "with what its parent said of itself" is "$(attribute service.name)" early
check "its own child is another instance" child_has_its_own fork
end

# ---- other publishers

begin env LD_PRELOAD="$tools/libotel-stranger.so" "$tools/otel-shop"
check "another process context came first" answers "on $all process 2 thread 1" select $all
check "no second one is published" header_is mappings 1
check "weft inspect says so" inspect_says "another library" process
check "the thread's is weft's" inspect_says weft thread
ask label tenant acme
ask label route /x
ask context
check "only keys of that library's map go out" answers "${trace}0000000000001000010106000104""61636d65" record
check "what is left out is counted" answers "left_out 1 full 0 foreign 0" counters
check "it appends a key, which is known once its map is looked at again" eval 'answers called call stranger_more &&
	answers 2 key route && ask label route /y && answers "${trace}000000000000100001010a000104""61636d6502022f79" record'
check "also at a thread's beginning and end" eval 'answers called call stranger_again && ask label shop x &&
	answers gone thread && ask label shop y && ask record && is "${answer: -6}" 030179'
check "resource attributes are its affair" answers -16 resource service.name x
end

check "another's thread symbol before weft's" eval 'begin env LD_PRELOAD="$tools/libotel-stranger-thread.so" "$tools/otel-shop" &&
	answers "on $all process 1 thread 2" select $all'
ask label tenant acme
check "is left alone" answers none record
check "weft inspect says so, too" inspect_says "another library" thread
check "and no keys are published" is "$(keys)" ""
end
check "another's thread symbol, out of sight" eval 'begin "$tools/otel-shop" &&
	answers opened open "$tools/libotel-stranger-thread.so" && answers "on $all process 1 thread 2" select $all'
ask label tenant acme
check "is left alone, too" answers none record
end

nothing_loaded() { # until it is asked for
	begin "$tools/otel-shop" && ! grep libweft-otel.so "/proc/$pid/maps" || return 1
	ask select $all
	is "$answer" "on $all process 1 thread 1" && grep libweft-otel.so "/proc/$pid/maps" && end
}
check "libweft-otel.so is loaded when the format is switched on" nothing_loaded
begin_by_link() {
	ln -s "$BUILD/src/runtime/libweft.so" "$work/preload-by-a-link.so"
	begin env LD_PRELOAD="$work/preload-by-a-link.so" WEFT_PUBLISH=v1,otel "$tools/otel-shop" || return 1
	grep libweft-otel.so "/proc/$pid/maps"
}
check "and found where libweft.so itself was preloaded by a link" begin_by_link
end
without_it() {
	mkdir -p "$work/alone" && cp "$BUILD/src/runtime/libweft.so" "$work/alone" || return 1
	begin env LD_LIBRARY_PATH="$work/alone" LD_PRELOAD="$work/alone/libweft.so" "$tools/otel-shop" &&
		answers "on 3 process 3 thread 0" select $all && header_is mappings 0 && end
}
check "where it is missing the format stays off, and the session says so" without_it
not_a_strangers() {
	cp "$BUILD/src/runtime/libweft-otel.so" "$work/alone" && chown "$1" "$work/alone/libweft-otel.so" || return 1
	without_it
}
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
	check "where another user has put it there, too" not_a_strangers nobody
else
	skip "where another user has put it there, too" "only root can try it"
fi

check "weft doctor says it of a process context" doctor_says "$tools/libotel-stranger.so" "process context by another library"
check "and of a thread's symbol" doctor_says "$tools/libotel-stranger-thread.so" "thread context by another library"

# ---- no system call in a write

if have strace && strace -o /dev/null true 2>/dev/null; then
	begin strace -f -o "$work/trace" "$tools/otel-shop"
	ask select $all
	ask quiet
	end
	between() { awk '/write\(-1, "mark"/ { marks++; next } marks == 1 { print } END { exit marks != 2 }' "$work/trace" >"$work/between"; }
	told_of_each() { # 101 keys are new; each is told of, and there is no other call
		between && sort "$work/between" | sed 's/^[0-9]* *//; s/0x[0-9a-f]*/AT/' | uniq -c | tee /dev/stderr |
			awk '/prctl\(PR_SET_VMA, PR_SET_VMA_ANON_NAME, AT, 4096, "OTEL_CTX"\)/ { told += $1; next } { other++ }
				END { exit told != 101 || other }'
	}
	check "labels and contexts make no system call but one for a new key" told_of_each
	tells() { grep -c "PR_SET_VMA.*OTEL_CTX" "$work/trace"; }
	begin strace -f -o "$work/trace" env WEFT_PUBLISH=v1,otel "$tools/otel-shop"
	ask label tenant acme
	before=$(tells)
	ask label tenant other
	ask thread
	check "who listens is not told by a label whose key is known" is "$(tells)" "$before"
	ask label route /x
	check "is told of a new key" is "$(tells)" "$((before + 1))"
	ask key shop
	check "also of one that is named in advance" is "$(tells)" "$((before + 2))"
	ask resource service.version 2
	check "and of a resource attribute" is "$(tells)" "$((before + 3))"
	end
else
	skip "labels and contexts make no system call but one for a new key" "strace may not trace here"
fi

# ---- symbols

symbol_is_readable() { # LIBRARY
	readelf --dyn-syms -W "$1" | awk '$8 == "otel_thread_ctx_v1" { print; found = $3 == 8 && $4 == "TLS" && $5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" } END { exit !found }' &&
		readelf -rW "$1" | grep -E 'R_(X86_64|AARCH64)_TLSDESC.* otel_thread_ctx_v1'
}
for library in libweft-otel libweft-late; do
	[ -f "$BUILD/src/runtime/$library.so" ] || continue
	check "$library.so: symbol, size, named descriptor" symbol_is_readable "$BUILD/src/runtime/$library.so"
done
check "libweft.so has no such symbol" eval '! readelf --dyn-syms -W "$BUILD/src/runtime/libweft.so" | grep otel_thread_ctx_v1'
built_by() { # COMPILER
	cat >"$work/pointer.c" <<-END
		#include "base/tlsdesc.h"
		__thread void *otel_thread_ctx_v1 __attribute__((visibility("default"), used));
		WEFT_TLSDESC(otel_thread_ctx_v1, place, descriptor);
	END
	"$1" -O2 -fPIC -fvisibility=hidden -shared -nostdlib -I "$source/src" "$work/pointer.c" -o "$work/$1.so" &&
		symbol_is_readable "$work/$1.so"
}
for compiler in gcc clang aarch64-linux-gnu-gcc; do
	if have "$compiler"; then
		check "such a symbol, built by $compiler" built_by "$compiler"
	else
		skip "such a symbol, built by $compiler" "not installed"
	fi
done
exported_by_a_program() {
	! nm "$BUILD/src/runtime/libweft.a" 2>/dev/null | grep -q __asan || return 0 # linked by a sanitizer only
	cc -I "$source/include" "$here/otel_shop.c" -o "$work/static-shop" "$BUILD/src/runtime/libweft.a" \
		-Wl,--export-dynamic-symbol=otel_thread_ctx_v1 -ldl -lpthread || return 1
	readelf --dyn-syms -W "$work/static-shop" | grep -E ' 8 TLS .* otel_thread_ctx_v1'
}
check "libweft.a: a program exports the symbol" exported_by_a_program
preloaded_too() {
	[ -x "$work/static-shop" ] || return 0
	begin env LD_PRELOAD="$BUILD/src/runtime/libweft.so" "$work/static-shop" || return 1
	answers "on $all process 1 thread 1" select $all && answers 0 label tenant acme || return 1
	ask record
	is "${answer: -12}" 010461636d65 && header_is mappings 1
}
check "with libweft.so preloaded both are one" preloaded_too
end
finish
