#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# weft check over files that are really built, in all the ways there are; readelf has the last word
# about what is in them, and what is mended as the command says is judged good.

load common

publisher='
#include <stdint.h>
#ifndef WHERE
#define WHERE
#endif
WHERE const uint32_t custom_labels_abi_version = 1;
WHERE __thread void *custom_labels_current_set;
WHERE __thread void *otel_thread_ctx_v1;
void *labels_at(void) { return &custom_labels_current_set; }
void *otel_at(void) { return &otel_thread_ctx_v1; }
'
exported='-Wl,--export-dynamic-symbol=custom_labels_abi_version
	-Wl,--export-dynamic-symbol=custom_labels_current_set
	-Wl,--export-dynamic-symbol=otel_thread_ctx_v1'

# source WORDS: p.c with these lines in place of the usual publisher, p-main.c is a program of it
source_is() {
	printf '%s\n' "$1" >p.c
	{
		printf '%s\n' "$1"
		echo 'int main(int argc, char **argv) { return argc > 9 && labels_at() == otel_at() && argv; }'
	} >p-main.c
}

# built OUTPUT COMPILER ARGS...: skips the case where there is no such compiler
built() {
	output=$1 compiler=$2
	shift 2
	command -v "$compiler" >/dev/null || skip "no $compiler"
	"$compiler" -O1 -o "$output" "$@"
}

# check FILE...: the JSON, and what the people's table says is the same
check() {
	status=0
	"$WEFT" check --json "$@" >json 2>stderr </dev/null || status=$?
	people=0
	"$WEFT" check "$@" >stdout 2>stderr </dev/null || people=$?
	out=$(cat stdout) err=$(cat stderr)
	[ "$status" = "$people" ]
	[ "$(jq -r .ok json)" = "$([ "$status" = 0 ] && echo true || echo false)" ]
	jq -r '.files[].abis // {} | .[].findings[] | .state' json | sort >states
	sed -nE 's/^  (ok|info|warning|bad) .*/\1/p' stdout | sort | diff - states
	cat json
}

# state ABI KEY: of the first file
state() { jq -r ".files[0].abis[\"$1\"].findings[] | select(.key == \"$2\") | .state" json; }
said() { jq -r ".files[0].abis[\"$1\"].findings[] | select(.key == \"$2\") | .value" json; }
mend() { jq -r ".files[0].abis[\"$1\"].findings[] | select(.key == \"$2\") | .mend" json; }
good() { jq -r ".files[0].abis[\"$1\"].ok" json; }
kind() { jq -r ".files[0].kind" json; }

in_dynsym() { readelf -W --dyn-syms "$1" | awk '{ sub(/@.*/, "", $8); print $8 }' | grep -qx "$2"; }
relocated() { readelf -W -r "$1" | grep -E "$2" | grep -qw "$3"; }

@test "a library by gcc with descriptors is good; by gcc's default it is not for Custom Labels" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 dialects"
	source_is "$publisher"
	built libcustomlabels-x.so gcc -shared -fPIC -mtls-dialect=gnu2 p.c
	relocated libcustomlabels-x.so R_X86_64_TLSDESC custom_labels_current_set
	check libcustomlabels-x.so
	[ "$status" = 0 ]
	[ "$(kind)" = library ]
	[ "$(state custom-labels access)" = ok ]
	[ "$(state otel access)" = ok ]
	[ "$(state custom-labels loading)" = info ]
	built libcustomlabels-x.so gcc -shared -fPIC p.c
	relocated libcustomlabels-x.so R_X86_64_DTPMOD64 custom_labels_current_set
	check libcustomlabels-x.so
	[ "$status" = 1 ]
	[ "$(state custom-labels access)" = bad ]
	expect_in "$(mend custom-labels access)" -mtls-dialect=gnu2
	[ "$(good otel)" = true ]
	expect_in "$(said otel access)" general-dynamic
}

@test "a library by clang" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 dialects"
	source_is "$publisher"
	built libcustomlabels-x.so clang -shared -fPIC p.c
	check libcustomlabels-x.so
	if relocated libcustomlabels-x.so R_X86_64_TLSDESC custom_labels_current_set; then
		[ "$status" = 0 ]
	else
		[ "$status" = 1 ]
		[ "$(state custom-labels access)" = bad ]
		[ "$(good otel)" = true ]
	fi
}

