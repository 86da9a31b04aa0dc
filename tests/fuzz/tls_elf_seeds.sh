#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_tls_elf and fuzz_elf_check: the variables of all ABIs, in libraries and in
# programs, by each TLS model that the compiler has.
#	tls_elf_seeds.sh DIRECTORY
set -eu
cd "$1"
cat >one.c <<'END'
const unsigned custom_labels_abi_version = 1;
__thread void *custom_labels_current_set, *otel_thread_ctx_v1, *weft_thread_slot;
void **variable(int n);
void **variable(int n)
{
	return n == 0 ? &custom_labels_current_set : n == 1 ? &otel_thread_ctx_v1 : &weft_thread_slot;
}
int main(int argc, char **argv)
{
	(void)argv;
	return variable(argc) == 0;
}
END

build() { # NAME OPTION...
	name=$1
	shift
	"${CC:-cc}" -O1 -g0 -Wl,-z,noseparate-code "$@" one.c -o "$name" 2>/dev/null || rm -f "$name"
}

for model in global-dynamic initial-exec local-dynamic; do
	build "$model.so" -shared -fPIC -nostdlib "-ftls-model=$model"
done
for dialect in gnu2 desc; do # x86-64's name for it, and aarch64's
	build "$dialect.so" -shared -fPIC -nostdlib "-mtls-dialect=$dialect"
	build "$dialect-nameless.so" -shared -fPIC -nostdlib -Wl,-Bsymbolic -Wl,-s \
		"-mtls-dialect=$dialect" -fvisibility=hidden
done
build pie -rdynamic
build fixed -rdynamic -no-pie -fno-pie
rm one.c
[ -s pie ] || [ -s fixed ] || [ -s global-dynamic.so ]
