#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A thousand execs and forks under sampling at a high rate: none may be killed.
. "$(dirname "$0")/lib.sh"

tiny -s 64 -p 200000 "$VICTIM" chain 400
is "400 execs of one process under its own timer" $? -eq 0
books chain
tiny -s 64 -p 200000 "$VICTIM" execs 400
is "400 children that exec, by fork and vfork" $? -eq 0
books execs
tiny -s 64 -p 200000 "$VICTIM" forks 300
is "300 children that burn" $? -eq 0
is "and have sessions" "$(sum child_sessions)" -gt 100
books forks
exit $failed
