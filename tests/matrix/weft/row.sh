# SPDX-License-Identifier: Apache-2.0
# weft's own context and labels: the program is linked with libweft.so.
version=$("$weft" --version | sed 's/^weft //')
carries=yes
preloads=$BUILD/src/runtime/libweft.so # attached to before its first span

get() {
	command=("$BUILD/tests/matrix/matrix-weft")
}
