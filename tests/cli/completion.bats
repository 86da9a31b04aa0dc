#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The shells' completion, by asking the shells.

load common

# complete WORD...: what bash offers for the last word
complete_bash() {
	(
		# shellcheck disable=SC1091
		source "$WEFT_BUILD/docs/weft"
		COMP_WORDS=(weft "$@")
		COMP_CWORD=$#
		COMPREPLY=()
		_weft
		printf '%s\n' "${COMPREPLY[@]}"
	)
}

@test "bash: verbs" {
	local verb words
	while read -r -a words; do
		verb=${words[-1]}
		complete_bash "${words[@]}" | grep -qx -e "$verb"
	done < <(verbs)
	[ "$(complete_bash coro | head -n 1)" = coro ]
	complete_bash help coro ru | grep -qx run
	[ -z "$(complete_bash xyzzy)" ]
}

@test "bash: every option of every verb" {
	local words
	while read -r -a words; do
		for option in $(options_of "${words[*]}") help; do
			complete_bash "${words[@]}" "--$option" | grep -qx -e "--$option"
		done
	done < <(verbs)
	complete_bash help doc | grep -qx doctor
}

@test "bash: files" {
	touch some-file
	[ "$(complete_bash doctor some-)" = some-file ]
}

@test "bash: values, also behind =, names with blanks, commands" {
	complete_bash report --by sp | grep -qx span
	[ "$(complete_bash report --by = sp)" = span ]
	[ "$(complete_bash convert --to =)" = "$(printf 'collapsed\npprof')" ]
	touch 'a file'
	[ "$(complete_bash report a)" = 'a file' ]
	[ "$(complete_bash record -o a)" = 'a file' ]
	complete_bash record mkf | grep -qx mkfifo
	complete_bash record -o x -- mkf | grep -qx mkfifo
	complete_bash coro run -o x -- mkf | grep -qx mkfifo
	complete_bash coro run mkf | grep -qx mkfifo
}

@test "zsh and fish read theirs" {
	for shell in zsh fish; do
		command -v $shell >/dev/null || skip "no $shell"
	done
	zsh -n "$WEFT_BUILD/docs/_weft"
	fish -n "$WEFT_BUILD/docs/weft.fish"
	fish -c "source $WEFT_BUILD/docs/weft.fish; complete -C 'weft doc'" | grep -q '^doctor'
	fish -c "source $WEFT_BUILD/docs/weft.fish; complete -C 'weft doctor --j'" | grep -q '^--json'
	fish -c "source $WEFT_BUILD/docs/weft.fish; complete -C 'weft coro ru'" | grep -q '^run'
	fish -c "source $WEFT_BUILD/docs/weft.fish; complete -C 'weft coro run --fail'" | grep -q '^--fail'
}

@test "an unknown shell is refused" {
	weft completion tcsh
	expect_status 2
	expect_in "$err" "unknown shell 'tcsh'"
}
