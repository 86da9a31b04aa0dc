#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Libraries that stand before libc's functions, as weft's do: other allocators, and one that makes
# fsync do nothing. In front of weft's and behind it, in a program that allocates in all its threads
# while others fork, exec, begin and end: it does what it does without weft, nobody waits for a lock
# of his own, and it is recorded. (libfaketime: stranger_clocks.sh; sanitizers: see docs/guest.md.)
. "$(dirname "$0")/../../acceptance/lib.sh"
have jq || skip_all "jq is not installed"
patience=120 # what waits for a lock of its own waits for ever
allocator=$BUILD/tests/hostile/guests/allocator
rounds=${WEFT_ROUNDS:-128}
cd "$work" || exit 1

# A preload that is not there is told by the loader, and only by it.
is_there() { # LIBRARY
	[ -z "$(LD_PRELOAD=$1 /bin/true 2>&1)" ]
}

alone() { # LIBRARY
	local status=0
	LD_PRELOAD=$1 bounded "$allocator" "$rounds" "$1" >alone 2>alone.err || status=$?
	cat alone alone.err
	same 3 "$status" && grep -q ', is mapped$' alone
}

# As a person has it: the library is in weft, too, and stands behind weft's in the program.
behind() { # LIBRARY OPTION...
	local library=$1
	shift
	LD_PRELOAD=$library bounded "$weft" record -o a.jfr "$@" -- "$allocator" "$rounds" "$library"
}

before() { # LIBRARY OPTION...
	local library=$1
	shift
	bounded "$weft" record -o a.jfr "$@" -- \
		sh -c 'LD_PRELOAD=$1:$LD_PRELOAD exec "$2" "$3" "$1"' sh "$library" "$allocator" "$rounds"
}

recorded() { # HOW LIBRARY OPTION...
	local status=0
	rm -f a.jfr
	"$@" >recorded 2>recorded.err </dev/null || status=$?
	same 3 "$status" && same "$(cat alone)" "$(cat recorded)" &&
		same "" "$(grep -v '^weft record: ' recorded.err)" || {
		cat recorded.err
		return 1
	}
}

kept() {
	"$weft" report --json --top 1 a.jfr >json || return 1
	jq -c '{samples, books, lost}' json
	jq -e '.books.balanced and .samples > 0' json >/dev/null
}

interposer() { # LIBRARY
	local library=$1 how options
	is_there "$library" || {
		skip "$library" "it is not installed"
		return
	}
	if ! check "$library: the program alone" alone "$library"; then
		return
	fi
	for how in behind before; do
		for options in "-e cpu -F 997" "-e wall -F 199" "-e cpu,wall --waits"; do
			# shellcheck disable=SC2086
			check "$library $how weft's, $options: as alone" recorded $how "$library" $options
			check "... recorded, the books balance" kept
		done
	done
}

# One that is linked with the program begins before what is preloaded; so does what is behind weft's.
begins_first() { # OPTION...
	bounded "$weft" record -o a.jfr "$@" -- \
		sh -c 'LD_PRELOAD=$LD_PRELOAD:$1 exec "$2" "$3"' sh "$BUILD/tests/hostile/guests/libearly.so" "$allocator" "$rounds"
	same 3 $?
}
check "an allocator that makes system calls before weft begins" begins_first -F 997
check "... recorded, the books balance" kept
interposer libjemalloc.so.2
interposer libtcmalloc_minimal.so.4
interposer libeatmydata.so
finish
