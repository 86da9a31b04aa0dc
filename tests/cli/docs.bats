#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The documents say what the command does: verbs and options agree with --help both ways.

load common

# page_of VERB: the file; of "coro run" docs/coro-run.md, or its section of docs/coro.md
page_of() {
	case $1 in
	*' '*) [ -f "$WEFT_SOURCE/docs/${1/ /-}.md" ] && echo "${1/ /-}" || echo "${1% *}" ;;
	*) echo "$1" ;;
	esac
}

docs_of() {
	local page="$WEFT_SOURCE/docs/$(page_of "$1").md"
	if [ "$(page_of "$1")" = "${1% *}" ] && [ "$1" != "${1% *}" ]; then
		awk -v title="## weft $1" '/^## / { on = index($0 " ", title " ") == 1 } on' "$page"
	else
		cat "$page"
	fi
}

# help and version have nothing to tell beyond their --help
documented_verbs() { mapfile -t documented < <(verbs | grep -Ev '^(help|version)$'); }

@test "every verb has its page and its line in the index and in the man page" {
	documented_verbs
	for verb in "${documented[@]}"; do
		[ -n "$(docs_of "$verb")" ] || { echo "no page or section of $verb"; return 1; }
		grep -q "\`weft $verb\`.*($(page_of "$verb").md)" "$WEFT_SOURCE/docs/README.md" || { echo "index: $verb"; return 1; }
		grep -q "^\.SS \"weft $verb" "$WEFT_BUILD/docs/weft.1" || { echo "man: $verb"; return 1; }
	done
}

@test "every option stands in its verb's page" {
	documented_verbs
	for verb in "${documented[@]}"; do
		for option in $(options_of "$verb"); do
			docs_of "$verb" | grep -E -e "--$option([^a-z-]|\$)" >/dev/null ||
				{ echo "docs of $verb: no --$option"; return 1; }
		done
	done
}

@test "every option of a table in a verb's page exists" {
	documented_verbs
	for verb in "${documented[@]}"; do
		for option in $(sed -n 's/^| `\(-[A-Za-z]`, `\)\{0,1\}--\([a-z-]*\).*/\2/p' <(docs_of "$verb")); do
			options_of "$verb" | grep -qx -e "$option" ||
				{ echo "docs of $verb: --$option does not exist"; return 1; }
		done
	done
}

@test "the man page has every option and renders without errors" {
	command -v mandoc >/dev/null || skip "no mandoc"
	mandoc -T lint -W error "$WEFT_BUILD/docs/weft.1"
	mandoc -T ascii "$WEFT_BUILD/docs/weft.1" | sed 's/.\x08//g' >page
	mapfile -t all < <(verbs)
	for verb in "${all[@]}"; do
		grep -q "^   weft $verb" page || { echo "man page: no $verb"; return 1; }
		for option in $(options_of "$verb"); do
			grep -q -e "--$option" page || { echo "man page: no $verb --$option"; return 1; }
		done
	done
}

@test "every page that a document of ours links to exists" {
	cd "$WEFT_SOURCE"
	for page in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md; do
		sed 's/](/\n](/g' "$page" | sed -n 's/^](\([^)#]*\)[)#].*/\1/p' | grep -v '://' |
			while read -r link; do
				[ -z "$link" ] || [ -e "$(dirname "$page")/$link" ] ||
					{ echo "$page: $link"; exit 1; }
			done
	done
}

@test "every page of docs/ is in its index" {
	cd "$WEFT_SOURCE/docs"
	for page in *.md; do
		[ "$page" = README.md ] || grep -q "($page)" README.md || { echo "$page"; return 1; }
	done
}

# Its tables' last cells name tests in backticks, and behind each, in italics, cases of it.
@test "every test and case that the page on security names is there" {
	cd "$BATS_TEST_TMPDIR"
	local built="$WEFT_BUILD/meson-info" name
	jq -e '.[] | select(.name == "b_sanitize").value == "none"' "$built/intro-buildoptions.json" >plain ||
		skip "sanitizer builds have not all tests"
	jq -r '.[].name' "$built/intro-tests.json" | sort -u >tests
	sed -n 's/^| .* | .* | \(.*\) |$/\1/p' "$WEFT_SOURCE/docs/security.md" | grep -v '^shown by$' >shown
	[ "$(wc -l <shown)" -gt 30 ]
	expect_not grep -v '`' shown
	grep -o '`[^`]*`' shown | tr -d '`' | sort -u >named
	# left out of builds without libFuzzer
	while read -r name; do
		[ -e "$WEFT_SOURCE/tests/fuzz/$(tr - _ <<<"$name").c" ] || echo "no test: $name"
	done < <(comm -23 named tests) >missing
	grep -o '\*[^*]*\*' shown | tr -d '*' | sort -u >cases
	[ -s cases ]
	while read -r name; do
		grep -rqF -e "$name" -e "${name// /_}" "$WEFT_SOURCE/tests" || echo "no case: $name"
	done <cases >>missing
	[ ! -s missing ] || { cat missing; return 1; }
}

@test "the variables of the manual are the ones that the sources read" {
	grep -rhoE 'getenv\("WEFT_[A-Z_]+"' "$WEFT_SOURCE/src" | grep -oE 'WEFT_[A-Z_]+' | sort -u >"$BATS_TEST_TMPDIR/read"
	"$WEFT" man | sed 's/\\-/-/g' | grep -oE '^\.B WEFT_[A-Z_]+' | sed 's/^\.B //' | sort -u >"$BATS_TEST_TMPDIR/told"
	cd "$BATS_TEST_TMPDIR"
	comm -23 read told >untold
	[ ! -s untold ] || { echo "not in the manual:"; cat untold; return 1; }
}

@test "every target of the Makefile's help exists" {
	cd "$WEFT_SOURCE"
	for target in $(make -s help | sed -n 's/^  make \([a-z-]*\) .*/\1/p'); do
		grep -q "^$target:" Makefile || { echo "$target"; return 1; }
	done
}