@test "a library with initial-exec is bad for Custom Labels, a warning for OpenTelemetry" {
	source_is "$publisher"
	built libcustomlabels-x.so gcc -shared -fPIC -ftls-model=initial-exec p.c
	relocated libcustomlabels-x.so 'R_X86_64_TPOFF64|R_AARCH64_TLS_TPREL' otel_thread_ctx_v1
	check libcustomlabels-x.so
	[ "$status" = 1 ]
	[ "$(state custom-labels access)" = bad ]
	[ "$(state otel access)" = warning ]
	[ "$(good otel)" = true ]
}

@test "a hidden pointer is bad, says so, and is mended by visibility" {
	source_is "$publisher"
	built libcustomlabels-x.so gcc -shared -fPIC -fvisibility=hidden p.c
	expect_not in_dynsym libcustomlabels-x.so otel_thread_ctx_v1
	check libcustomlabels-x.so
	[ "$status" = 1 ]
	[ "$(state custom-labels set-symbol)" = bad ]
	[ "$(state otel symbol)" = bad ]
	expect_in "$(said otel symbol)" hidden
	expect_in "$(mend otel symbol)" 'visibility("default")'
	built libcustomlabels-x.so gcc -shared -fPIC -fvisibility=hidden p.c \
		'-DWHERE=__attribute__((visibility("default")))'
	check libcustomlabels-x.so
	[ "$(state otel symbol)" = ok ]
	[ "$(good otel)" = true ]
}

@test "a version script that makes them local is found out; named in it they are good" {
	source_is "$publisher"
	echo '{ global: labels_at; otel_at; local: *; };' >closed.map
	echo '{ global: custom_labels_*; otel_thread_ctx_v1; local: *; };' >open.map
	built libcustomlabels-x.so gcc -shared -fPIC -Wl,--version-script=closed.map p.c
	check libcustomlabels-x.so
	[ "$status" = 1 ]
	[ "$(state otel symbol)" = bad ]
	expect_in "$(mend otel symbol)" "version script"
	built libcustomlabels-x.so gcc -shared -fPIC -Wl,--version-script=open.map p.c
	in_dynsym libcustomlabels-x.so otel_thread_ctx_v1
	check libcustomlabels-x.so
	[ "$(state otel symbol)" = ok ]
}

@test "-Bsymbolic and protected: what the relocations name is what is said" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 dialects"
	source_is "$publisher"
	for how in -Wl,-Bsymbolic '-DWHERE=__attribute__((visibility("protected")))'; do
		built libcustomlabels-x.so gcc -shared -fPIC -mtls-dialect=gnu2 "$how" p.c
		check libcustomlabels-x.so
		if relocated libcustomlabels-x.so R_X86_64_TLSDESC custom_labels_current_set; then
			[ "$status" = 0 ]
		else
			[ "$(state custom-labels access)" = bad ]
			[ "$(state otel access)" = warning ]
		fi
	done
}

@test "a library whose descriptor does not name the symbol: bad for one, a warning for the other" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 assembly"
	source_is "$publisher"
	# Reached by a hidden second name, the exported one has no relocation of its own.
	cat >alias.c <<-'END'
	__asm__(".section .tbss,\"awT\",@nobits\n.balign 8\n"
		".globl custom_labels_current_set,otel_thread_ctx_v1\n.hidden inner\n"
		".type custom_labels_current_set,@object\n.size custom_labels_current_set,8\n"
		".type otel_thread_ctx_v1,@object\n.size otel_thread_ctx_v1,8\n"
		".globl inner\n.type inner,@object\n.size inner,8\n"
		"inner:\ncustom_labels_current_set:\notel_thread_ctx_v1:\n.zero 8\n.text");
	const unsigned int custom_labels_abi_version = 1;
	extern __thread void *inner __attribute__((visibility("hidden")));
	void *at(void) { return &inner; }
	END
	built libcustomlabels-x.so gcc -shared -fPIC -ftls-model=global-dynamic -mtls-dialect=gnu2 alias.c
	if ! readelf -W -r libcustomlabels-x.so | grep R_X86_64_TLSDESC; then skip "the linker named none"; fi
	expect_not relocated libcustomlabels-x.so R_X86_64_TLSDESC custom_labels_current_set
	check libcustomlabels-x.so
	[ "$status" = 1 ]
	[ "$(state custom-labels access)" = bad ]
	[ "$(state otel access)" = warning ]
}

