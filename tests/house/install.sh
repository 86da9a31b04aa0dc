#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make install into a DESTDIR from a fresh build: what is there works from there, programs build
# against it, and the source tree is as it was. The build is one with warnings as errors.
# usage: install.sh SOURCE
set -u
source=$1
. "$source/tests/steps.sh"
root=$scratch/root
unset MAKEFLAGS MAKELEVEL MFLAGS DESTDIR LD_PRELOAD WEFT_LIB

tree() { (cd "$source" && find . -path ./.git -prune -o -path './build*' -prune -o -type f -print |
	sort | xargs cksum); }

tree >"$scratch/before"
step "make install" make -C "$source" install BUILD="$scratch/build" prefix=/usr DESTDIR="$root" \
	MESON_SETUP_FLAGS=-Dwerror=true
tree >"$scratch/after"
step "the source tree is as it was" diff "$scratch/before" "$scratch/after"

libdir=$(find "$root" -name 'libweft-jfr.so' | head -n 1)
libdir=$(dirname "${libdir:-/nowhere/x}")
export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$libdir/pkgconfig"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
weft=$root/usr/bin/weft

version_agrees() { [ "$("$weft" --version)" = "weft $(pkg-config --modversion "$1")" ]; }
for module in weft weft-jfr customlabels-weft; do
	step "the command's version is that of $module.pc" version_agrees $module
done

library_found() {
	found=$("$weft" doctor --json | jq -r .checks.library.value)
	echo "$found"
	[ "$found" = "$(realpath "$libdir/libweft.so")" ]
}
step "the command finds the library that was installed with it" library_found
waits_found() { [ "$("$weft" doctor --json | jq -r .checks.waits.value)" = "locks io" ]; }
step "and libweft-waits.so beside it" waits_found
step "and libweft-otel.so" test -e "$libdir/libweft-otel.so"

cat >"$scratch/use.c" <<'END'
#include <stdio.h>
#include <weft/context.h>
#include <weft/jfr.h>
int main(void)
{
	struct weft_ids ids;

	weft_context_set(7, 8);
	ids = weft_context_get();
	return ids.span_id == 7 && ids.root_span_id == 8 &&
	       weft_jfr_open("/nowhere/at-all.jfr") == NULL ? 0 : 1;
}
END
cp "$scratch/use.c" "$scratch/use.cpp"
compile() { # shellcheck disable=SC2046
	"$@" -Wall -Wextra -Werror $(pkg-config --cflags weft weft-jfr) -o "$scratch/use" \
		"$scratch/source" $(pkg-config --libs weft weft-jfr)
}
for how in "gcc -std=c11 -x c" "g++ -std=c++11 -x c++" "clang -std=c11 -x c" "clang++ -std=c++17 -x c++"; do
	command -v "${how%% *}" >/dev/null || continue
	cp "$scratch/use.c" "$scratch/source"
	rm -f "$scratch/use"
	# shellcheck disable=SC2086
	step "a program builds against it: ${how%% -*}" compile $how
	step "and runs" env LD_LIBRARY_PATH="$libdir" "$scratch/use"
done

linked_statically() { # shellcheck disable=SC2046
	gcc -std=c11 -Wall -Werror $(pkg-config --cflags weft) -o "$scratch/use-static" \
		-x c - -x none "$libdir/libweft.a" -pthread <<-END
		#include <weft/context.h>
		int main(void) { weft_context_set(1, 2); return weft_context_get().span_id == 1 ? 0 : 1; }
	END
	"$scratch/use-static"
}
step "a program builds with libweft.a" linked_statically

# A program's own functions may have any name that is not weft's.
no_name_but_ours() {
	nm -g --defined-only "$libdir"/lib*weft*.a | awk 'NF == 3 { print $3 }' |
		grep -vE '^(weft_|otel_thread_ctx_v1$)' && return 1
	gcc -std=c11 -Wall -Werror $(pkg-config --cflags weft-jfr) -o "$scratch/own-names" -x c - -x none \
		"$libdir/libweft-jfr.a" $(pkg-config --static --libs-only-l weft-jfr | sed 's/-lweft-jfr//') \
		-pthread -lm <<-END
		#include <stdio.h>
		#include <weft/jfr.h>
		int map_new(void) { return 1; }
		int buf_put(void) { return 2; }
		int chunk_write(void) { return 3; }
		int main(void)
		{
			struct weft_jfr_options o = {.size = sizeof(o), .path = "$scratch/own-names.jfr"};
			struct weft_jfr_writer *w = weft_jfr_create(&o);

			return !w || weft_jfr_close(w) || map_new() + buf_put() + chunk_write() != 6;
		}
	END
	"$scratch/own-names"
}
step "static libraries have no name that is not weft's" no_name_but_ours

relinked() { # shellcheck disable=SC2046
	gcc -std=c11 -D_GNU_SOURCE -Wall -Werror $(pkg-config --cflags customlabels-weft) \
		-o "$scratch/relinked" "$source/tests/customlabels/program.c" -pthread \
		$(pkg-config --libs customlabels-weft) && LD_LIBRARY_PATH="$libdir" "$scratch/relinked"
}
step "a program for the Custom Labels library builds and runs" relinked

step "manual page" test -s "$root/usr/share/man/man1/weft.1"
if command -v mandoc >/dev/null; then
	step "it renders" mandoc -T ascii "$root/usr/share/man/man1/weft.1"
fi
step "bash reads its completion" bash -c \
	"source '$root/usr/share/bash-completion/completions/weft' && complete -p weft"
guards_compile() { # shellcheck disable=SC2046
	echo '#include <weft/weft.hpp>
		int main() { weft::span s(1, 2); weft::label l("a", "b"); return !weft::get_label("a"); }' |
		g++ -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags weft) -x c++ \
			-o "$scratch/guards" - $(pkg-config --libs weft)
}
if command -v g++ >/dev/null; then
	step "the C++ header is installed" guards_compile
	step "and works" env LD_LIBRARY_PATH="$libdir" "$scratch/guards"
fi
step "also the bridge from OpenTelemetry C++" test -e "$root/usr/include/weft/weft_otel.hpp"
headers_all_there() {
	(cd "$source/include" && find weft customlabels-weft -name '*.h' | sort) >"$scratch/ours"
	(cd "$root/usr/include" && find weft customlabels-weft -name '*.h' | sort) >"$scratch/theirs"
	diff "$scratch/ours" "$scratch/theirs"
}
step "every public header is installed, and no other" headers_all_there

python_there() {
	(cd "$source/bindings/python" && find weft_otel weft_otel-*.dist-info -name __pycache__ -prune -o -type f -print | sort) >"$scratch/ours"
	(cd "$root/usr/share/weft/python" && find . -type f | sed 's/^..//' | sort) >"$scratch/theirs"
	diff "$scratch/ours" "$scratch/theirs" && env PYTHONPATH="$root/usr/share/weft/python" python3 -B -c \
		'from importlib.metadata import distribution as d
entry, = d("weft_otel").entry_points
assert (entry.name, entry.value) == ("weft_context", "weft_otel:WeftRuntimeContext"), entry' &&
		grep -qx "version = \"$(sed -n 's/^Version: //p' "$source"/bindings/python/weft_otel-*.dist-info/METADATA)\"" \
			"$source/bindings/python/pyproject.toml"
}
step "the bridge of Python is installed, and its entry point is found" python_there

no_build_paths() { ! readelf -d "$weft" "$libdir"/lib*weft*.so | grep -E 'R(UN)?PATH.*(build|src)'; }
step "no path of the build tree stays in what is installed" no_build_paths

finish
