/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames one after the other, by the library of each kind: gzip (and the deflate streams in a
 * zip), LZ4, zstd of windows up to 128 MiB. Checksums are the libraries' business.
 *
 * What was unpacked before a break must come out, to the byte. That rules out libarchive 3.6: its
 * gzip and zstd filters drop the block that they are filling, and no CRC of gzip is checked.
 */
#include "jfr/read/unpack_private.h"

#include <errno.h>
#include <stdlib.h>

#ifdef WEFT_HAVE_ZLIB
#include <zlib.h>

static void *inflate_open(int window)
{
	z_stream *z = calloc(1, sizeof(*z));

	if (z && inflateInit2(z, window) == Z_OK)
		return z;
	free(z);
	return NULL;
}

static void *gzip_open(void)
{
	return inflate_open(MAX_WBITS + 16);
}

static void *deflate_open(void)
{
	return inflate_open(-MAX_WBITS);
}

static int inflate_step(void *state, struct unpack_step *s)
{
	z_stream *z = state;
	int rc;

	z->next_in = (Bytef *)(uintptr_t)s->in;
	z->avail_in = (uInt)s->in_bytes;
	z->next_out = s->out;
	z->avail_out = (uInt)s->out_bytes;
	rc = inflate(z, Z_NO_FLUSH);
	s->in = z->next_in;
	s->in_bytes = z->avail_in;
	s->out_bytes -= z->avail_out;
	if (rc == Z_STREAM_END)
		return inflateReset(z) == Z_OK ? 1 : -EBADMSG;
	if (rc == Z_MEM_ERROR)
		return -ENOMEM;
	return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : -EBADMSG;
}

/* Between members zeros are padding. */
static int gzip_step(void *state, struct unpack_step *s)
{
	const z_stream *z = state;

	for (; !z->total_in && s->in_bytes && !*s->in; s->in++)
		s->in_bytes--;
	if (z->total_in || s->in_bytes)
		return inflate_step(state, s);
	s->out_bytes = 0;
	return 1;
}

static void inflate_close(void *state)
{
	inflateEnd(state);
	free(state);
}

const struct unpack_codec unpack_gzip = {gzip_open, gzip_step, inflate_close};
const struct unpack_codec unpack_deflate = {deflate_open, inflate_step, inflate_close};
#else
const struct unpack_codec unpack_gzip = {0}, unpack_deflate = {0};
#endif

#ifdef WEFT_HAVE_LZ4
#include <lz4frame.h>

static void *lz4_open(void)
{
	LZ4F_dctx *context;

	return LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) ? NULL
										     : context;
}

static int lz4_step(void *state, struct unpack_step *s)
{
	size_t used = s->in_bytes;
	size_t wanted = LZ4F_decompress(state, s->out, &s->out_bytes, s->in, &used, NULL);

	if (LZ4F_isError(wanted)) {
		s->out_bytes = 0;
		return -EBADMSG;
	}
	s->in += used;
	s->in_bytes -= used;
	return wanted == 0;
}

static void lz4_close(void *state)
{
	LZ4F_freeDecompressionContext(state);
}

const struct unpack_codec unpack_lz4 = {lz4_open, lz4_step, lz4_close};
#else
const struct unpack_codec unpack_lz4 = {0};
#endif

#ifdef WEFT_HAVE_ZSTD
#include <zstd.h>

#define WINDOW_LOG 27

static void *zstd_open(void)
{
	ZSTD_DStream *z = ZSTD_createDStream();

	if (z && !ZSTD_isError(ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_LOG)))
		return z;
	ZSTD_freeDStream(z);
	return NULL;
}

static int zstd_step(void *state, struct unpack_step *s)
{
	ZSTD_inBuffer in = {s->in, s->in_bytes, 0};
	ZSTD_outBuffer out = {s->out, s->out_bytes, 0};
	size_t wanted = ZSTD_decompressStream(state, &out, &in);

	s->out_bytes = ZSTD_isError(wanted) ? 0 : out.pos;
	s->in += in.pos;
	s->in_bytes -= in.pos;
	return ZSTD_isError(wanted) ? -EBADMSG : wanted == 0;
}

static void zstd_close(void *state)
{
	ZSTD_freeDStream(state);
}

const struct unpack_codec unpack_zstd = {zstd_open, zstd_step, zstd_close};
#else
const struct unpack_codec unpack_zstd = {0};
#endif

static int frames_run(struct unpack *u, const struct unpack_codec *codec, void *state, int once)
{
	struct unpack_step s = {0};
	int ended = 0, full = 0, rc, rc_put;

	while (!(ended && once)) {
		/* output that fills its room may have more behind it, without further input */
		if (!s.in_bytes && !full) {
			rc = unpack_more(u);
			if (rc <= 0)
				return rc || ended ? rc : unpack_breaks(u, "cut short");
			s.in = u->input;
			s.in_bytes = (size_t)rc;
		}
		s.out = u->output;
		s.out_bytes = sizeof(u->output);
		rc = codec->step(state, &s);
		rc_put = unpack_put(u, u->output, s.out_bytes);
		if (rc_put != 0)
			return rc_put;
		if (rc == -EBADMSG)
			return unpack_breaks(u, ended ? "something else follows" : "damaged");
		if (rc < 0)
			return rc;
		ended = rc;
		full = !ended && s.out_bytes == sizeof(u->output);
	}
	return 0;
}

int unpack_frames(struct unpack *u, const struct unpack_codec *codec, int once)
{
	void *state;
	int rc;

	if (!codec->open)
		return -EOPNOTSUPP;
	state = codec->open();
	if (!state)
		return -ENOMEM;
	rc = frames_run(u, codec, state, once);
	codec->close(state);
	return rc;
}
