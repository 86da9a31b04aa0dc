# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of bridges, behind tests/steps.sh: programs that burn known shares of CPU time in
# spans, recorded. Such a program prints a line for each span: name, milliseconds of CPU time by its
# own measure (0: only its children's), id. $weft is the command.

# recorded COMMAND...: what it prints goes to $scratch/own, the recording to $scratch/out.jfr.
recorded() {
	WEFT_CACHE="$scratch/cache" timeout 120 "$weft" record -F 400 -o "$scratch/out.jfr" -- "$@" >"$scratch/own" &&
		cat "$scratch/own" && [ -s "$scratch/own" ]
}

# rows ARGUMENTS...: key <tab> samples
rows() {
	"$weft" report --json --top 0 "$@" "$scratch/out.jfr" | jq -r '.rows[] | [.key, .samples] | @tsv'
}

# shares_agree BY [COLUMN]: the samples of each span are so many as its CPU time demands, within
# four standard deviations and a hundredth; what has no span is passed over. COLUMN of the program's
# lines is the key: 1, its name, or 3, its id. 1: they do not; 2: there are too few samples to tell.
shares_agree() {
	rows --by "$1" >"$scratch/rows" || return 2
	awk -v column="${2:-1}" '
		FNR == NR { own[$column] += $2; sum += $2; next }
		$1 in own && own[$1] > 0 { n[$1] = $NF; all += $NF }
		END {
			if (all < 300) { print all + 0 " samples in spans"; exit 2 }
			for (key in own) {
				if (own[key] == 0) continue
				p = own[key] / sum; d = n[key] / all - p; limit = 4 * sqrt(p * (1 - p) / all) + 0.01
				printf "%s: %.1f %% of %d samples, %.1f %% of its own measure\n", key, 100 * n[key] / all, all, 100 * p
				if (d > limit || d < -limit) bad = 1
			}
			exit bad
		}' "$scratch/own" "$scratch/rows"
}

# all_under KEY VALUE: nearly all samples of spans have it (a write may be in the way).
all_under() {
	total=$(rows --by span | awk '$1 != "(none)" { n += $NF } END { print n + 0 }')
	there=$(rows --by span --where "$1=$2" | awk '$1 != "(none)" { n += $NF } END { print n + 0 }')
	echo "$there of $total samples under $1=$2"
	[ "$total" -ge 300 ] && [ $((total - there)) -le 3 ]
}

id_of() { # SPAN'S NAME
	awk -v name="$1" '$1 == name { print $3; exit }' "$scratch/own"
}
