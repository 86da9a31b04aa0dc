#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For a target that builds what it reads out of any input: one to begin with.
#	no_seeds.sh DIRECTORY
seq 1 700 >"$1/numbers"