@test "local-dynamic is bad for both" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 dialects"
	source_is "$publisher"
	built libcustomlabels-x.so gcc -shared -fPIC -ftls-model=local-dynamic \
		'-DWHERE=__attribute__((visibility("protected")))' p.c
	readelf -W -r libcustomlabels-x.so | grep R_X86_64_DTPMOD64
	expect_not relocated libcustomlabels-x.so R_X86_64_DTPMOD64 otel_thread_ctx_v1
	check libcustomlabels-x.so
	[ "$status" = 1 ]
	[ "$(state custom-labels access)" = bad ]
	[ "$(state otel access)" = bad ]
	expect_in "$(said otel access)" local-dynamic
}

@test "a library that nothing reaches it in has no relocation: bad" {
	source_is 'const unsigned int custom_labels_abi_version = 1;
		__thread void *custom_labels_current_set;
		__thread void *otel_thread_ctx_v1;'
	built libcustomlabels-x.so gcc -shared -fPIC p.c
	readelf -W -r libcustomlabels-x.so >relocations
	expect_not grep -qE 'TLSDESC|DTPMOD|TPOFF|TPREL' relocations
	check libcustomlabels-x.so
	[ "$status" = 1 ]
	[ "$(state custom-labels access)" = bad ]
	[ "$(state otel access)" = bad ]
	expect_in "$(mend otel access)" otel_thread_ctx_v1
}

@test "the name counts, also behind links" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 dialects"
	source_is "$publisher"
	built libcustomlabels-x.so gcc -shared -fPIC -mtls-dialect=gnu2 p.c
	cp libcustomlabels-x.so libother.so
	check libother.so
	[ "$status" = 1 ]
	[ "$(state custom-labels name)" = bad ]
	[ "$(good otel)" = true ]
	ln -s libother.so libcustomlabels-link.so
	check libcustomlabels-link.so
	[ "$(state custom-labels name)" = bad ]
	expect_in "$(said custom-labels name)" libother.so
	for name in customlabels.node libcustomlabels.so libcustomlabels_a.b.so; do
		cp libother.so $name
		check $name
		[ "$(state custom-labels name)" = ok ]
	done
	for name in libcustomlabels-x.so.1 my-libcustomlabels.so mycustomlabels.node; do
		cp libother.so $name
		check $name
		[ "$(state custom-labels name)" = warning ]
		[ "$status" = 0 ]
	done
	for name in customlabels.so libcustomlabels.txt libcustomlabel.so; do
		cp libother.so $name
		check $name
		[ "$(state custom-labels name)" = bad ]
	done
}

@test "version: its value, size and type" {
	for line in 'const uint32_t custom_labels_abi_version = 2;' \
		'const uint64_t custom_labels_abi_version = 1;' \
		'uint32_t custom_labels_abi_version;' 'int custom_labels_abi_version(void) { return 1; }'; do
		source_is "${publisher/WHERE const uint32_t custom_labels_abi_version = 1;/$line}"
		# shellcheck disable=SC2086
		built p gcc $exported p-main.c
		check p
		[ "$(state custom-labels version)" = bad ]
		[ "$(good custom-labels)" = false ]
		[ "$(good otel)" = true ]
	done
}

@test "one of the two symbols alone is bad" {
	source_is "${publisher/WHERE const uint32_t custom_labels_abi_version = 1;/}"
	# shellcheck disable=SC2086
	built p gcc $exported p-main.c
	check p
	[ "$(state custom-labels version-symbol)" = bad ]
	[ "$(state custom-labels set-symbol)" = ok ]
}

@test "a pointer that is none: its size, and not thread-local" {
	source_is "${publisher/__thread void \*otel_thread_ctx_v1/__thread char otel_thread_ctx_v1[4]}"
	# shellcheck disable=SC2086
	built p gcc $exported p-main.c
	check p
	[ "$(state otel pointer)" = bad ]
	expect_in "$(said otel pointer)" "4 bytes"
	source_is "${publisher/__thread void \*otel_thread_ctx_v1/void *otel_thread_ctx_v1}"
	# shellcheck disable=SC2086
	built p gcc $exported p-main.c
	check p
	[ "$(state otel pointer)" = bad ]
	expect_in "$(said otel pointer)" "not thread-local"
}

