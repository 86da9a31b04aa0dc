/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a jitdump: see jit_dump.h. */
#include "elf/names/jit_dump.h"

#include "base/output.h"
#include "base/text/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC UINT32_C(0x4A695444)
#define FLAG_ARCH_TIMESTAMP 1
#define HEADER_BYTES 40
#define LOAD_BYTES 56 /* with the record's own head, as all of these */
#define MOVE_BYTES 64
#define DEBUG_BYTES 32
#define LINE_BYTES 16
#define RECORD_BYTES 16
#define BODY_MAX (4 << 20) /* lines of a function beyond that are not read */
#define ELF_HEADER_BYTES 64

enum record_id { LOAD = 0, MOVE = 1, DEBUG_INFO = 2, CLOSE = 3 };

struct record {
	uint32_t id, bytes;
	uint64_t time_ns;
	uint8_t *body; /* @have bytes of the record from its start, maybe not all */
	size_t have;
};

static uint32_t u32_at(const struct jit_dump *d, const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return d->swapped ? __builtin_bswap32(value) : value;
}

static uint64_t u64_at(const struct jit_dump *d, const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return d->swapped ? __builtin_bswap64(value) : value;
}

/* 1: there it is; 0: not yet; -errno. */
static int jit_dump_read_header(struct jit_dump *d, int fd, uint32_t pid)
{
	uint8_t header[HEADER_BYTES];
	ssize_t n = fd_read_at(fd, header, sizeof(header), 0);
	uint32_t magic, bytes;

	if (n < 0)
		return (int)n;
	if (n < HEADER_BYTES)
		return 0;
	memcpy(&magic, header, sizeof(magic));
	d->swapped = magic == __builtin_bswap32(MAGIC);
	if (magic != MAGIC && !d->swapped)
		return -ENOEXEC;
	bytes = u32_at(d, header + 8);
	if (u32_at(d, header + 4) != 1 || bytes < HEADER_BYTES || bytes > 4096)
		return -ENOEXEC;
	d->pid = u32_at(d, header + 20);
	if (d->pid != pid)
		return -ESRCH;
	d->foreign_clock = (u64_at(d, header + 32) & FLAG_ARCH_TIMESTAMP) != 0;
	d->position = bytes;
	return 1;
}

/*
 * V8 counts the addresses of its lines from 64 bytes before the code, where `perf inject` will
 * put an ELF header; others count from the code. A file is of the first kind until a line
 * says otherwise.
 */
static uint64_t shift_of(struct jit_dump *d, uint64_t code, uint64_t first)
{
	if (first - code < ELF_HEADER_BYTES)
		d->lines_exact = 1;
	return d->lines_exact ? 0 : ELF_HEADER_BYTES;
}

/* V8 names files from memory that it has given back already. */
static int jit_dump_is_text(const char *text, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + bytes;
	size_t step = bytes;

	for (; at < end && step; at += step)
		step = utf8_visible(at, end);
	return step != 0;
}

/* Lines that do not ascend end the list: no search would find them. */
static int jit_dump_take_lines(struct jit_dump *d, const struct record *r, struct jit_code *code)
{
	uint64_t count, previous = 0, shift = 0;
	const uint8_t *at = r->body + DEBUG_BYTES, *end = r->body + r->have;
	const char *file = NULL;
	size_t file_bytes = 0;

	d->line_count = 0;
	if (r->have < DEBUG_BYTES || r->have < r->bytes)
		return 0;
	d->lines_address = u64_at(d, r->body + 16);
	count = u64_at(d, r->body + 24);
	for (uint64_t i = 0; i < count && end - at > LINE_BYTES; i++) {
		const char *name = (const char *)at + LINE_BYTES;
		size_t bytes = strnlen(name, (size_t)((const char *)end - name));
		uint64_t address = u64_at(d, at);
		int64_t number;

		if (name + bytes == (const char *)end)
			break;
		if (bytes != 1 || (uint8_t)name[0] != 0xff) {
			file = jit_dump_is_text(name, bytes) ? name : NULL;
			file_bytes = bytes;
		}
		if (i == 0)
			shift = shift_of(d, d->lines_address, address);
		if (address < previous)
			break;
		previous = address;
		number = jit_code_add_line(code, address - shift, u32_at(d, at + 8), file,
					   file_bytes);
		if (number < 0)
			return -ENOMEM;
		if (d->line_count++ == 0)
			d->line_first = (uint32_t)number;
		at = (const uint8_t *)name + bytes + 1;
	}
	return 0;
}

