#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cargo test of bindings/rust against the build tree: by the first Rust in PATH that works, with
# libweft.so; long: by each Rust in PATH, with libweft.a, too, the documentation, clippy.
# usage: rust.sh SOURCE LIBRARY_DIR [long]
set -u
source=$1 libraries=$2 how=${3:-}
. "$source/tests/steps.sh"
within="timeout 400"

# Cargo writes beside the sources.
cp -r "$source/bindings/rust" "$scratch/crate" && cd "$scratch/crate" || exit 99
rm -rf target Cargo.lock

cat >"$scratch/layout.c" <<'END'
#include <stdio.h>
#include <weft/abi/custom_labels_v1.h>
#include <weft/event.h>
#include <weft/labels.h>
#include <weft/prepared.h>
#define AT(type, field) offsetof(struct type, field)
int main(void)
{
	printf("ids %zu context %zu %zu [%zu, %zu, %zu, %zu] label %zu [%zu, %zu, %zu, %zu] "
	       "scope %zu %zu attached %zu %zu tags %d most %d key %d value %d replace %d",
	       sizeof(struct weft_ids), sizeof(struct weft_context), _Alignof(struct weft_context),
	       AT(weft_context, root_span_id), AT(weft_context, trace_id),
	       AT(weft_context, trace_flags), AT(weft_context, tags), sizeof(struct weft_label),
	       AT(weft_label, key_bytes), AT(weft_label, value), AT(weft_label, value_bytes),
	       AT(weft_label, result), sizeof(struct weft_scope), _Alignof(struct weft_scope),
	       sizeof(struct weft_attached), _Alignof(struct weft_attached),
	       WEFT_TAGS, WEFT_CUSTOM_LABELS_MOST, WEFT_CUSTOM_LABELS_KEY_BYTES,
	       WEFT_CUSTOM_LABELS_VALUE_BYTES, WEFT_UPDATE_REPLACE);
	printf(" event field %zu [%zu, %zu, %zu, %zu] type %zu [%zu, %zu, %zu, %zu, %zu, %zu, %zu, %zu] "
	       "value %zu event %zu span %zu\n",
	       sizeof(struct weft_event_field), AT(weft_event_field, kind),
	       AT(weft_event_field, content), AT(weft_event_field, label),
	       AT(weft_event_field, description), sizeof(struct weft_event_type),
	       AT(weft_event_type, category), AT(weft_event_type, fields),
	       AT(weft_event_type, field_count), AT(weft_event_type, flags),
	       AT(weft_event_type, threshold), AT(weft_event_type, select),
	       AT(weft_event_type, row), AT(weft_event_type, payload_bytes),
	       sizeof(struct weft_event_value), sizeof(struct weft_event),
	       sizeof(struct weft_span));
	return 0;
}
END
cc -std=gnu11 -I"$source/include" -o "$scratch/layout" "$scratch/layout.c" || exit 99
WEFT_C_LAYOUT=$("$scratch/layout") || exit 99
export WEFT_C_LAYOUT

