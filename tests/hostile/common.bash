# SPDX-License-Identifier: Apache-2.0
# Loaded after tests/cli/common.bash, whose functions serve here, too.
# shellcheck shell=bash

STRANGER=61234 # a user who has nothing to do with us

# A directory that strangers can pass and name, but not write to: $place.
setup() {
	place=$(mktemp -d /var/tmp/weft-hostile-XXXXXX) || return
	chmod 711 "$place"
	cd "$place" || return
	unset LD_PRELOAD WEFT_LIB WEFT_DIR WEFT_CACHE WEFT_HOOKS WEFT_RECORD WEFT_SOCKET WEFT_WAITS \
		WEFT_QUIET XDG_CACHE_HOME
	export HOME=$place/home
	mkdir -m 755 home
}

teardown() {
	cd / || return
	rm -rf "$place"
}

as_stranger() { setpriv --reuid=$STRANGER --regid=$STRANGER --clear-groups "$@"; }

# Cases that need a second user.
needs_stranger() {
	[ "$(id -u)" = 0 ] || skip "only root can act as a second user"
	as_stranger true 2>/dev/null || skip "no setpriv, or it may not change users here"
}

# A weft whose path the loader would split at the blank: $spaced.
install_spaced() {
	mkdir -p 'a b/bin' 'a b/lib'
	cp "$WEFT" 'a b/bin/weft'
	cp "$WEFT_BUILD/src/runtime/libweft.so" 'a b/lib/'
	spaced="$place/a b/bin/weft"
}
