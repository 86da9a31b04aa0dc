#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Caches, and the link through which libweft.so is preloaded: what another user could exchange is
# neither believed nor loaded, and nothing is made where another user leads us.

load ../cli/common
load common

# The stranger's, as somebody has it who has used weft: root comes with this HOME by `sudo -E`.
strangers_home() {
	chown $STRANGER home
	as_stranger mkdir -p home/.cache/weft
}

# In the recording of $spaced: prints what was preloaded.
preloaded_path() { "$spaced" record -o out.jfr -- sh -c 'echo "$LD_PRELOAD"' 2>stderr; }

@test "with another user's HOME, what that user puts there is not loaded" {
	needs_stranger
	install_spaced
	strangers_home
	cp "$WEFT_HOSTILE_LIBRARY" hostile.so
	chmod 755 hostile.so
	cat >swap <<-'END'
		find "$1/home" -type l -exec ln -sfn "$1/hostile.so" {} \;
	END
	export HOSTILE_MARK=$place/mark
	LD_PRELOAD=$place/hostile.so /bin/true
	[ -e mark ] # it would tell
	rm mark
	"$spaced" record -o out.jfr -- sh -c 'preload=$LD_PRELOAD
		LD_PRELOAD= setpriv --reuid=$1 --regid=$1 --clear-groups sh "$2/swap" "$2"
		/bin/true
		echo "$preload" >"$2/preload"' sh $STRANGER "$place" 2>stderr
	expect_not [ -e mark ]
	rm -f "$(cat preload)"
	[ "$(find home -type l -o -type f | wc -l)" = 0 ]
}

@test "another user's link leads nowhere: nothing is made at its end" {
	needs_stranger
	chown $STRANGER home
	mkdir ours
	as_stranger ln -s "$place/ours" home/.cache
	weft record -o out.jfr -- true
	expect_status 0
	[ "$(ls ours)" = "" ]
	weft doctor --json
	expect_in "$(jq -r .checks.cache.value stdout)" "others can exchange it, or a directory on its way"
}

@test "a directory on the way that others can write to: neither tables nor the link" {
	install_spaced
	mkdir -m 777 home/.cache
	chmod 777 home/.cache
	preload=$(preloaded_path)
	[ "$(find home/.cache -mindepth 1)" = "" ]
	[[ $preload == /tmp/weft-cache-"$(id -u)"*/preload-*.so ]]
	[ "$(stat -c %u-%a "$(dirname "$preload")")" = "$(id -u)-700" ]
	[ "$(readlink "$preload")" = "$place/a b/lib/libweft.so" ]
	rm "$preload"
	[ "$(grep -c "warning: $HOME/.cache/weft: unwind tables are not kept there" stderr)" = 1 ]
	weft doctor --json
	expect_in "$(jq -r .checks.cache.value stdout)" "others can exchange it, or a directory on its way"
}

@test "below ~/.cache no link is followed; ~/.cache may be one of our own" {
	mkdir -p home/.cache elsewhere
	ln -s "$place/elsewhere" home/.cache/weft
	weft record -o out.jfr -- true
	expect_status 0
	expect_in "$err" "unwind tables are not kept there"
	[ "$(ls elsewhere)" = "" ]
	rm -r home/.cache
	ln -s "$place/elsewhere" home/.cache
	weft record -o out.jfr -- true
	expect_status 0
	[ -d elsewhere/weft/unwind ]
	chmod 777 elsewhere
	rm -r elsewhere/weft
	weft record -o out.jfr -- true
	expect_status 0
	[ "$(ls elsewhere)" = "" ]
}

@test "no link can be made: the reason is told" {
	install_spaced
	mkdir -m 777 home/.cache
	chmod 777 home/.cache
	unshare -m true 2>/dev/null || skip "no mount namespace may be made"
	cat >inside <<-'END'
		mount -t tmpfs -o ro none /tmp || exit 99
		"$1" record -o out.jfr -- touch begun 2>refused
		echo $? >status
	END
	unshare -m sh ./inside "$spaced" || skip "no file system may be mounted"
	[ "$(cat status)" = 1 ]
	grep -q 'libweft.so: Read-only file system' refused
	expect_not [ -e begun ]
}

@test "a link that leads elsewhere is made anew, and used" {
	install_spaced
	preload=$(preloaded_path)
	[[ $preload == "$HOME"/.cache/weft/preload-*.so ]]
	ln -sfn "$WEFT_HOSTILE_LIBRARY" "$preload"
	export HOSTILE_MARK=$place/mark
	[ "$(preloaded_path)" = "$preload" ]
	[ "$(readlink "$preload")" = "$place/a b/lib/libweft.so" ]
	expect_not [ -e mark ]
}

@test "names in /tmp that another user has taken are passed over; without any, nothing is begun" {
	needs_stranger
	install_spaced
	unshare -m true 2>/dev/null || skip "no mount namespace may be made"
	cat >inside <<-'END'
		mount -t tmpfs -o mode=1777 none /tmp || exit 99
		export WEFT_CACHE="/tmp/no such"
		take() { setpriv --reuid=$1 --regid=$1 --clear-groups mkdir -m 777 "$2"; }
		take $1 /tmp/weft-cache-0
		"$2" record -o out.jfr -- sh -c 'echo "$LD_PRELOAD"' >first 2>stderr
		find /tmp/weft-cache-0 -mindepth 1 >found
		rm -r /tmp/weft-cache-0-1
		for i in 1 2 3 4 5 6 7 8 9; do take $1 /tmp/weft-cache-0-$i; done
		"$2" record -o out.jfr -- touch begun 2>refused
		echo $? >status
	END
	unshare -m sh ./inside $STRANGER "$spaced" || skip "no file system may be mounted"
	[[ $(cat first) == /tmp/weft-cache-0-1/preload-*.so ]]
	[ ! -s found ]
	[ "$(cat status)" = 1 ]
	grep -q 'blank or colon' refused
	expect_not [ -e begun ]
}
