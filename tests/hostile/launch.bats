#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a program with weft in it begins, where nobody names a command: not what another user has put
# where one might be; and nothing at all where the program has more rights than who runs it.

load ../cli/common
load common

# tells FILE: a command that leaves a mark.
tells() {
	printf '#!/bin/sh\n: >"%s/marks/begun"\n' "$place" >"$1"
	chmod 755 "$1"
}

# Everybody may leave one.
marks() {
	mkdir -m 1777 marks
	unset WEFT_COMMAND
	export WEFT_QUIET=1 WEFT_RECORD=$place/marks/a.jfr
}

# begins CMD...: a command was begun. On a busy machine it may come late.
begins() {
	local tries=0
	rm -f marks/begun
	"$@"
	until [ -e marks/begun ]; do
		[ $((tries += 1)) -lt 600 ] || { echo "nothing was begun"; return 1; }
		sleep 0.1
	done
}

begins_nothing() {
	rm -f marks/begun
	"$@"
	[ ! -e marks/begun ]
}

# The library in a directory beside which others have theirs.
with_library() { LD_PRELOAD=$place/mine/libweft.so /bin/true; }

@test "a command that another user can have put beside the library is not run" {
	needs_stranger
	marks
	mkdir -m 755 mine cli
	cp "$WEFT_BUILD/src/runtime/libweft.so" mine/
	tells cli/weft
	begins with_library
	chown -h $STRANGER cli/weft
	begins_nothing with_library
	chown -h 0 cli/weft
	chown $STRANGER cli
	begins_nothing with_library
	chown 0 cli
	chmod 777 cli
	begins_nothing with_library
	chmod 1777 cli
	begins with_library
	# links that others have made lead to what they choose, a moment later to something else
	mv cli ours
	ln -s ours cli
	begins with_library
	chown -h $STRANGER cli
	begins_nothing with_library
	rm cli
	mkdir -m 755 cli
	ln -s "$place/ours/weft" cli/weft
	begins with_library
	chown -h $STRANGER cli/weft
	begins_nothing with_library
}

@test "a set-id program listens to no variable" {
	needs_stranger
	marks
	mkdir -m 755 lib
	cp "$WEFT_BUILD/src/runtime/libweft.so" lib/
	cat >raised.c <<-'END'
		#include <stdio.h>
		#include <unistd.h>
		int main(void) { return printf("%d\n", (int)geteuid()) < 0; }
	END
	cc -o raised raised.c -Wl,--no-as-needed lib/libweft.so "-Wl,-rpath,$place/lib" 2>cc.err ||
		skip "no compiler"
	tells command
	export WEFT_COMMAND=$place/command
	begins ./raised # it would
	chown $STRANGER raised
	chmod 4755 raised
	[ "$(./raised)" = $STRANGER ] || skip "programs get nobody's rights here"
	begins_nothing ./raised
}
