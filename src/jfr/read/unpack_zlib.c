/* SPDX-License-Identifier: Apache-2.0 */
/* Deflate streams: the members of a gzip file, and what an entry of a zip file holds. */
#ifdef WEFT_HAVE_ZLIB

#include "jfr/read/unpack_private.h"

#include <errno.h>
#include <zlib.h>

#define WINDOW 15 /* the largest that there is */
#define OF_GZIP 16

uint32_t unpack_checksum(uint32_t crc, const uint8_t *data, size_t bytes)
{
	return (uint32_t)crc32(crc, data, (uInt)bytes);
}

enum state { STREAM, BETWEEN, DONE };

static int unpack_zlib_start(z_stream *z, int window)
{
	*z = (z_stream){0};
	return inflateInit2(z, window) == Z_OK ? 0 : -ENOMEM;
}

/* One step: 1 = the stream's end, 0, -errno; broken input is noted, and an end, too. */
static int unpack_zlib_step(struct unpack *u, z_stream *z, uint32_t *crc)
{
	size_t bytes;
	int z_rc, rc;

	z->next_out = u->output;
	z->avail_out = sizeof(u->output);
	z_rc = inflate(z, Z_NO_FLUSH);
	bytes = sizeof(u->output) - z->avail_out;
	if (crc)
		*crc = unpack_checksum(*crc, u->output, bytes);
	rc = unpack_put(u, u->output, bytes);
	if (rc != 0)
		return rc;
	if (z_rc == Z_MEM_ERROR)
		return -ENOMEM;
	if (z_rc == Z_STREAM_END)
		return 1;
	if (z_rc != Z_OK && z_rc != Z_BUF_ERROR) {
		unpack_breaks(u, "damaged");
		return 1;
	}
	return 0;
}

static int refill(struct unpack *u, z_stream *z)
{
	int n = unpack_more(u);

	z->next_in = u->input;
	z->avail_in = n > 0 ? (uInt)n : 0;
	return n;
}

/* Behind a member: zeros are padding, another member goes on, anything else is none of it. */
static enum state look_behind(struct unpack *u, z_stream *z)
{
	while (z->avail_in && *z->next_in == 0) {
		z->next_in++;
		z->avail_in--;
	}
	if (!z->avail_in)
		return BETWEEN;
	if (*z->next_in == 0x1F && inflateReset(z) == Z_OK)
		return STREAM;
	unpack_breaks(u, "something else follows");
	return DONE;
}

int unpack_gzip(struct unpack *u)
{
	enum state state = STREAM;
	z_stream z;
	int rc = unpack_zlib_start(&z, WINDOW + OF_GZIP);

	if (rc != 0)
		return rc;
	while (rc == 0 && state != DONE && !u->damage[0]) {
		if (!z.avail_in && (rc = refill(u, &z)) <= 0) {
			if (rc == 0 && state == STREAM)
				unpack_breaks(u, "cut short");
			break;
		}
		rc = 0;
		if (state == STREAM) {
			rc = unpack_zlib_step(u, &z, NULL);
			state = rc == 1 ? BETWEEN : STREAM;
			rc = rc == 1 ? 0 : rc;
		} else {
			state = look_behind(u, &z);
		}
	}
	inflateEnd(&z);
	return rc;
}

int unpack_deflate(struct unpack *u, uint32_t *crc)
{
	z_stream z;
	int rc = unpack_zlib_start(&z, -WINDOW);

	if (rc != 0)
		return rc;
	do {
		if (!z.avail_in && (rc = refill(u, &z)) <= 0) {
			if (rc == 0)
				unpack_breaks(u, "cut short");
			break;
		}
		rc = unpack_zlib_step(u, &z, crc);
	} while (rc == 0);
	inflateEnd(&z);
	return rc < 0 ? rc : 0;
}

#endif
