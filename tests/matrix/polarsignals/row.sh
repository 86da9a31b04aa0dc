# SPDX-License-Identifier: Apache-2.0
# polarsignals' crate: Custom Labels of the executable.
version="custom-labels"

get() {
	crate || return
	version="custom-labels $(crate_version custom-labels)"
	command=("$CARGO_TARGET_DIR/debug/matrix-polarsignals")
}