# program COMPILER KIND FLAGS...: bad without exporting, good as the command says
program() {
	compiler=$1 expected=$2
	shift 2
	source_is "$publisher"
	built p "$compiler" "$@" p-main.c
	check p
	[ "$(kind)" = "$expected" ]
	[ "$status" = 1 ]
	[ "$(state otel symbol)" = bad ]
	[ "$(state custom-labels set-symbol)" = bad ]
	expect_in "$(mend otel symbol)" -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
	# shellcheck disable=SC2086
	built p "$compiler" "$@" $exported p-main.c
	check p
	[ "$(kind)" = "$expected" ]
}

@test "programs by gcc: exported they are good, else not" {
	program gcc pie -pie -fPIE
	[ "$status" = 0 ]
	program gcc pie -pie -fPIC
	[ "$status" = 0 ]
	program gcc program -no-pie -fno-pie
	[ "$status" = 0 ]
	program gcc static-pie -static-pie -fPIE
	[ "$status" = 0 ]
	in_dynsym p otel_thread_ctx_v1
}

@test "a static-pie of glibc that ends before main() is bad, and as mended it is neither" {
	program gcc static-pie -static-pie -fPIC
	relocated p R_X86_64_TPOFF64 otel_thread_ctx_v1 || skip "nothing names the variable here"
	[ "$status" = 1 ]
	[ "$(state otel access)" = bad ]
	[ "$(state custom-labels access)" = bad ]
	expect_in "$(said otel access)" 'before main'
	ended=0
	./p || ended=$?
	[ "$ended" -gt 128 ]
	# shellcheck disable=SC2046
	program gcc static-pie -static-pie -fPIC \
		$(mend otel access | grep -o -e '-ftls-model=[a-z-]*')
	[ "$status" = 0 ]
	./p
}

@test "a static-pie of musl is none the worse for it" {
	source_is "$publisher"
	# shellcheck disable=SC2086
	built p musl-gcc -static-pie -fPIC p-main.c $exported || skip "musl-gcc makes no static-pie"
	[ "$(./p; echo $?)" = 0 ] || skip "nor one that runs"
	check p
	[ "$(state otel access)" = ok ]
}

@test "readers' own limits are told" {
	program gcc pie -pie -fPIE
	[ "$(state custom-labels limits)" = info ]
	expect_in "$(said custom-labels limits)" '10 places'
	expect_in "$(said custom-labels limits)" '25 bytes of a key and 53 of a value'
}

@test "programs by clang" {
	program clang pie -pie -fPIE
	[ "$status" = 0 ]
	program clang program -no-pie
	[ "$status" = 0 ]
}

@test "a static program for a fixed address is bad whatever is exported; -static-pie is told" {
	program gcc static -static -no-pie
	expect_not in_dynsym p otel_thread_ctx_v1
	[ "$status" = 1 ]
	expect_in "$(mend otel symbol)" -static-pie
	strip p
	check p
	[ "$status" = 1 ]
	expect_in "$err" stripped
}

@test "programs by musl-gcc" {
	source_is "$publisher"
	built p musl-gcc p-main.c -rdynamic
	check p
	[ "$status" = 0 ]
	built p musl-gcc -static p-main.c -rdynamic
	check p
	[ "$status" = 1 ]
	[ "$(state otel symbol)" = bad ]
}

@test "a dynamic list exports, and so does gold" {
	source_is "$publisher"
	echo '{ custom_labels_abi_version; custom_labels_current_set; otel_thread_ctx_v1; };' >list
	built p gcc p-main.c -Wl,--dynamic-list=list
	check p
	[ "$status" = 0 ]
	command -v ld.gold >/dev/null || return 0
	built p gcc -fuse-ld=gold p-main.c -Wl,--dynamic-list=list
	check p
	[ "$status" = 0 ]
	[ "$(kind)" = pie ]
}

@test "strip changes nothing where .dynsym has it, and says so where it has not" {
	source_is "$publisher"
	# shellcheck disable=SC2086
	built p gcc $exported p-main.c
	strip p
	check p
	[ "$status" = 0 ]
	built p gcc p-main.c
	strip p
	check p
	[ "$status" = 1 ]
	expect_in "$err" "stripped"
	[ ! -s stdout ]
}

