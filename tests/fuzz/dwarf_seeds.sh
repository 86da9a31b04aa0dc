#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_dwarf: one small source with inlined calls, as compilers describe it.
#	dwarf_seeds.sh DIRECTORY
set -eu
source=$1/seed.c
cat >"$source" <<'END'
static inline __attribute__((always_inline)) int inner(int a) { return a * 7 + 1; }
static inline __attribute__((always_inline)) int middle(int a)
{
	int sum = 0;
	for (int i = 0; i < a; i++)
		sum += inner(i) ^ a;
	return sum;
}
struct s { int a, b; };
__attribute__((noinline)) int leaf(struct s *s) { return middle(s->a) + inner(s->b); }
int outer(int a, int b)
{
	struct s s = { a, b };
	if (a > 7)
		return leaf(&s) + middle(b);
	return __builtin_expect(b > 1000, 0) ? inner(a) * leaf(&s) : leaf(&s);
}
END
build() {
	cc=$1 name=$2
	shift 2
	command -v "$cc" >/dev/null || return 0
	"$cc" -O2 -shared -fPIC -nostdlib -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096 \
		-Wl,-Ttext=0x1000 "$@" "$source" -o "${source%/*}/$name.so"
}
build gcc gcc5 -gdwarf-5
build gcc gcc4 -gdwarf-4
build gcc gcc3 -gdwarf-3 -gno-strict-dwarf
build gcc sections -gdwarf-5 -ffunction-sections -freorder-blocks-and-partition
build gcc compressed -gdwarf-5 -gz=zlib
build clang clang5 -gdwarf-5
build clang clang4 -gdwarf-4 -gz=none
# MiniDebugInfo: symbols in an xz of their own
if command -v xz >/dev/null; then
	build gcc symbols -g0
	xz -k "$1/symbols.so"
	objcopy -S --add-section ".gnu_debugdata=$1/symbols.so.xz" "$1/symbols.so" "$1/mini.so"
	rm "$1/symbols.so.xz"
fi
rm "$source"
