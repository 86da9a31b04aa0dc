#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The main job once, for `make test`: a program is recorded, and the report names what ran.

load common

@test "a program is recorded, and the report names its function" {
	"$WEFT" record -o smoke.jfr -- "$WEFT_BURN" 300 2>told
	cat told
	grep -q '^weft record: [0-9]* samples' told
	"$WEFT" report smoke.jfr | tee report
	grep -qw use report
	[ "$("$WEFT" report --json smoke.jfr | jq .books.balanced)" = true ]
}

@test "its recording is summed up, printed and converted" {
	"$WEFT" record -o smoke.jfr -- "$WEFT_BURN" 100 2>/dev/null
	"$WEFT" summary smoke.jfr | grep -q weft.Process
	"$WEFT" print --json --events weft.Process smoke.jfr | jq -e '.recording.events | length > 0'
	"$WEFT" convert smoke.jfr --to collapsed | grep -q "use "
}
