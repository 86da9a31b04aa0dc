#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Description: functions, inlined calls and lines of every instruction of a program are those
# that addr2line, eu-addr2line or llvm-symbolizer say, whatever way the compiler described
# them and wherever the description was moved to. Exit 77 without an oracle.
#
#	places.sh SHOW_PLACES short|long
#
# A variant whose DWARF was split off is compared with the oracles' answers for the same
# code with its DWARF in place: what can be read there must be found here.
set -u
show=$(realpath "$1")
length=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/weft-places-XXXXXX)
mkdir "$work/kept"
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
failed=0
ran=0

has() { command -v "$1" >/dev/null 2>&1; }
has llvm-symbolizer || has eu-addr2line || exit 77

say() { echo "$*"; }
fail() {
	echo "FAILED: $*"
	failed=$((failed + 1))
}

# build NAME CXX FLAG... : $work/NAME/prog
build() {
	local name=$1 cxx=$2 cc=gcc
	shift 2
	[ "$cxx" = clang++ ] && cc=clang
	mkdir -p "$work/$name"
	cd "$work/$name" || exit 1
	$cc "$@" -c "$here/other.c" -o other.o && $cxx "$@" -c "$here/fixture.cpp" -o fixture.o &&
		$cxx "$@" -Wl,--build-id fixture.o other.o -o prog 2>/dev/null
}

# compare NAME FILE [ARGUMENT...] : with the oracles, and there must be inlined calls
compare() {
	local name=$1 out status
	shift
	local settings=(--every "$every" --keep "$work/kept")
	if [ "$1" = --names ]; then
		settings+=("$1" "$2")
		shift 2
	fi
	out=$("$here/compare.py" "${settings[@]}" "$show" "$@")
	status=$?
	ran=$((ran + 1))
	say "$name: $out"
	[ $status = 0 ] || fail "$name"
	case $out in *" 0 inlined"*) fail "$name: nothing inlined" ;; esac
}

# variant NAME CXX FLAG...
variant() {
	local name=$1
	if has "$2" && build "$@"; then
		compare "$name" prog
	else
		say "$name: cannot be built here"
	fi
}

# How the compiler describes it.
every=29
[ "$length" = long ] && every=1
variant gcc-5 g++ -O2 -gdwarf-5
variant gcc-4 g++ -O2 -gdwarf-4
variant gcc-sections g++ -O2 -g -gz -ffunction-sections -Wl,--gc-sections
variant clang-5 clang++ -O2 -gdwarf-5
if [ "$length" = long ]; then
	variant gcc-3 g++ -O2 -gdwarf-3 -gstrict-dwarf
	variant gcc-O0 g++ -O0 -g
	variant gcc-g1 g++ -O1 -g1
	variant gcc-64 g++ -O2 -g -gdwarf64
	variant gcc-packed-old g++ -O2 -g -gz=zlib-gnu
	variant gcc-types-4 g++ -O2 -gdwarf-4 -fdebug-types-section
	variant gcc-types-5 g++ -O2 -gdwarf-5 -fdebug-types-section
	variant gcc-fixed g++ -O2 -g -no-pie
	variant gcc-lto g++ -O2 -g -flto
	variant gcc-O3-lto g++ -O3 -g -flto -ffunction-sections
	variant gcc-packed g++ -O2 -g -gz
	variant clang-4 clang++ -O2 -gdwarf-4
	variant clang-O0 clang++ -O0 -g
	variant clang-packed clang++ -O2 -g -gz
	variant clang-types-5 clang++ -O2 -gdwarf-5 -fdebug-types-section
	variant clang-sections clang++ -O2 -g -ffunction-sections
	variant clang-tables clang++ -O2 -gline-tables-only
fi

# Split DWARF: the same code as the variant without.
text_of() { objcopy -O binary -j .text "$1" /dev/stdout | cksum; }

