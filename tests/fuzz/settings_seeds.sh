#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_settings: profiles, a JVM's file where there is one, strings, lines.
#	settings_seeds.sh DIRECTORY
set -eu
cp "$(dirname "$0")/../../share/"*.jfc "$1"
for file in /usr/lib/jvm/*/lib/jfr/default.jfc; do
	[ ! -e "$file" ] || head -c 16384 "$file" >"$1/jdk.jfc"
done
cat >"$1/small.jfc" <<'END'
<?xml version="1.0"?><configuration version="2.0"><event name="a"><setting name="threshold">20
ms</setting><setting name="x&#65;"><![CDATA[<]]></setting></event><control><text/></control>
</configuration>
END
printf '%s' 'jdk.ThreadPark#threshold=20 ms,*#select=if-context,a#filter=x,y;z,b#throttle=100/s' >"$1/string"
cat >"$1/lines" <<'END'
*#enabled=true
jdk.*Park#threshold = infinity
a#throttle=off
shop.?rder#select=if-triggered
weft.LockWait#period=everyChunk
a#stackTrace=false
END
