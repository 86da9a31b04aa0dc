#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Thread-local variables of awkward processes: a thousand threads that nobody stops, threads that
# end meanwhile, libraries that go and come, no section headers, no robust lists, a first thread
# that has ended, other mount namespaces, files of another machine.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tls/lib.sh"
have gcc || skip_all "gcc is not installed"

build program gcc -DWHERE "$source/tls_variable.c" || skip_all "$(cat "$work/program.errors")"
build loader gcc
library libvariable.so gcc
library libother.so gcc -DPAD_BYTES=800

# How a child of a test is when nobody is looking at it.
traced() { # is any thread traced or stopped?
	grep -s -l -E '^(TracerPid:[[:space:]]*[1-9]|State:[[:space:]]*[tT])' "/proc/$pid"/task/*/status
}

begin "$work/program"
ask "threads 1000"
check "1000 threads tell" told
check "1000 threads: our address is each thread's own" addresses_agree
same_at_once() { # without leave to stop anybody
	"$addresses" "$pid" the_variable | sort | diff "$work/truth" -
}
[ "$(uname -m)" = x86_64 ] && check "and without leave to stop any" same_at_once
ask "churn 3"
while_threads_end() {
	local i
	for i in $(seq 10); do
		"$addresses" $at_once "$pid" the_variable >"$work/churned" || return
		sort "$work/churned" | touched | diff "$work/truth" - || return
	done
}
check "threads that end meanwhile disturb nobody" while_threads_end
check "nobody is left stopped" test -z "$(traced)"
end

# glibc's lists of threads, for want of robust lists; the first thread leaves at last.
begin "$work/program"
ask "no-robust-list" "threads 3"
check "no robust list: the threads tell" told
check "no robust list: our address is each thread's own" addresses_agree
ask leave
first_is_gone() { grep -q '^State:[[:space:]]*Z' "/proc/$pid/status"; }
check "the first thread ends" await 1200 first_is_gone
others_agree() {
	grep -v "^$pid " "$work/truth" >"$work/others"
	"$addresses" $at_once "$pid" the_variable | sort >"$work/ours" || return
	awk 'NR == FNR { tid[$1]; next } $1 in tid' "$work/others" "$work/ours" |
		diff "$work/others" -
}
check "the first thread has ended: the others' addresses" others_agree
end

# A library goes: its variable is gone. Another one gets its number, and threads that have not
# touched that one still have the first one's block there.
refused() { # STATUS PATTERN COMMAND...
	local status=$1 pattern=$2
	shift 2
	"$@" >"$work/out" 2>&1
	same "$status" "$?" && grep -q "$pattern" "$work/out"
}
all_untouched() {
	"$addresses" $at_once "$pid" the_variable >"$work/ours" || return
	same "$(wc -l <"$work/truth") errno ENODATA" \
		"$(cut -d' ' -f2- "$work/ours" | sort | uniq -c | sed 's/^ *//')"
}
begin "$work/loader"
check "no library yet: not defined" refused 1 "not defined" "$addresses" "$pid" the_variable
ask "load $work/libvariable.so" "threads 3"
check "a library comes: the threads tell" told
check "a library comes: our address is each thread's own" addresses_agree
ask unload
check "the library goes" await 1200 answered '^unloaded'
check "the library is gone: not defined" refused 1 "not defined" "$addresses" "$pid" the_variable
: >"$work/said"
ask "load $work/libother.so"
check "another one comes" await 1200 answered '^loaded'
check "its variable is in no thread that has not touched it" all_untouched
: >"$work/said"
check "the threads touch it" told
check "another one in its place: our address is each thread's own" addresses_agree
check "the place is its" place_is "general-dynamic dynamic" "$work/libother.so"
end

# Several definitions: each that is a variable of its own, in the order in which they came. Two
# names of one variable are one place.
places_are() { # LINE...
	"$addresses" --places "$pid" the_variable >"$work/places" || return
	printf '%s\n' "$@" | diff - "$work/places"
}
begin "$work/loader"
ask "load $work/libvariable.so" "load $work/libother.so" "threads 1"
check "two definitions: the threads tell" told
check "two definitions: in the order in which they came" places_are \
	"general-dynamic dynamic $work/libvariable.so" "general-dynamic dynamic $work/libother.so"
end
build both gcc -DWHERE -rdynamic "$source/tls_variable.c" -Wl,--no-as-needed \
	"$work/libvariable.so" "-Wl,-rpath,$work"
begin "$work/both"
ask "threads 2"
check "the program's before a library's: the threads tell" told
check "the program's before a library's: our address" addresses_agree
check "the program's before a library's: one place" places_are "local-exec static $work/both"
end

# Section headers are for linkers and debuggers: a loader does without them.
headless() { # FILE: no section headers
	printf '\0\0\0\0\0\0\0\0' | dd of="$1" bs=1 seek=40 conv=notrunc &&
		printf '\0\0\0\0\0\0' | dd of="$1" bs=1 seek=58 conv=notrunc
}
cp "$work/libvariable.so" "$work/libheadless.so"
headless "$work/libheadless.so" 2>/dev/null
check "no section headers: readelf sees none" grep -q "There are no sections" \
	<(readelf -S "$work/libheadless.so" 2>&1)
