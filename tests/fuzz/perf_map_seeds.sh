#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Seeds for fuzz_perf_map: the first byte says where the file is cut for its two looks.
#	perf_map_seeds.sh DIRECTORY
set -eu
printf '\001%s\n' '18c4000 300 Builtin:RecordWrite' '7f00 10 JS:~f /srv/a.js:1:2' >"$1/v8"
printf '\100%s\n' '0x7F20 0xA py::f:/srv/a.py' '7f20 10 py::g:/srv/a.py' 'half' >"$1/python"
printf '\200%s\r\n' '' '1000' '1000 0 n' 'fffffffffffffff0 20 n' >"$1/lies"
