# SPDX-License-Identifier: Apache-2.0
# @datadog/pprof on Node.js, whose contexts lie in maps of V8 (schema nodejs_v1_dev).
version="@datadog/pprof"

get() {
	echo "weft does not read the Node.js format"
	return 77
}