# split NAME CXX FLAG... : split and whole, files and package
split() {
	local name=$1 whole
	has "$2" && build "$name-whole" "${@:2}" && build "$name" "${@:2}" -gsplit-dwarf || return
	whole=$work/$name-whole/prog
	if [ "$(text_of prog)" != "$(text_of "$whole")" ]; then
		say "$name: other code than without"
		return
	fi
	compare "$name" prog -- "$whole"
	# It never comes to an end with DWARF 5 of gcc 12.
	if has llvm-dwp && timeout 10 llvm-dwp -e prog -o prog.dwp >/dev/null 2>&1; then
		rm -f ./*.dwo
		compare "$name-package" prog -- "$whole"
	else
		say "$name: no package"
	fi
}

split clang-split-5 clang++ -O2 -gdwarf-5
if [ "$length" = long ]; then
	split gcc-split-5 g++ -O2 -gdwarf-5
	split gcc-split-4 g++ -O2 -gdwarf-4
	split gcc-split-types g++ -O2 -gdwarf-5 -fdebug-types-section
	split clang-split-types clang++ -O2 -gdwarf-5 -fdebug-types-section
	split clang-split-4 clang++ -O2 -gdwarf-4
fi

# Moved away: the variant gcc-5, without what it had.
whole=$work/gcc-5/prog
id=$(readelf -n "$whole" | sed -n 's/ *Build ID: //p')
by_id=.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug

# moved NAME : $work/NAME, with $work/NAME/prog stripped and prog.debug
moved() {
	mkdir -p "$work/$1" && cd "$work/$1" || exit 1
	objcopy --only-keep-debug "$whole" prog.debug
	strip -s -o prog "$whole"
}

# nothing NAME FILE [ARGUMENT...] : no line, no inlined call, no function of the symbol table
nothing() {
	local name=$1
	shift
	ran=$((ran + 1))
	objdump -d --no-show-raw-insn "$whole" |
		sed -n 's/^ *\([0-9a-f]*\):\t.*/0x\1/p' >"$work/addresses"
	"$show" "${@:2}" "$1" <"$work/addresses" >"$work/said" ||
		fail "$name: not run"
	if [ ! -s "$work/said" ]; then
		fail "$name: nothing said"
	elif grep -q 'fixture\.cpp\|other\.c\|Widget' "$work/said"; then
		fail "$name: was found"
	else
		say "$name: as it should be, nothing"
	fi
}

# found_by_id NAME DIRECTORY ARGUMENT... : of prog, whose debug file is below the DIRECTORY that the
# arguments make /usr/lib/debug
found_by_id() {
	local name=$1 file=$2/$by_id
	shift 2
	moved "$name"
	mkdir -p "$(dirname "$file")"
	nothing "$name-stripped" prog "$@"
	cp prog.debug "$file"
	compare "$name" prog "$@" -- "$whole"
	# of another program: the build-id in it tells
	objcopy --only-keep-debug "$work/gcc-4/prog" "$file"
	nothing "$name-of-another" prog "$@"
	rm "$file"
	mkfifo "$file"
	nothing "$name-a-fifo" prog "$@"
}

found_by_id by-id "$work/root/usr/lib/debug" -r "$work/root"
# The same below our own root, in a mount namespace of its own.
if [ -d /usr/lib/debug ] && unshare -m mount --bind "$work" /usr/lib/debug 2>/dev/null; then
	cat >"$work/show-below" <<-END
		#!/bin/sh
		exec unshare -m sh -c 'mount --bind "$work/debug" /usr/lib/debug && exec "\$0" "\$@"' "$show" "\$@"
	END
	chmod +x "$work/show-below"
	shown=$show show=$work/show-below
	found_by_id by-id-below-our-root "$work/debug"
	show=$shown
else
	say "by-id-below-our-root: left out, no mount namespace here"
fi

moved root
mkdir -p "theirs/usr/lib/debug/$(dirname "$by_id")"
cp prog.debug "theirs/usr/lib/debug/$by_id"
compare in-the-targets-root prog -r "$PWD/theirs" -- "$whole"

