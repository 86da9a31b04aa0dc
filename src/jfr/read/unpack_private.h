/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unpack.c shares with the methods that it unpacks by. A method reads input piece by piece and
 * writes output by unpack_put(). It returns 0 at the archive's end, or where the archive is broken,
 * after unpack_breaks(); else -errno of unpack_put() or of the system. -EOPNOTSUPP: this build has
 * no library for it.
 */
#ifndef WEFT_JFR_UNPACK_PRIVATE_H
#define WEFT_JFR_UNPACK_PRIVATE_H

#include "jfr/read/unpack.h"

#define UNPACK_PIECE ((size_t)128 << 10) /* more than the names in a row of a zip */

struct unpack {
	int in, out;
	uint64_t at, end;      /* what is left of the input */
	uint64_t bytes, limit; /* of the output */
	int sums;
	uint32_t crc; /* of the output, when sums is set and zlib is there */
	uint8_t input[UNPACK_PIECE];
	uint8_t output[UNPACK_PIECE];
	char damage[96];
};

/* The next piece of input, in u->input. Bytes; 0 at the end; -errno. */
int unpack_more(struct unpack *u);
/* 0, -EBADMSG (it is no recording), -EFBIG, -errno. */
int unpack_put(struct unpack *u, const uint8_t *data, size_t bytes);
/* Notes where the archive breaks; the first note stays. Returns 0. */
int unpack_breaks(struct unpack *u, const char *what);
/* All of @bytes at @offset of the input: 1, 0 when they are not there, -errno. */
int unpack_read(const struct unpack *u, uint64_t offset, void *data, size_t bytes);

/* Before a step: input, and room for output. After it: the input that is left, and the output's
 * bytes. */
struct unpack_step {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};

/* A library that unpacks frames; any number of them may follow one another. */
struct unpack_codec {
	void *(*open)(void); /* NULL: no memory */
	/* 1: a frame ends here; 0; -EBADMSG: damaged; -ENOMEM */
	int (*step)(void *state, struct unpack_step *s);
	void (*close)(void *state);
};

extern const struct unpack_codec unpack_gzip, unpack_deflate, unpack_lz4, unpack_zstd;

/* From u->at up to u->end; @once: the first frame alone. */
int unpack_frames(struct unpack *u, const struct unpack_codec *codec, int once);
int unpack_zip(struct unpack *u);

#endif
