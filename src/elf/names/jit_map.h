/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A perf map, /tmp/perf-PID.map: one line for each function that a JIT compiler made,
 *
 *	START SIZE NAME		numbers in hexadecimal, the name up to the end of the line
 *
 * in the order in which they were made; a later line that overlaps takes the place of an
 * earlier one (Linux, tools/perf/Documentation/jit-interface.txt). The file is read while it
 * grows: a line without its end waits for the rest. There are no times in it, so a line holds
 * since the look before the one that found it.
 */
#ifndef WEFT_ELF_JIT_MAP_H
#define WEFT_ELF_JIT_MAP_H

#include "elf/names/jit_code.h"

#include <stdint.h>

#define JIT_MAP_TAIL 64

struct jit_map {
	uint64_t position; /* of the first byte not yet taken */
	int skipping;      /* the line there is too long to be one: skipped to its end */
	/* What stood before it: something else there now, and the file was written anew. */
	char tail[JIT_MAP_TAIL];
	uint32_t tail_bytes;
};

/* Skips all that is in the file now, because it is an earlier process's. 0 or -errno. */
int jit_map_skip(struct jit_map *m, int fd);

/*
 * Takes what is new in @fd, but at most @most_bytes or so; lines that are none are passed
 * over. Starts again at the beginning when the file was written anew. Returns the number of
 * bytes taken, 0 = nothing new, or -errno; after -ENOMEM the rest is not worth asking for.
 */
int64_t jit_map_read(struct jit_map *m, int fd, uint64_t since_ns, uint64_t most_bytes,
		     struct jit_code *code);

#endif
