#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The bridge of Python: what it shows at each step, and the shares of spans in recordings, by each
# way in which a program may run what belongs to a span. OpenTelemetry's SDK comes from the package
# registry. usage: python_otel.sh SOURCE LIBRARY_DIR
set -u
source=$1 libraries=$2
weft=$libraries/../../weft
command -v jq >/dev/null || { echo "1..0 # skip no jq"; exit 77; }
python3 -m pip --version >/dev/null 2>&1 || { echo "1..0 # skip no python3 with pip"; exit 77; }
. "$source/tests/steps.sh"
. "$source/tests/bindings/shares.sh"
unset OTEL_PYTHON_CONTEXT WEFT_OTEL_LABELS PYTHONPATH PYTHONSAFEPATH WEFT_LIB LD_PRELOAD LD_LIBRARY_PATH
PYTHONDONTWRITEBYTECODE=1 && export PYTHONDONTWRITEBYTECODE

fetched() { # PACKAGE
	timeout 120 python3 -m pip install -q --no-cache-dir --disable-pip-version-check \
		--target "$scratch/site" "$1" >"$scratch/log" 2>&1
}
fetched opentelemetry-sdk || { echo "1..0 # skip opentelemetry-sdk cannot be had"; exit 77; }
fetched anyio || echo "# without anyio: it cannot be had"
PYTHONPATH=$source/bindings/python:$scratch/site && export PYTHONPATH
orders=$source/examples/otel/orders.py

layout_agrees() {
	cat >"$scratch/layout.c" <<-END
		#include <stdio.h>
		#include <weft/labels.h>
		#define AT(field) offsetof(struct weft_context, field)
		int main(void)
		{
			printf("%zu %zu %zu %zu %zu %zu %zu\n", sizeof(struct weft_context), AT(root_span_id),
			       AT(trace_id), AT(trace_flags), AT(tags), sizeof(struct weft_label),
			       offsetof(struct weft_label, result));
			return 0;
		}
	END
	cc -std=gnu11 -I"$source/include" -o "$scratch/layout" "$scratch/layout.c" || return 1
	"$scratch/layout" >"$scratch/c"
	python3 -c 'from ctypes import sizeof
from weft_otel._weft import _Context as c, _Label as l
print(sizeof(c), c.root_span_id.offset, c.trace_id.offset, c.trace_flags.offset, c.tags.offset,
      sizeof(l), l.result.offset)' >"$scratch/python"
	diff "$scratch/c" "$scratch/python"
}
step "structs are those of C" layout_agrees

shown() { # LIBRARY|- ENVIRONMENT...
	library=$1
	shift
	env WEFT_OTEL_LABELS=tenant "$@" python3 -W ignore "$source/tests/bindings/otel/shown.py" "$library" $loop
}
loop=
step "at each step, with libweft.so preloaded" shown - LD_PRELOAD="$libraries/libweft.so"
step "with libweft-late.so beside WEFT_LIB" shown "$libraries/libweft-late.so" WEFT_LIB="$libraries/libweft.so"
no_library() { python3 -m weft_otel "$orders" nested 0.1 && ! python3 -c 'import weft_otel, ctypes
ctypes.CDLL(None).weft_context_update' 2>/dev/null; }
step "without any library the program runs as ever" no_library

arguments_are_its_own() {
	printf 'import sys\nprint(__name__, *sys.argv)\n' >"$scratch/said.py"
	python3 -m weft_otel "$scratch/said.py" -m b >"$scratch/told" &&
		(cd "$scratch" && python3 -m weft_otel -m said -c x) >>"$scratch/told" &&
		python3 -m weft_otel -c 'import sys; print(__name__, *sys.argv)' y >>"$scratch/told"
	printf '%s\n' "__main__ $scratch/said.py -m b" "__main__ $(cd "$scratch" && pwd -P)/said.py -c x" \
		"__main__ -c y" | diff - "$scratch/told"
}
step "a program has its own arguments" arguments_are_its_own

for way in plain nested threads asyncio executor; do
	step "$way: recorded" recorded env WEFT_OTEL_LABELS=tenant python3 -m weft_otel "$orders" $way 2
	step "$way: shares by name" shares_agree label:span.name
	[ $way = nested ] || step "$way: shares by span" shares_agree span 3
	if [ $way = nested ]; then
		step "$way: all for one root span" all_under root "$(id_of request)"
		step "$way: all with the label from baggage" all_under label:tenant acme
	fi
done
step "by OTEL_PYTHON_CONTEXT: recorded" recorded env OTEL_PYTHON_CONTEXT=weft_context python3 "$orders" plain 2
step "by OTEL_PYTHON_CONTEXT: shares by name" shares_agree label:span.name

# Attaching and detaching alone would not do; and this test would notice.
wrong_shares() {
	shares_agree label:span.name
	[ $? -eq 1 ]
}
step "tasks that are not followed: recorded" recorded python3 -c "import weft_otel._asyncio as a, sys
a.follow = lambda runtime: None
sys.argv[1:] = ['$orders', 'asyncio', '2']
import weft_otel.__main__"
step "tasks that are not followed: wrong shares" wrong_shares

if fetched uvloop; then
	loop=uvloop
	step "uvloop: at each step" shown - LD_PRELOAD="$libraries/libweft.so"
	step "uvloop: recorded" recorded python3 -W ignore -m weft_otel -c "import uvloop, runpy, sys
uvloop.install()
sys.argv[1:] = ['asyncio', '2']
runpy.run_path('$orders', run_name='__main__')"
	step "uvloop: shares by name" shares_agree label:span.name
else
	skip "uvloop" "it cannot be had"
fi
finish