static int take_load(struct jit_dump *d, const struct record *r, struct jit_code *code)
{
	struct jit_entry e = {.since_ns = r->time_ns};
	int rc;

	if (r->have <= LOAD_BYTES || u32_at(d, r->body + 16) != d->pid)
		return 0;
	e.start = u64_at(d, r->body + 32);
	e.size = u64_at(d, r->body + 40);
	e.name = (const char *)r->body + LOAD_BYTES;
	e.name_bytes = strnlen(e.name, r->have - LOAD_BYTES);
	if (d->line_count && d->lines_address == e.start) {
		e.line_first = d->line_first;
		e.line_count = d->line_count;
	}
	d->line_count = 0;
	rc = e.name_bytes ? jit_code_add(code, &e) : 0;
	return rc == -ENOMEM ? rc : 0;
}

static int take_move(const struct jit_dump *d, const struct record *r, struct jit_code *code)
{
	int rc;

	if (r->have < MOVE_BYTES || u32_at(d, r->body + 16) != d->pid)
		return 0;
	rc = jit_code_move(code, u64_at(d, r->body + 32), u64_at(d, r->body + 40), r->time_ns);
	return rc == -ENOMEM ? rc : 0;
}

/* How much of a record is looked at: of a LOAD not the code. */
static size_t jit_dump_wanted(const struct record *r)
{
	size_t most = 0;

	if (r->id == LOAD)
		most = LOAD_BYTES + JIT_NAME_MAX + 1;
	else if (r->id == MOVE)
		most = MOVE_BYTES;
	else if (r->id == DEBUG_INFO)
		most = BODY_MAX;
	return r->bytes < most ? r->bytes : most;
}

static int take_record(struct jit_dump *d, const struct record *r, struct jit_code *code)
{
	switch (r->id) {
	case LOAD:
		return take_load(d, r, code);
	case MOVE:
		return take_move(d, r, code);
	case DEBUG_INFO:
		return jit_dump_take_lines(d, r, code);
	case CLOSE:
		d->closed = 1;
		return 0;
	default:
		return 0;
	}
}

/* The head of the next record: 1, 0 while it is not whole, or -errno. */
static int next_record(const struct jit_dump *d, int fd, uint64_t file_bytes, uint64_t since_ns,
		       struct record *r)
{
	uint8_t head[RECORD_BYTES];
	ssize_t n = fd_read_at(fd, head, sizeof(head), d->position);

	if (n < RECORD_BYTES)
		return n < 0 ? (int)n : 0;
	r->id = u32_at(d, head);
	r->bytes = u32_at(d, head + 4);
	r->time_ns = d->foreign_clock ? since_ns : u64_at(d, head + 8);
	if (r->bytes < RECORD_BYTES)
		return -ENOEXEC;
	return r->bytes <= file_bytes - d->position;
}

/* Reads into @r->body, which grows to what the biggest record needs. */
static int read_body(const struct jit_dump *d, int fd, struct record *r, size_t *room)
{
	size_t bytes = jit_dump_wanted(r);
	ssize_t n;

	if (bytes > *room) {
		uint8_t *grown = realloc(r->body, bytes);

		if (!grown)
			return -ENOMEM;
		r->body = grown;
		*room = bytes;
	}
	n = bytes ? fd_read_at(fd, r->body, bytes, d->position) : 0;
	r->have = n > 0 ? (size_t)n : 0;
	return n < 0 ? (int)n : 0;
}

int64_t jit_dump_read(struct jit_dump *d, int fd, uint32_t pid, uint64_t since_ns,
		      uint64_t most_bytes, struct jit_code *code)
{
	off_t file_bytes = lseek(fd, 0, SEEK_END);
	struct record r = {0};
	uint64_t taken = 0;
	size_t room = 0;
	int rc = 1;

	if (file_bytes < 0)
		return -errno;
	if (d->position == 0)
		rc = jit_dump_read_header(d, fd, pid);
	if (rc > 0 && (uint64_t)file_bytes < d->position)
		return -ENOEXEC;
	while (rc > 0 && taken < most_bytes && !d->closed) {
		rc = next_record(d, fd, (uint64_t)file_bytes, since_ns, &r);
		if (rc <= 0)
			break;
		rc = read_body(d, fd, &r, &room);
		if (!rc)
			rc = take_record(d, &r, code);
		d->position += r.bytes;
		/* What is passed over costs next to nothing. */
		taken += RECORD_BYTES + r.have;
		rc = rc ? rc : 1;
	}
	free(r.body);
	return rc < 0 ? rc : (int64_t)taken;
}