# Each field of the shared file, by the names that the header has.
fields() { # STRUCT: printf lines for its fields, in order
	awk -v want="struct $1 {" '
		$0 == want { on = 1; next }
		on && /^};/ { exit }
		on && /^\t[a-z_0-9 ]+[ *].*;/ {
			gsub(/\/\*[^*]*\*\//, ""); sub(/;.*/, "")
			n = split($0, names, ",")
			for (i = 1; i <= n; i++) {
				sub(/\[.*/, "", names[i]); m = split(names[i], words, " ")
				printf "\tprintf(\" %s %%zu\", AT(%s, %s));\n", words[m], "'"$1"'", words[m]
			}
		}' "$source/include/weft/abi/ctp.h"
}
{
	printf '#include <stdio.h>\n#include <weft/abi/ctp.h>\n'
	printf '#define AT(type, field) offsetof(struct type, field)\nint main(void)\n{\n'
	printf '\tprintf("%%llx %%d %%x %%d %%d %%d %%d; ", (unsigned long long)WEFT_CTP_MAGIC,\n'
	printf '\t\tWEFT_CTP_VERSION, WEFT_CTP_EXTENSION, WEFT_CTP_SLOTS, WEFT_CTP_PAYLOAD_MAX,\n'
	printf '\t\tWEFT_CTP_BUCKETS, WEFT_CTP_DIRTY_WORDS);\n'
	for struct in header anchor station epoch totals context context_prefix; do
		printf '\tprintf("%%zu", sizeof(struct weft_ctp_%s));\n' "$struct"
		fields "weft_ctp_$struct"
		printf '\tprintf("; ");\n'
	done
	printf '\treturn 0;\n}\n'
} >"$scratch/ctp.c"
cc -std=gnu11 -I"$source/include" -o "$scratch/ctp" "$scratch/ctp.c" || exit 99
WEFT_C_CTP=$("$scratch/ctp") || exit 99
export WEFT_C_CTP
# The crate does not lie in the tree here.
export WEFT_INCLUDE_DIR="$source/include"
unset CTP_SHM_PATH CTP_SOCK_PATH CTP_MAX_STATIONS

# The tests of the step before.
ran() {
	n=$((n + 1))
	count=$(sed -n 's/^test result: ok. \([0-9]*\) passed.*/\1/p' "$scratch/log" |
		awk '{ s += $1 } END { print s + 0 }')
	if [ "$count" -ge "$1" ]; then
		echo "ok $n - $count tests ran"
	else
		status=1
		echo "not ok $n - $count tests ran, not $1"
	fi
}

# What the test of events commits under `weft record`, as its recording has it.
recorded() {
	weft=$libraries/../../weft
	program=$(find "$CARGO_TARGET_DIR/debug/deps" -name 'events-*' -type f ! -name '*.d' | head -n 1)
	command -v jq >/dev/null && [ -x "$weft" ] || return 0
	step "$version: events are recorded" env WEFT_TEST_RECORDED=1 WEFT_CACHE="$scratch/cache" \
		"$weft" record -o "$scratch/out.jfr" -- "$program"
	"$weft" print --json --events 'rust.*,weft.TimedSpan' "$scratch/out.jfr" 2>&1 |
		jq -c '.recording.events[].values | del(.startTime, .duration, .eventThread, .stackTrace) |
			if .o then .o = (.o.osThreadId > 0) else . end' >"$scratch/told" 2>&1
	cat >"$scratch/expected" <<-'END'
		{"a":true,"b":-8,"c":-16,"d":8,"e":-32,"f":16,"g":-64,"h":4000000000,"i":-1,"j":0.5,"k":-2.25,"l":"Zoë","m":null,"n":"pool","o":true,"p":"0000000000000abc"}
		{"a":true,"b":-8,"c":-16,"d":8,"e":-32,"f":16,"g":-64,"h":4000000000,"i":-1,"j":0.5,"k":-2.25,"l":"Zoë","m":"some","n":"pool","o":true,"p":"0000000000000abc"}
		{"n":0}
		{"path":"/full"}
		{"n":100}
		{"name":"checkout","spanId":"0000000000000011","rootSpanId":"0000000000000022"}
	END
	sort -o "$scratch/told" "$scratch/told"
	sort -o "$scratch/expected" "$scratch/expected"
	step "$version: as they were committed" diff "$scratch/expected" "$scratch/told"
}

# with DIRECTORY: cargo and rustc from there
with() {
	PATH=$1:$PATH
	cargo --version >/dev/null 2>&1 && rustc --version >/dev/null 2>&1 || return
	version=$(rustc --version | cut -d' ' -f2)
	export CARGO_TARGET_DIR="$scratch/target-$version" WEFT_LIB_DIR="$libraries"
	export LD_LIBRARY_PATH="$libraries"
	unset WEFT_STATIC
	if [ "$how" != long ]; then # a program for each example in the documentation takes long
		step "rustc $version, libweft.so: cargo test" cargo test --offline --tests
		ran 26
		recorded
		# CC is of two words, as with a compiler cache
		step "rustc $version, cTP alone: cargo test" env -u WEFT_LIB_DIR -u LD_LIBRARY_PATH \
			CC="env cc" cargo test --offline --tests --no-default-features
		ran 11
		return
	fi
	step "rustc $version, libweft.so: cargo test" cargo test --offline
	ran 36
	recorded
	export WEFT_STATIC=1
	step "rustc $version, libweft.a: cargo test" cargo test --offline --tests --examples
	ran 25
	step "rustc $version, cTP alone: cargo test" env -u WEFT_LIB_DIR -u LD_LIBRARY_PATH \
		cargo test --offline --tests --no-default-features
	ran 11
	unset WEFT_STATIC
	export RUSTDOCFLAGS="-D warnings"
	step "rustc $version: cargo doc without warnings" cargo doc --offline -q --no-deps
	if [ -x "$1/cargo-clippy" ] && cargo clippy --version >/dev/null 2>&1; then
		step "rustc $version: clippy" cargo clippy --offline -q --all-targets -- -D warnings
	fi
}

seen=
IFS=:
for directory in $PATH; do
	unset IFS
	[ -x "$directory/cargo" ] && directory=$(realpath "$directory") || continue
	case " $seen " in *" $directory "*) continue ;; esac
	seen="$seen $directory"
	(with "$directory"; echo "$n $status" >"$scratch/count")
	[ ! -s "$scratch/count" ] || read -r n status <"$scratch/count"
	if [ "$n" -gt 0 ] && [ "$how" != long ]; then break; fi
done
[ "$n" -gt 0 ] || { echo "1..0 # skip no cargo"; exit 77; }
finish