moved link
objcopy --add-gnu-debuglink=prog.debug prog
mkdir .debug
mv prog.debug .debug
compare debug-link "$PWD/prog" -- "$whole"
mv .debug/prog.debug .
compare debug-link-beside "$PWD/prog" -- "$whole"
mv prog.debug away
mkfifo prog.debug
nothing debug-link-a-fifo "$PWD/prog"
rm prog.debug
mv away prog.debug
debug=$PWD/root/usr/lib/debug$PWD
mkdir -p "$debug"
mv prog.debug "$debug"
compare debug-link-below "$PWD/prog" -r "$PWD/root" -- "$whole"
printf x >>"$debug/prog.debug"
nothing debug-link-damaged "$PWD/prog" -r "$PWD/root"

if [ "$(id -u)" = 0 ]; then
	moved owner
	objcopy --add-gnu-debuglink=prog.debug prog
	chown 65534 prog.debug
	nothing owner-another "$PWD/prog"
	chown 65534 prog
	compare owner-the-same "$PWD/prog" -- "$whole"
fi

# Unwind data that was split off with the DWARF.
if build frames g++ -O2 -g -fno-exceptions -fno-asynchronous-unwind-tables -fno-unwind-tables; then
	objcopy --only-keep-debug prog prog.debug
	strip -s -o stripped prog
	objcopy --add-gnu-debuglink=prog.debug stripped
	whole_rows=$("$show" -t "$PWD/prog") rows=$("$show" -t "$PWD/stripped")
	without=$(mv prog.debug away && "$show" -t "$PWD/stripped")
	ran=$((ran + 1))
	say "frames: $whole_rows; stripped, with its debug file: $rows; without: $without"
	[ "$whole_rows" = "$rows" ] || fail "frames"
	[ "$without" != "$rows" ] || fail "frames: nothing was split off"
fi

# MiniDebugInfo: function symbols that .dynsym has not, packed.
if has xz; then
	moved mini
	nm "$whole" --format=posix --defined-only | awk '$2 ~ /[tT]/ { print $1 }' >keep
	objcopy -S --remove-section .gdb_index --remove-section .comment \
		--keep-symbols=keep prog.debug mini
	xz -k mini
	objcopy --add-section .gnu_debugdata=mini.xz prog
	nm "$whole" | sed -n 's/^0*\([0-9a-f]*\) [tT] \(fixture_other\|sum\|compare\)$/0x\1 \2/p' |
		while read -r address name; do
			said=$(echo "$address" | "$show" prog | cut -f2)
			[ "$said" = "$name" ] || echo "$name: '$said'"
		done >wrong
	ran=$((ran + 1))
	if [ -s wrong ]; then
		fail "mini: $(cat wrong)"
	else
		say "mini: symbols of .gnu_debugdata are found"
	fi
fi

# dwz: what two programs share is in a third file.
if has dwz; then
	mkdir -p "$work/dwz" && cd "$work/dwz" || exit 1
	cp "$work/gcc-4/prog" one
	cp "$work/gcc-5/prog" other
	if dwz -m "$work/dwz/common" -M "$work/dwz/common" one other 2>dwz.log; then
		readelf -S one | grep -q gnu_debugaltlink || say "dwz: nothing in common"
		compare dwz one -- "$work/gcc-4/prog"
		mv common away
		cp "$work/by-id/prog.debug" common
		"$show" one <"$work/addresses" >said || fail "dwz: another file taken"
	else
		say "dwz: $(cat dwz.log)"
	fi
fi

