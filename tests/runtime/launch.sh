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
while [ -n "$(ls "$out/meet")" ] && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
is "nothing left behind" "$(find "$out/meet" -mindepth 1 | wc -l)" -eq 0

# A file that cannot be made is told; the program runs.
LD_PRELOAD=$LIBWEFT WEFT_RECORD=/nonexistent/g.jfr timeout 30 "$VICTIM" burn 10 2>"$out/answer"
is "no file: status" $? -eq 0
is "no file: why" "$(grep -c '/nonexistent/g.jfr: No such file' "$out/answer")" -eq 1

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
	LD_PRELOAD=$LIBWEFT:/nonexistent.so unshare -r chroot "$out/root" /bin/sh -c 'echo "$LD_PRELOAD"' \
		>"$out/answer" 2>"$out/errors"
	is "chroot: other preloads stay" "$(cat "$out/answer")" = /nonexistent.so
fi
exit $failed
