#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Modules that come and go: every stack that is named is named by what lay there when the
# sample was taken. alpha and beta are one library under two names: the same size, the same
# code, loaded to the same address; only the names of their functions tell them apart.
. "$(dirname "$0")/lib.sh"

# record FILE ARGUMENTS...: and lists the stacks of the samples.
record() {
	local name=$1
	shift
	bounded "$weft" record -F 1000 -o "$work/$name.jfr" "$@" >"$work/$name.out" 2>"$work/$name.err" || {
		cat "$work/$name.out" "$work/$name.err"
		return 1
	}
	"$tools/list-samples" "$work/$name.jfr" | cut -f 8 >"$work/$name.stacks"
}

counter() { # FILE NAME
	"$weft" report --counters "$work/$1.jfr" | awk -v name="$2" '$2 == name { print $1 }'
}

stacks_with() { # FILE PATTERN
	grep -cE "$2" "$work/$1.stacks"
}

# Below run_0 nothing but alpha, below run_1 beta, below run_2 gamma.
no_wrong_name() {
	local wrong
	wrong=$(grep -E '(beta|gamma)_.*;run_0;|(alpha|gamma)_.*;run_1;|(alpha|beta)_.*;run_2;' "$work/$1.stacks" | sort | uniq -c)
	[ -z "$wrong" ] || {
		printf '%s\n' "$wrong"
		return 1
	}
}

# At least so many of 100 stacks that are in a library are named whole.
mostly_named() {
	local all named
	all=$(wc -l <"$work/$1.stacks")
	named=$(stacks_with "$1" "^((alpha|beta|gamma)_(inner;(alpha|beta|gamma)_)?middle;)?plugin_run;run_[012];.*main;|(dl|_dl|memset|clock|mmap|munmap|close|open).*;main;")
	at_least $((all * $2 / 100)) "$named"
}

three="$tools/libalpha.so $tools/libbeta.so $tools/libgamma.so"
for mode in auto raw check; do
	# shellcheck disable=SC2086
	check "libraries in turn at one address, --stack $mode" record turn-$mode --stack $mode -- "$tools/come-and-go" 2 $three
	check "... one lay where another had been" at_least 50 "$(sed -n 's/.*, \([0-9]*\) where.*/\1/p' "$work/turn-$mode.out")"
	check "... no function of one under another's name" no_wrong_name turn-$mode
	# not all: there are weft's own functions, and those of libc that are not in the list
	check "... most are named" mostly_named turn-$mode 95
done
check "... both walks agree" same 0 "$(counter turn-check check_different)"
check "... on some" at_least 1 "$(counter turn-check check_equal)"

alpha_not_beta() { # FILE
	same 0 "$(stacks_with "$1" 'beta_')" && at_least 50 "$(stacks_with "$1" '^alpha_inner;alpha_middle;plugin_run;run_it;main;')"
}
never_beta() {
	same 0 "$(stacks_with "$1" 'beta_')" && at_least 50 "$(stacks_with "$1" ';run_it;main;')"
}

# The kernel's own links to what is mapped are for root.
[ "$(id -u)" = 0 ] && judge=alpha_not_beta || judge=never_beta
mkdir "$work/place"
cp "$tools/libalpha.so" "$work/place/libdeleted.so"
check "deleted after it was loaded" record deleted -- "$tools/stay" deleted "$work/place/libdeleted.so"
check "... named by what it was" $judge deleted
cp "$tools/libalpha.so" "$work/place/libreplaced.so"
cp "$tools/libbeta.so" "$work/place/other.so"
check "replaced after it was loaded" record replaced -- "$tools/stay" replaced "$work/place/libreplaced.so" "$work/place/other.so"
check "... named by what it was" $judge replaced
check "loaded from a memfd" record copied -- "$tools/stay" copied "$tools/libalpha.so" code
check "... named" $judge copied

# In a mount namespace of its own: the same path is beta's outside.
mkdir "$work/inside"
cp "$tools/libalpha.so" "$work/inside/libhere.so"
cp "$tools/libbeta.so" "$work/place/libhere.so"
if unshare -m mount --bind "$work/inside" "$work/place" 2>/dev/null; then
	check "in another mount namespace" record namespace -- unshare -m sh -c \
		"mount --bind '$work/inside' '$work/place' && exec '$tools/stay' plain '$work/place/libhere.so'"
	check "... the file that it sees is the one that names" alpha_not_beta namespace
else
	skip "in another mount namespace" "unshare -m is not permitted"
fi
if [ "$(id -u)" = 0 ]; then
	mkdir "$work/root"
	cp "$tools/libalpha.so" "$work/root/libthere.so"
	for file in $(ldd "$tools/libalpha.so" | grep -oE '/[^ ]+'); do
		mkdir -p "$work/root$(dirname "$file")" && cp "$file" "$work/root$file"
	done
	check "after chroot" record chroot -- "$tools/stay" chroot /libthere.so "$work/root"
	check "... named" alpha_not_beta chroot
else
	skip "after chroot" "not root"
fi

# Nobody reads /proc of a non-dumpable process, but root does.
if [ "$(id -u)" = 0 ] && have setpriv; then
	other="setpriv --reuid 12345 --regid 12345 --clear-groups"
	mkdir -m 0777 "$work/theirs"
	chmod 0755 "$work"
	if $other "$weft" version >/dev/null 2>&1 && $other test -r "$tools/libalpha.so"; then
		hidden() {
			HOME=$work/theirs TMPDIR=$work/theirs bounded $other "$weft" record -F 1000 -o "$work/theirs/h.jfr" \
				-- "$tools/stay" hidden "$tools/libalpha.so" 2>"$work/err" || { cat "$work/err"; return 1; }
			"$tools/list-samples" "$work/theirs/h.jfr" | cut -f 8 >"$work/hidden.stacks"
		}
		check "a process that hides its /proc" hidden
		check "... its stacks go through what was there at the start" at_least 1 \
			"$(stacks_with hidden ';main;|^.*unknown')"
	else
		skip "a process that hides its /proc" "the build tree is not readable for others"
	fi
else
	skip "a process that hides its /proc" "not root"
fi
finish
