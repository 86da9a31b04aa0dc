# SPDX-License-Identifier: Apache-2.0
# libdatadog's crates, as its SDKs for Rust, PHP, Python and others use them.
version="libdd-otel-thread-ctx 1.0.0"

get() {
	crate || return
	version="libdd-otel-thread-ctx $(crate_version libdd-otel-thread-ctx), libdd-library-config $(crate_version libdd-library-config)"
	command=("$CARGO_TARGET_DIR/debug/matrix-libdatadog")
}
