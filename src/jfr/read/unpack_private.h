/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between unpack.c and its methods. A method takes input piece by piece and puts output; it
 * returns 0 at the end of the archive or where it is broken (having said so), or what
 * unpack_put() or the system refused with.
 */
#ifndef WEFT_JFR_UNPACK_PRIVATE_H
#define WEFT_JFR_UNPACK_PRIVATE_H

#include "jfr/read/unpack.h"

#define UNPACK_PIECE ((size_t)64 << 10)

struct unpack {
	int in, out;
	uint64_t at, end;      /* what is left of the input */
	uint64_t bytes, limit; /* of the output */
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

int unpack_gzip(struct unpack *u);
int unpack_zip(struct unpack *u);
int unpack_lz4(struct unpack *u);
int unpack_zstd(struct unpack *u);
/* One stream without a header, of u->at up to u->end; *crc (0 before) of what came out. */
int unpack_deflate(struct unpack *u, uint32_t *crc);
uint32_t unpack_checksum(uint32_t crc, const uint8_t *data, size_t bytes);

#endif