# A server on loopback that has the file.
if has debuginfod; then
	moved server
	mkdir files
	mv prog.debug files
	port=$((20000 + $$ % 20000))
	debuginfod -d "$work/server/index" -p "$port" -t 0 -F files >server.log 2>&1 &
	server=$!
	for _ in $(seq 600); do
		grep -q "scanned .*files\|traversed logical=[1-9]" server.log && break
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	export DEBUGINFOD_CACHE_PATH=$work/server/cache DEBUGINFOD_URLS=http://127.0.0.1:$port
	if kill -0 "$server" 2>/dev/null; then
		nothing debuginfod-not-asked prog
		compare debuginfod prog -s -- "$whole"
		kill "$server"
		wait "$server" 2>/dev/null
		server=
		compare debuginfod-cached prog -s -- "$whole"
		rm -rf cache
		export DEBUGINFOD_CACHE_PATH=$work/server/cache2
		nothing debuginfod-gone prog -s
	else
		say "debuginfod: does not run here: $(tail -1 server.log)"
		server=
	fi
	unset DEBUGINFOD_URLS
fi

# A server that hands out the same file, whatever it is asked for; and says what that was.
if has python3; then
	moved liar
	mv prog.debug right
	mkdir lies
	objcopy --only-keep-debug "$work/gcc-4/prog" lies/another
	head -c $(($(stat -c %s right) / 2)) right >lies/half
	tac right >lies/noise
	cat >liar.py <<-'END'
		import http.server
		class Liar(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        data = open("handed", "rb").read()
		        self.send_response(200)
		        self.send_header("Content-Length", str(len(data)))
		        self.end_headers()
		        self.wfile.write(data)
		    def log_message(self, *words):
		        open("asked", "a").write(self.path + "\n")
		server = http.server.HTTPServer(("127.0.0.1", 0), Liar)
		print(server.server_port, flush=True)
		server.serve_forever()
	END
	python3 liar.py >port &
	server=$!
	for _ in $(seq 600); do
		[ ! -s port ] || break
		sleep 0.05
	done
	# hands FILE: from now on, to who has kept nothing
	hands() {
		cp "$1" handed
		rm -f asked
		export DEBUGINFOD_CACHE_PATH=$work/liar/cache-$(basename "$1")
	}
	export DEBUGINFOD_URLS=http://127.0.0.1:$(cat port)
	hands right
	echo 0x0 | "$show" -s prog >said
	if [ -s asked ]; then
		compare debuginfod-by-hand prog -s -- "$whole"
		for lie in lies/*; do
			hands "$lie"
			nothing "debuginfod-lies: $lie" prog -s
			[ -s asked ] || fail "debuginfod-lies: $lie: not asked"
		done
	else
		say "debuginfod-lies: left out, this weft asks no servers"
	fi
	kill "$server"
	wait "$server" 2>/dev/null
	server=
	unset DEBUGINFOD_URLS
fi

# Other languages.
if has rustc && [ "$length" = long ]; then
	mkdir -p "$work/rust" && cd "$work/rust" || exit 1
	for mangling in legacy v0; do
		set -- -C "symbol-mangling-version=$mangling"
		[ $mangling = v0 ] || set --
		rustc -g -C opt-level=2 "$@" -o "rust-$mangling" "$here/fixture.rs" 2>rustc.log ||
			{ say "rust: $(grep -m1 error rustc.log)"; continue; }
		every=31
		compare "rust-$mangling" "rust-$mangling"
	done
fi
if has go && [ "$length" = long ]; then
	mkdir -p "$work/go" && cd "$work/go" || exit 1
	if GOCACHE=$work/go/cache GOFLAGS=-mod=mod go build -o gone "$here/fixture.go" 2>go.log; then
		every=97
		compare go gone
	else
		say "go: $(tail -1 go.log)"
	fi
fi

# libc as Debian strips it: by build-id, symbols and DWARF apart, shared parts by dwz.
libc=$(ldd "$show" | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')
libc_id=$(readelf -n "$libc" 2>/dev/null | sed -n 's/ *Build ID: //p')
if [ -n "$libc_id" ] && ls /usr/lib/debug/.build-id/"${libc_id:0:2}"/"${libc_id:2}".debug \
	>/dev/null 2>&1; then
	every=997
	[ "$length" = long ] && every=199
	compare libc --names "/usr/lib/debug/.build-id/${libc_id:0:2}/${libc_id:2}.debug" "$libc"
fi

say "$ran comparisons, $failed failed"
[ $failed = 0 ]
