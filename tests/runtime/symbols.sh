#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What libweft.so asks of others, and what its paths in a program can reach.
. "$(dirname "$0")/lib.sh"
here=$SOURCE_ROOT/src/runtime

nm -D --undefined-only "$LIBWEFT" | awk '{ print $NF }' | sort >"$out/asked"
sed -e 's/#.*//' -e '/^ *$/d' "$here/libc.syms" "$here/libdl.syms" | awk '{ print $1 } END { print "weft_waits_v1"; print "weft_otel_variable_v1" }' | sort >"$out/allowed"
comm -23 "$out/asked" "$out/allowed" >"$out/more"
is "asks nothing that is not listed: $(tr '\n' ' ' <"$out/more")" "$(wc -l <"$out/more")" -eq 0
is "moves bytes by itself" "$(grep -cx 'memcpy\|memmove\|memset' "$out/asked")" -eq 0
is "no version requirements" "$(readelf -V "$LIBWEFT" | grep -c 'version_r\|Version needs')" -eq 0
is "no version definitions" "$(readelf -V "$LIBWEFT" | grep -c 'version_d\|Version definition')" -eq 0
is "bound at load, never unloaded" "$(readelf -d "$LIBWEFT" | grep -c 'NODELETE\|BIND_NOW\|Flags:.*NOW')" -ge 1
is "never unloaded" "$(readelf -d "$LIBWEFT" | grep -c NODELETE)" -ge 1
is "static TLS, no lazy one" "$(nm -D "$LIBWEFT" | grep -c __tls_get_addr)" -eq 0
nm -D --defined-only "$LIBWEFT" | awk '{ print $3 }' | sort >"$out/exported"
for name in pthread_create thrd_create sigaction signal weft_thread_slot weft_fork_guard weft_runtime_v1; do
	is "exports $name" "$(grep -cx "$name" "$out/exported")" -eq 1
done

# Exported here, it would take the place of every other library's (src/runtime/otel/otel_variable.h).
is "does not export otel_thread_ctx_v1" "$(grep -cx otel_thread_ctx_v1 "$out/exported")" -eq 0

# Every symbol that libweft.a gives to a stranger's link is prefixed, or weak.
nm --defined-only -g "$LIBWEFT_A" 2>/dev/null | awk 'NF == 3 && $2 !~ /[VvWw]/ { print $3 }' | grep -v '^weft_' >"$out/foreign"
is "only weft_ names in libweft.a: $(tr '\n' ' ' <"$out/foreign")" "$(wc -l <"$out/foreign")" -eq 0

# A library that stands before libc's functions may lock or wait in them. So what runs in handlers and
# in calls of weft/*.h asks libc for nothing but what moves and compares bytes, as compilers do by
# themselves, and where errno and the thread lie. What else an object asks for is called when a
# process or a session begins, in dlopen and dlclose, in a thread's first context call, or, in a
# process that filters its system calls, when a coroutine is made or a thread's number is asked for.
bytes='memcpy memmove memset memcmp bcmp strlen strnlen strcmp strchr strrchr strcspn __errno_location pthread_self'
seldom='core_slot:getauxval core_time_source:getauxval signals_altstack:getauxval
core_copies:dlsym core_customlabels_meet:dlsym core_fork:dlsym stack_module_map:dlsym
core_key:pthread_key_create core_key:pthread_setspecific
core_modules:dl_iterate_phdr core_modules:getcwd otel_otel_foreign:dl_iterate_phdr
context_publish:secure_getenv otel_otel_process:secure_getenv otel_otel_resource:secure_getenv
otel_otel_variable:dlopen otel_otel_variable:dlsym otel_otel_variable:dlerror
core_coro_blocks:malloc core_coro_blocks:free core_filters:pthread_getcpuclockid
core_filters:secure_getenv core_filters:strstr core_real:dlsym core_real:dlerror core_real:dladdr
sample_join:secure_getenv'
folder=$(dirname "$LIBWEFT")
objects=$(find "$folder/libweft.so.p" "$folder/libweft-handler.a.p" -name '*.o' ! -name 'hooks_*' ! -name 'start_*')
# shellcheck disable=SC2086
nm -g --defined-only $objects | awk 'NF == 3 { print $3 }' | sort -u >"$out/own"
for object in $objects; do
	name=$(basename "$object" .c.o)
	nm --undefined-only "$object" | awk '{ print $NF }' | sort -u | comm -23 - "$out/own" |
		grep -vx "_GLOBAL_OFFSET_TABLE_\|weft_.*\|$(echo $bytes | sed 's/ /\\|/g')" |
		while read -r symbol; do
			echo "$seldom" | tr ' ' '\n' | grep -qx "$name:$symbol" || echo "$symbol"
		done >"$out/bad"
	is "$name asks libc for: $(tr '\n' ' ' <"$out/bad")" "$(wc -l <"$out/bad")" -eq 0
done
is "objects were looked at" "$(echo "$objects" | wc -l)" -gt 40

# What is small lies together, so that a start and a fork touch few pages (WEFT_LARGE in core/runtime.h).
for object in $objects $(find "$folder/libweft.so.p" -name 'hooks_*.o' -o -name 'start_*.o'); do
	bytes=$(readelf -SW "$object" | awk '{ for (i = 1; i < NF; i++) if ($i == ".bss") print $(i + 4) }')
	is "$(basename "$object" .c.o) has small things alone in .bss: 0x$bytes" $((0x${bytes:-0})) -le 2048
done
exit $failed