@test "aarch64: programs and libraries are judged here, too" {
	source_is "$publisher"
	built libcustomlabels-x.so aarch64-linux-gnu-gcc -shared -fPIC -nostdlib p.c
	relocated libcustomlabels-x.so R_AARCH64_TLSDESC custom_labels_current_set
	check libcustomlabels-x.so
	[ "$status" = 0 ]
	[ "$(jq -r '.files[0].machine' json)" = aarch64 ]
	built libcustomlabels-x.so aarch64-linux-gnu-gcc -shared -fPIC -nostdlib -mtls-dialect=trad p.c
	check libcustomlabels-x.so
	[ "$status" = 1 ]
	expect_in "$(mend custom-labels access)" -mtls-dialect=desc
	[ "$(good otel)" = true ]
	built libcustomlabels-x.so aarch64-linux-gnu-gcc -shared -fPIC -nostdlib -ftls-model=initial-exec p.c
	check libcustomlabels-x.so
	[ "$(state custom-labels access)" = bad ]
	[ "$(state otel access)" = warning ]
}

@test "what a process runs" {
	source_is "$publisher"
	sed -i 's/^int main.*/#include <unistd.h>\nint main(void) { return read(0, \&(char){0}, 1) \&\& labels_at() == otel_at(); }/' p-main.c
	# shellcheck disable=SC2086
	built p gcc $exported p-main.c
	mkfifo in
	./p <in 3>&- &
	pid=$!
	exec 9>in
	until [ /proc/$pid/exe -ef p ]; do # the shell's until it runs p
		kill -0 $pid
		sleep 0.01
	done
	check /proc/$pid/exe
	rm p
	[ "$status" = 0 ]
	[ "$(kind)" = pie ]
	check /proc/$pid/exe
	exec 9>&-
	wait $pid || true
	[ "$status" = 0 ]
}

@test "who only uses the names, or none of them, has nothing to be judged" {
	source_is 'extern __thread void *otel_thread_ctx_v1;
		void *at(void) { return &otel_thread_ctx_v1; }'
	built libp.so gcc -shared -fPIC p.c
	check libp.so
	[ "$status" = 1 ]
	expect_in "$err" "another file defines"
	source_is 'int nothing;'
	built libp.so gcc -shared -fPIC p.c
	check libp.so
	[ "$status" = 1 ]
	expect_in "$err" "publishes nothing"
	expect_in "$(jq -r '.files[0].note' json)" "publishes nothing"
}

@test "no file, no ELF file, objects and archives: a message and exit 1" {
	source_is "$publisher"
	built p.o gcc -c p.c
	ar rc p.a p.o
	mkfifo pipe
	mkdir room
	: >empty
	head -c 64 p.o >short
	built p gcc -g p-main.c
	objcopy --only-keep-debug p p.debug
	for file in nowhere p.o p.a pipe room empty short p.c p.debug; do
		status=0
		timeout 10 "$WEFT" check $file >stdout 2>stderr || status=$?
		[ "$status" = 1 ]
		[ ! -s stdout ]
		expect_in "$(cat stderr)" "weft check: $file: "
		[ "$(wc -l <stderr)" = 1 ]
		"$WEFT" check --json $file >json 2>/dev/null || [ $? = 1 ]
		[ "weft check: $file: $(jq -r '.files[0].error' json)" = "$(cat stderr)" ]
	done
	weft check room
	expect_in "$err" "Is a directory"
	weft check p.debug
	expect_in "$err" "debug information alone"
	weft check
	expect_status 2
}

@test "JSON is valid and names the file, whatever its name's bytes" {
	cp "$WEFT_BUILD/src/runtime/libweft.so" $'lib\xff\"x\n.so'
	weft check --json $'lib\xff\"x\n.so' $'none\xfe'
	printf '%s\n' "$out" >json
	[ "$(jq '.files[0].path | test("^lib.\"x\n[.]so$")' json)" = true ]
	[ "$(jq -r '.files[0].ok' json)" = true ]
	[ "$(jq '.files[1].path | test("^none.$")' json)" = true ]
}

@test "several files: all are shown, one that is bad decides" {
	source_is "$publisher"
	# shellcheck disable=SC2086
	built p gcc $exported p-main.c
	built q gcc p-main.c
	check p q
	[ "$status" = 1 ]
	[ "$(jq -r '[.files[].ok] | join(" ")' json)" = "true false" ]
	check p p
	[ "$status" = 0 ]
	[ "$(grep -c '^p: ' stdout)" = 2 ]
}