begin "$work/loader"
ask "load $work/libheadless.so" "threads 2"
check "no section headers: the threads tell" told
check "no section headers: our address is each thread's own" addresses_agree
end
begin "$work/program"
ask "threads 2"
check "a program with its symbols: tells" told
check "a program with its symbols: found" addresses_agree
end
build bare gcc -DWHERE "$source/tls_variable.c" -s
begin "$work/bare"
ask "threads 1"
check "a program without symbols: tells" told
check "a program without symbols: not defined" refused 1 "not defined" \
	"$addresses" "$pid" the_variable
end
build exported gcc -DWHERE "$source/tls_variable.c" -rdynamic -s
headless "$work/exported" 2>/dev/null
begin "$work/exported"
ask "threads 1"
check "exported, stripped, no section headers: tells" told
check "exported, stripped, no section headers: our address" addresses_agree
end

# Its name is another file's out here. First whoever may open mapped files does it, then one who
# has to go through the process's root.
elsewhere() { # HOW COMMAND...: a loader whose /..../lib.so is not what it is here
	local how=$1
	shift
	mkdir -p "$work/inside"
	cp "$work/libother.so" "$work/inside/lib.so"
	begin "$@"
	ask "load $work/inside/lib.so" "threads 2"
	check "$how: the threads tell" told
	check "$how: our address is each thread's own" addresses_agree
	addresses="setpriv --bounding-set=-sys_admin,-checkpoint_restore $work/addresses"
	cp "$tools/tls-addresses" "$work/addresses"
	check "$how, by its root: our address is each thread's own" by_root
	addresses=$tools/tls-addresses
	end
}
by_root() {
	$addresses $at_once "$pid" the_variable | sort | diff "$work/truth" -
}
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null && have setpriv; then
	mkdir -p "$work/hidden"
	cp "$work/libvariable.so" "$work/hidden/lib.so"
	elsewhere "another mount namespace" unshare -m sh -c \
		"mount --bind $work/hidden $work/inside && exec $work/loader"
	build loader-static gcc -static -DWHERE "$source/tls_variable.c"
	mkdir -p "$work/jail"
	cp "$work/loader-static" "$work/jail/"
	cp "$work/loader" "$work/loader-static" # the same name out here is another file
	begin chroot "$work/jail" /loader-static
	ask "threads 2"
	check "another root: the threads tell" told
	check "another root: our address is each thread's own" addresses_agree
	end
else
	skip "another mount namespace" "needs root, unshare and setpriv"
fi

# A library whose file is gone, or another by now, for one who may not open what is mapped.
deleted() { # TEXT COMPILER
	have "$2" || { skip "$1" "$2 is not installed"; return; }
	build old-loader "$2"
	library libold.so "$2"
	begin "$work/old-loader"
	ask "load $work/libold.so" "threads 2"
	check "$1: the threads tell" told
	rm "$work/libold.so"
	check "$1, deleted: our address is each thread's own" by_root
	cp "$work/libother.so" "$work/libold.so"
	check "$1, replaced: our address is each thread's own" by_root
	end
}
if have setpriv; then
	cp "$tools/tls-addresses" "$work/addresses"
	[ "$(id -u)" = 0 ] &&
		addresses="setpriv --bounding-set=-sys_admin,-checkpoint_restore $work/addresses"
	deleted "glibc, a library" gcc
	deleted "musl, a library" musl-gcc
	addresses=$tools/tls-addresses
fi

# Processes that are not there.
check "a process that never was" refused 1 ESRCH "$addresses" 4194304 the_variable
sleep 0 &
gone=$!
wait "$gone"
check "a process that has ended" refused 1 ESRCH "$addresses" "$gone" the_variable
if [ "$(id -u)" = 0 ] && have setpriv; then
	check "another user's process" refused 1 "EPERM\|EACCES" setpriv --reuid=65534 --regid=65534 \
		--clear-groups "$(command -v env)" -i "$addresses" "$$" the_variable
fi

# Files of the other machine, which no process here has.
if have aarch64-linux-gnu-gcc; then
	file_is() { # EXPECTED OPTIONS...
		library libarm.so aarch64-linux-gnu-gcc "${@:2}" || cat "$work/libarm.so.errors"
		same "$1" "$("$addresses" --file "$work/libarm.so" the_variable)"
	}
	check "aarch64: descriptors" file_is "descriptor named dynsym"
	check "aarch64: hidden, a symbol in .symtab" file_is "descriptor unnamed symtab" -DIS_HIDDEN
	check "aarch64: traditional" file_is "general-dynamic named dynsym" -mtls-dialect=trad
	check "aarch64: initial-exec" file_is "initial-exec named dynsym" -ftls-model=initial-exec
else
	skip "aarch64" "aarch64-linux-gnu-gcc is not installed"
fi
finish
