#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a libFuzzer target for a few seconds on the seeds that its generator makes.
#
#	run_fuzz.sh TARGET SEEDS     WEFT_FUZZ_SECONDS=3
set -eu
corpus=$(mktemp -d /tmp/weft-fuzz-XXXXXX)
trap 'rm -rf "$corpus"' EXIT
mkdir "$corpus/seeds"
export TMPDIR="$corpus"
"$2" "$corpus/seeds"
# files for the processes of liar.h
mkdir "$corpus/files"
case $1 in
*_tls_place | *_inspect)
	"$(dirname "$0")/tls_elf_seeds.sh" "$corpus/files"
	LIAR_FILES=$(echo "$corpus/files"/* | tr ' ' :)
	export LIAR_FILES
	;;
esac
# its own status for a crash, 77, would count as a test that was skipped
# what fails is kept beside the build, for running it again
exec_dir=$(dirname "$1")
"$1" -max_total_time="${WEFT_FUZZ_SECONDS:-3}" -timeout=10 -rss_limit_mb=1024 -max_len=65536 \
	-error_exitcode=1 -print_final_stats=1 -verbosity=0 -artifact_prefix="$exec_dir/" "$corpus/seeds"