@test "damaged files end in a verdict or a message, never otherwise" {
	source_is "$publisher"
	# shellcheck disable=SC2086
	built p gcc $exported p-main.c
	python3 - "$WEFT" <<-'END'
	import random, subprocess, sys
	whole = open("p", "rb").read()
	headers = int.from_bytes(whole[40:48], "little")
	for seed in range(200):
	    r = random.Random(seed)
	    b = bytearray(whole)
	    for _ in range(r.choice((1, 4, 30))):
	        at = r.choice((r.randrange(16, 1200), r.randrange(headers, len(b)), r.randrange(len(b))))
	        b[at] = r.choice((0, 255, r.randrange(256)))
	    open("damaged", "wb").write(b[: r.choice((len(b), r.randrange(len(b))))])
	    status = subprocess.run([sys.argv[1], "check", "damaged"], capture_output=True, timeout=60).returncode
	    assert status in (0, 1), f"seed {seed}: {status}"
	END
}

@test "no section headers: nothing is found by them, and that is said" {
	source_is "$publisher"
	# shellcheck disable=SC2086
	built p gcc $exported p-main.c
	python3 - <<-'END'
	b = bytearray(open("p", "rb").read())
	b[40:48] = bytes(8)
	b[60:64] = bytes(4)
	open("p", "wb").write(b)
	END
	check p
	[ "$status" = 1 ]
	expect_in "$err" "section headers"
}

@test "our own libraries are good, and do not publish each other's" {
	check "$WEFT_BUILD/src/runtime/libweft.so"
	[ "$status" = 0 ]
	[ "$(state weft session)" = ok ]
	[ "$(jq -r '.files[0].abis["custom-labels"].published' json)" = false ]
	[ "$(jq -r '.files[0].abis.otel.published' json)" = false ]
	check "$WEFT_BUILD/src/runtime/libweft-otel.so"
	[ "$status" = 0 ]
	[ "$(state otel access)" = ok ]
	relocated "$WEFT_BUILD/src/runtime/libweft-otel.so" 'TLSDESC' otel_thread_ctx_v1
	check "$WEFT_BUILD/src/customlabels/libcustomlabels-weft.so"
	[ "$status" = 0 ]
	[ "$(state custom-labels access)" = ok ]
	[ "$(state custom-labels name)" = ok ]
	if [ -e "$WEFT_BUILD/src/runtime/libweft-late.so" ]; then
		check "$WEFT_BUILD/src/runtime/libweft-late.so"
		[ "$status" = 0 ]
	fi
	check "$WEFT_HELLO"
	[ "$status" = 0 ]
	expect_in "$(said weft library)" libweft.so
}

@test "a program with libweft.a inside exports what OpenTelemetry's readers look for, or is bad" {
	if nm "$WEFT_BUILD/src/runtime/libweft.a" | grep -qE '__(asan|tsan|ubsan)_'; then
		skip "libweft.a is sanitized"
	fi
	echo '#include <weft/context.h>
		int main(void) { weft_context_set(1, 2); return 0; }' >p.c
	built p gcc -I"$WEFT_SOURCE/include" p.c "$WEFT_BUILD/src/runtime/libweft.a" -pthread
	check p
	[ "$status" = 1 ]
	[ "$(good weft)" = true ]
	[ "$(state otel symbol)" = bad ]
	# shellcheck disable=SC2046
	built p gcc -I"$WEFT_SOURCE/include" p.c "$WEFT_BUILD/src/runtime/libweft.a" -pthread \
		$(mend otel symbol | grep -o -e '-Wl,--export-dynamic-symbol=[a-z0-9_]*')
	check p
	[ "$status" = 0 ]
	# shellcheck disable=SC2046
	built p gcc -static-pie -I"$WEFT_SOURCE/include" p.c "$WEFT_BUILD/src/runtime/libweft.a" -pthread \
		-Wl,--export-dynamic-symbol=otel_thread_ctx_v1 2>link.err
	check p
	[ "$status" = 0 ]
	expect_not relocated p TPOFF64 otel_thread_ctx_v1
	./p
}

@test "colours on a terminal only" {
	source_is "$publisher"
	built p gcc p-main.c
	weft check p
	expect_not grep -q $'\033' stdout
	command -v script >/dev/null || skip "no script"
	TERM=xterm script -qec "$WEFT check p" /dev/null >typescript </dev/null || true
	grep -q $'\033' typescript
}
