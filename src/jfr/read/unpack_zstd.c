/* SPDX-License-Identifier: Apache-2.0 */
/* zstd frames, one after the other, of windows up to 128 MiB: as much memory as that takes. */
#ifdef WEFT_HAVE_ZSTD

#include "jfr/read/unpack_private.h"

#include <errno.h>
#include <zstd.h>

#define WINDOW_LOG 27

/* All of @bytes of u->input. *wanted: what the frame still asks for, 0 = it is over. */
static int unpack_zstd_take(struct unpack *u, ZSTD_DStream *stream, size_t bytes, size_t *wanted)
{
	ZSTD_inBuffer in = {u->input, bytes, 0};
	ZSTD_outBuffer out = {u->output, sizeof(u->output), 0};

	/* output that fills its room may have more behind it, without further input */
	while (in.pos < in.size || out.pos == out.size) {
		int rc;

		out.pos = 0;
		*wanted = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(*wanted)) {
			*wanted = 0;
			return unpack_breaks(u, "damaged");
		}
		rc = unpack_put(u, u->output, out.pos);
		if (rc != 0)
			return rc;
		if (in.pos == in.size && *wanted == 0)
			return 0;
	}
	return 0;
}

int unpack_zstd(struct unpack *u)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	size_t wanted = 1;
	int n, rc = 0;

	if (!stream)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, WINDOW_LOG)))
		rc = -ENOMEM;
	while (rc == 0 && !u->damage[0]) {
		n = unpack_more(u);
		if (n <= 0) {
			rc = n;
			break;
		}
		rc = unpack_zstd_take(u, stream, (size_t)n, &wanted);
	}
	if (rc == 0 && wanted)
		unpack_breaks(u, "cut short");
	ZSTD_freeDStream(stream);
	return rc;
}

#endif
