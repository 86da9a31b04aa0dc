# SPDX-License-Identifier: Apache-2.0
# For the tests of thread-local variables: sourced by each after acceptance/lib.sh.
source=$(cd "$(dirname "$0")/tls" && pwd)
addresses=$tools/tls-addresses
at_once=${at_once:---stop} # on x86-64 nobody needs to be stopped
[ "$(uname -m)" = x86_64 ] && at_once=

# build OUT COMPILER OPTIONS...: the program; with -DWHERE it has the variable itself
build() {
	local out=$1 compiler=$2
	shift 2
	"$compiler" -O1 -g -D_GNU_SOURCE -pthread "$source/tls_program.c" "$@" -o "$work/$out" -ldl \
		2>"$work/$out.errors"
}

# library OUT COMPILER OPTIONS...
library() {
	local out=$1 compiler=$2
	shift 2
	"$compiler" -O1 -g -fPIC -shared "$source/tls_variable.c" "$@" -o "$work/$out" \
		2>"$work/$out.errors"
}

# begin PROGRAM: starts it; its steps are written to descriptor 7
begin() {
	rm -f "$work/steps"
	mkfifo "$work/steps"
	: >"$work/said"
	"$@" <"$work/steps" >>"$work/said" 2>&1 &
	pid=$!
	started+=("$pid")
	exec 7>"$work/steps"
}

end() {
	exec 7>&-
	wait "$pid" 2>/dev/null
	unset 'started[-1]'
}

ask() { # STEP...
	printf '%s\n' "$@" >&7
}

answered() { # PATTERN [COUNT]
	[ "$(grep -c "$1" "$work/said")" -ge "${2:-1}" ]
}

# The threads tell where the variable is: all of them but those that never touched it.
told() {
	ask tell
	await 1200 answered '^ready' || {
		cat "$work/said"
		return 1
	}
	grep -E '^[0-9]+ 0x' "$work/said" | sort >"$work/truth"
	[ -s "$work/truth" ]
}

place_is() { # "MODEL KIND" FILE: of the first place
	"$addresses" --places "$pid" the_variable >"$work/places" &&
		same "$1 $(readlink -f "$2")" "$(head -n 1 "$work/places")"
}

# Lines of threads that touched it, and of them alone.
touched() {
	awk 'NR == FNR { tid[$1]; next } $1 in tid' "$work/truth" -
}

addresses_agree() {
	"$addresses" $at_once "$pid" the_variable | sort >"$work/ours" || return 1
	touched <"$work/ours" | diff "$work/truth" -
}

# Of all threads, those that never touched it too.
gdb_agrees() {
	timeout 60 gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set auto-load safe-path /' \
		-p "$pid" -x "$source/tls_gdb.py" </dev/null >"$work/gdb" 2>&1
	sed -n 's/^tls //p' "$work/gdb" | sort >"$work/gdb.lines"
	[ -s "$work/gdb.lines" ] || {
		cat "$work/gdb"
		return 1
	}
	diff "$work/gdb.lines" "$work/ours"
}

untouched_is() { # "address" or "errno ENODATA"
	local tid
	tid=$(awk '$2 == "untouched" { print $1 }' "$work/said")
	case $1 in
	address) grep -qE "^$tid 0x" "$work/ours" ;;
	*) grep -q "^$tid $1$" "$work/ours" ;;
	esac || {
		grep "^$tid" "$work/ours"
		return 1
	}
}
