#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# LD_PRELOAD=libweft.so WEFT_RECORD=FILE: a collector that begins by itself.
. "$(dirname "$0")/lib.sh"
mkdir "$out/meet"
export WEFT_DIR=$out/meet WEFT_COMMAND=$WEFT

# samples FILE: all that it holds.
samples() {
	"$WEFT" report --by span --json "$1" 2>>"$out/errors" | sed -n 's/^  "samples": *\([0-9]*\).*/\1/p'
}

# A pipeline must end, and the file be complete when the program has.
LD_PRELOAD=$LIBWEFT WEFT_RECORD=$out/a.jfr timeout 30 "$VICTIM" threads 3 300 | cat
is "complete at exit" "$(samples "$out/a.jfr")" -gt 5
is "mode 0600" "$(stat -c %a "$out/a.jfr")" = 600

# Children join, by fork and by exec; none begins a file of its own or overwrites this one.
(cd "$out" && LD_PRELOAD=$LIBWEFT WEFT_RECORD=b.jfr timeout 30 sh -c "\"$VICTIM\" burn 300; \"$VICTIM\" fork 300; true")
is "relative path, children" "$(samples "$out/b.jfr")" -gt 10
is "one file" "$(find "$out" -name '*.jfr*' | wc -l)" -eq 2

# A program that reaps all its children gets none that it does not know.
LD_PRELOAD=$LIBWEFT WEFT_RECORD=$out/c.jfr timeout 30 "$VICTIM" reap
is "no strange child" $? -eq 0
tries=0
while [ -n "$(ls "$out/meet")" ] && [ $tries -lt 600 ]; do sleep 0.1; tries=$((tries + 1)); done
is "nothing left behind" "$(find "$out/meet" -mindepth 1 | wc -l)" -eq 0

# A file that cannot be made is told; the program runs.
LD_PRELOAD=$LIBWEFT WEFT_RECORD=/nonexistent/g.jfr timeout 30 "$VICTIM" burn 10 2>"$out/answer"
is "no file: status" $? -eq 0
is "no file: why" "$(grep -c '/nonexistent/g.jfr: No such file' "$out/answer")" -eq 1

# What goes wrong later is told too: on its stderr, or beside the file where that is not there. The
# disk has room for the first chunk, of types alone.
if unshare -r -m true 2>"$out/errors"; then
	mkdir "$out/disk"
	# In the last one the program's stderr is full by then, a pipe that nobody reads.
	mkfifo "$out/full"
	for how in '"$3" burn 300' '"$3" burn 300 2>&-' 'sh -c "exec $3 burn 300"' \
		'exec 7<>"$1/full"; sh -c "timeout 1 cat /dev/zero >&2; \"\$0\" burn 300; exit 0" "$3" 2>&7'; do
		case $how in '"$3" burn 300') later=no ;; *) later=later ;; esac
		unshare -r -m sh -c 'mount -t tmpfs -o size=12k tmpfs "$1/disk"
			export LD_PRELOAD="$2" WEFT_RECORD="$1/disk/h.jfr"
			'"$how"'; status=$?
			unset LD_PRELOAD WEFT_RECORD
			echo $status >"$1/status"
			tries=0
			while [ "$4" = later ] && [ ! -e "$1/disk/h.jfr.error" ] && [ $tries -lt 600 ]; do
				sleep 0.1
				tries=$((tries + 1))
			done
			ls "$1/disk" >"$1/late"' sh "$out" "$LIBWEFT" "$VICTIM" \
			"$later" 2>"$out/answer"
		is "full disk: status" "$(cat "$out/status")" -eq 0
		is "full disk: told ($how)" \
			"$(cat "$out/late" "$out/answer" | grep -c 'h.jfr: No space left\|h.jfr.error')" -eq 1
	done
fi

# Where the program has no stderr, what the collector opens does not become the collector's.
LD_PRELOAD=$LIBWEFT WEFT_RECORD=$out/k.jfr timeout 60 "$VICTIM" burn 600000 2>&- &
victim=$!
tries=0 collector=
while [ $tries -lt 600 ] && ! ls -l "/proc/${collector:-0}/fd" 2>/dev/null | grep -q 'weft-tables'; do
	sleep 0.1
	tries=$((tries + 1))
	collector=$(pgrep -f "weft collect .* -o $out/k.jfr ")
