/* SPDX-License-Identifier: Apache-2.0 */
/* Writes jitdumps, sound ones and others, in either byte order. */
#ifndef JIT_DUMP_WRITER_H
#define JIT_DUMP_WRITER_H

#include "base/buf.h"

#include <stdint.h>
#include <string.h>

#define DUMP_MAGIC 0x4A695444

struct dump {
	struct buf b;
	int swapped;
	size_t record; /* where the open one begins */
};

static inline void dump_int(struct dump *d, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		buf_put_u8(&d->b, (uint8_t)(value >> 8 * (d->swapped ? bytes - 1 - i : i)));
}

static inline void dump_header(struct dump *d, uint32_t pid, uint64_t flags)
{
	dump_int(d, DUMP_MAGIC, 4);
	dump_int(d, 1, 4);
	dump_int(d, 40, 4);
	dump_int(d, 62, 4);
	dump_int(d, 0, 4);
	dump_int(d, pid, 4);
	dump_int(d, 123, 8);
	dump_int(d, flags, 8);
}

static inline void dump_begin(struct dump *d, uint32_t id, uint64_t time_ns)
{
	d->record = d->b.size;
	dump_int(d, id, 4);
	dump_int(d, 0, 4);
	dump_int(d, time_ns, 8);
}

/* Fills in the length. */
static inline void dump_end(struct dump *d)
{
	uint32_t bytes = (uint32_t)(d->b.size - d->record);

	if (d->swapped)
		bytes = __builtin_bswap32(bytes);
	memcpy(d->b.data + d->record + 4, &bytes, sizeof(bytes));
}

static inline void dump_load(struct dump *d, uint64_t time_ns, uint32_t pid, uint64_t start,
			     uint64_t size, const char *name)
{
	static const uint8_t code[16];

	dump_begin(d, 0, time_ns);
	dump_int(d, pid, 4);
	dump_int(d, pid, 4);
	dump_int(d, start, 8);
	dump_int(d, start, 8);
	dump_int(d, size, 8);
	dump_int(d, 1, 8);
	buf_put(&d->b, name, strlen(name) + 1);
	buf_put(&d->b, code, size < sizeof(code) ? size : sizeof(code));
	dump_end(d);
}

static inline void dump_move(struct dump *d, uint64_t time_ns, uint32_t pid, uint64_t from,
			     uint64_t to, uint64_t size)
{
	dump_begin(d, 1, time_ns);
	dump_int(d, pid, 4);
	dump_int(d, pid, 4);
	dump_int(d, to, 8);
	dump_int(d, from, 8);
	dump_int(d, to, 8);
	dump_int(d, size, 8);
	dump_int(d, 1, 8);
	dump_end(d);
}

static inline void dump_lines(struct dump *d, uint64_t time_ns, uint64_t start, uint64_t count)
{
	dump_begin(d, 2, time_ns);
	dump_int(d, start, 8);
	dump_int(d, count, 8);
}

static inline void dump_line(struct dump *d, uint64_t address, uint32_t line, const char *file)
{
	dump_int(d, address, 8);
	dump_int(d, line, 4);
	dump_int(d, 0, 4);
	buf_put(&d->b, file, strlen(file) + 1);
}

#endif
