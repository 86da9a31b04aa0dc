#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What libweft.so asks of others, and what its paths in a program can reach.
. "$(dirname "$0")/lib.sh"
here=$SOURCE_ROOT/src/runtime

nm -D --undefined-only "$LIBWEFT" | awk '{ print $NF }' | sort >"$out/asked"
sed -e 's/#.*//' -e '/^ *$/d' "$here/libc.syms" "$here/libdl.syms" | awk '{ print $1 } END { print "weft_waits_v1" }' | sort >"$out/allowed"
comm -23 "$out/asked" "$out/allowed" >"$out/more"
is "asks nothing that is not listed: $(tr '\n' ' ' <"$out/more")" "$(wc -l <"$out/more")" -eq 0
is "no version requirements" "$(readelf -V "$LIBWEFT" | grep -c 'version_r\|Version needs')" -eq 0
is "no version definitions" "$(readelf -V "$LIBWEFT" | grep -c 'version_d\|Version definition')" -eq 0
is "bound at load, never unloaded" "$(readelf -d "$LIBWEFT" | grep -c 'NODELETE\|BIND_NOW\|Flags:.*NOW')" -ge 1
is "never unloaded" "$(readelf -d "$LIBWEFT" | grep -c NODELETE)" -ge 1
is "static TLS, no lazy one" "$(nm -D "$LIBWEFT" | grep -c __tls_get_addr)" -eq 0
nm -D --defined-only "$LIBWEFT" | awk '{ print $3 }' | sort >"$out/exported"
for name in pthread_create thrd_create sigaction signal weft_thread_slot weft_fork_guard weft_runtime_v1; do
	is "exports $name" "$(grep -cx "$name" "$out/exported")" -eq 1
done

# Every symbol that libweft.a gives to a stranger's link is prefixed, or weak.
nm --defined-only -g "$LIBWEFT_A" 2>/dev/null | awk 'NF == 3 && $2 !~ /[VvWw]/ { print $3 }' | grep -v '^weft_' >"$out/foreign"
is "only weft_ names in libweft.a: $(tr '\n' ' ' <"$out/foreign")" "$(wc -l <"$out/foreign")" -eq 0

# The objects of the sample, ring and context paths allocate nothing and open nothing.
folder=$(dirname "$LIBWEFT")
for object in $(find "$folder" -name '*sampler.c.o' -o -name '*sample_labels.c.o' -o -name '*ring.c.o' -o -name '*disposition.c.o' \
	-o -name '*libweft.so.p*context.c.o' -o -name '*slot.c.o' -o -name '*guard.c.o' -o -name '*timer.c.o' \
	-o -name '*stack_copy.c.o' -o -name '*stack_walk.c.o' -o -name '*tables.c.o'); do
	nm --undefined-only "$object" | awk '{ print $NF }' |
		grep -Ex 'malloc|calloc|realloc|free|open|fopen|printf|snprintf|syslog|pthread_mutex_.*|dl.*|backtrace' >"$out/bad"
	is "$(basename "$object") stays clear of: $(tr '\n' ' ' <"$out/bad")" "$(wc -l <"$out/bad")" -eq 0
done
exit $failed