done
is "no stderr: what the collector opens stays" $tries -lt 600
kill $victim
wait $victim
while [ $tries -lt 600 ] && [ -e "/proc/$collector" ]; do sleep 0.1; tries=$((tries + 1)); done

# A collector that was killed leaves its socket; the next weft removes it, and nothing else.
# Root's can be passed by all users, and its socket may have been given to one.
# A link is not followed.
mkdir "$out/meet/AbCdEf" "$out/meet/others" "$out/meet/GhIjKl" "$out/meet/RootAA" "$out/meet/RootBB" \
	"$out/elsewhere"
ln -s "$out/elsewhere" "$out/meet/LiNkAa"
chmod 700 "$out/meet/AbCdEf" "$out/meet/GhIjKl" "$out/elsewhere"
chmod 711 "$out/meet/RootAA" "$out/meet/RootBB"
python3 - "$out/meet/AbCdEf/socket" "$out/meet/4194300.sock" "$out/meet/others/socket" "$out/meet/GhIjKl/socket" \
	"$out/meet/RootAA/4194301.sock" "$out/meet/RootBB/new" "$out/elsewhere/socket" <<-'END'
	import socket, sys
	for path in sys.argv[1:]:
	    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(path)
END
touch "$out/meet/GhIjKl/notes"
chmod 666 "$out/meet/RootAA/4194301.sock"
[ "$(id -u)" != 0 ] || chown 61234 "$out/meet/RootAA/4194301.sock"
find "$out/meet" "$out/elsewhere" -exec touch -h -d '1 hour ago' {} +
mkdir -m 700 "$out/meet/MnOpQr"
"$WEFT" record -o "$out/i.jfr" -- true 2>"$out/errors"
is "stale: removed" "$(ls "$out/meet" | tr '\n' ' ')" = "GhIjKl LiNkAa MnOpQr others "
is "stale: no link is followed" "$(ls "$out/elsewhere")" = socket
rm -rf "$out/meet"/*

# PID 1 of a namespace takes the collector with it, also by _exit.
if unshare -r -p --fork --mount-proc true 2>"$out/errors"; then
	unshare -r -p --fork --mount-proc env LD_PRELOAD="$LIBWEFT" WEFT_RECORD="$out/e.jfr" \
		"$VICTIM" quit 300
	is "complete after _exit of PID 1" "$(samples "$out/e.jfr")" -gt 5
fi

# Where libweft.so cannot be found the loader has nothing to say about it.
mkdir -p "$out/root/bin"
for file in /bin/sh $(ldd /bin/sh | grep -o '/[^ ]*'); do
	mkdir -p "$out/root$(dirname "$file")"
	cp "$file" "$out/root$file"
done
if unshare -r chroot "$out/root" /bin/sh -c true 2>"$out/errors"; then
	"$WEFT" record -o "$out/f.jfr" -- unshare -r chroot "$out/root" /bin/sh -c \
		'echo "$LD_PRELOAD"; (sh -c "exit 7"); exit $?' >"$out/answer" 2>"$out/errors"
	is "chroot: status" $? -eq 7
	is "chroot: nothing on stderr" "$(grep -vc '^weft record: ' "$out/errors")" -eq 0
	is "chroot: no preload there" "$(cat "$out/answer")" = ""
	"$WEFT" record --waits -o "$out/w.jfr" -- unshare -r chroot "$out/root" /bin/sh -c \
		'echo "$LD_PRELOAD"; (sh -c "exit 7"); exit $?' >"$out/answer" 2>"$out/errors"
	is "chroot with --waits: status" $? -eq 7
	is "chroot with --waits: nothing on stderr" "$(grep -vc '^weft record: ' "$out/errors")" -eq 0
	is "chroot with --waits: no preload there" "$(cat "$out/answer")" = ""
	LD_PRELOAD=$LIBWEFT:/nonexistent.so unshare -r chroot "$out/root" /bin/sh -c 'echo "$LD_PRELOAD"' \
		>"$out/answer" 2>"$out/errors"
	is "chroot: other preloads stay" "$(cat "$out/answer")" = /nonexistent.so
fi
exit $failed
