/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zip archives: the directory at the end says what there is and where. One that is cut has no
 * directory, so the headers that stand before each entry are followed from the start.
 * Layouts: APPNOTE.TXT 6.3, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.14 to
 * 4.3.16 (ends), 4.5.3 (large files).
 */
#include "jfr/read/unpack_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LOCAL_BYTES 30
#define CENTRAL_BYTES 46
#define END_BYTES 22
#define LOCATOR_BYTES 20
#define END64_BYTES 56
#define COMMENT_MOST 65535
#define MOST_ENTRIES 65536
#define ENCRYPTED 1
#define SIZE_FOLLOWS 8 /* sizes and checksum stand behind the data */
#define STORED 0
#define DEFLATED 8

struct entry {
	uint64_t local, packed; /* offset of its header; bytes */
	uint32_t crc;
	uint16_t flags, method;
	int found, named; /* there is one; and it is named *.jfr */
};

static uint64_t le(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | at[bytes];
	return value;
}

static int is_jfr(const uint8_t *name, size_t bytes)
{
	return bytes > 4 && strncasecmp((const char *)name + bytes - 4, ".jfr", 4) == 0;
}

static int unpack_zip_is_directory(const uint8_t *name, size_t bytes)
{
	return bytes && name[bytes - 1] == '/';
}

/* Takes a file as the one to be read, when it is better than what was found before it. */
static void unpack_zip_consider(struct entry *best, const struct entry *e, const uint8_t *name,
				size_t bytes)
{
	if (unpack_zip_is_directory(name, bytes) || best->named ||
	    (best->found && !is_jfr(name, bytes)))
		return;
	*best = *e;
	best->found = 1;
	best->named = is_jfr(name, bytes);
}

/* ---------------------------------------------------------------- the directory */

/* Sizes and offsets that do not fit 32 bits stand in an extra field, in this order. */
static void widen(struct entry *e, uint64_t unpacked, const uint8_t *extra, size_t bytes)
{
	while (bytes >= 4) {
		size_t n = (size_t)le(extra + 2, 2);
		const uint8_t *at = extra + 4;

		if (n > bytes - 4)
			return;
		if (le(extra, 2) == 1) {
			const uint8_t *end = at + n;

			if (unpacked == UINT32_MAX && end - at >= 8)
				at += 8;
			if (e->packed == UINT32_MAX && end - at >= 8) {
				e->packed = le(at, 8);
				at += 8;
			}
			if (e->local == UINT32_MAX && end - at >= 8)
				e->local = le(at, 8);
			return;
		}
		extra += 4 + n;
		bytes -= 4 + n;
	}
}

/* Where the directory begins. 1, 0: none is there, -errno. */
static int find_directory(const struct unpack *u, uint64_t *directory)
{
	size_t bytes = END_BYTES + COMMENT_MOST;
	uint8_t *tail, more[END64_BYTES];
	int rc;

	if (bytes > u->end)
		bytes = (size_t)u->end;
	tail = malloc(bytes + 1);
	if (!tail)
		return -ENOMEM;
	rc = unpack_read(u, u->end - bytes, tail, bytes);
	for (size_t i = bytes; rc == 1; i--) {
		if (i < END_BYTES) {
			rc = 0;
		} else if (memcmp(tail + i - END_BYTES, "PK\5\6", 4) == 0) {
			uint64_t end = u->end - bytes + i - END_BYTES;

			*directory = le(tail + i - 6, 4);
			if (*directory == UINT32_MAX && end >= LOCATOR_BYTES &&
			    unpack_read(u, end - LOCATOR_BYTES, more, LOCATOR_BYTES) == 1 &&
			    memcmp(more, "PK\6\7", 4) == 0 &&
			    unpack_read(u, le(more + 8, 8), more, END64_BYTES) == 1)
				*directory = le(more + 48, 8);
			break;
		}
	}
	free(tail);
	return rc;
}

/* One row of the directory. 1 and *at moves on; 0: no more; -errno. */
static int look_at_row(const struct unpack *u, uint64_t *at, struct entry *best)
{
	uint8_t row[CENTRAL_BYTES], *text;
	size_t name, extra;
	int rc = unpack_read(u, *at, row, sizeof(row));

	if (rc <= 0 || memcmp(row, "PK\1\2", 4) != 0)
		return rc < 0 ? rc : 0;
	name = (size_t)le(row + 28, 2);
	extra = (size_t)le(row + 30, 2);
	text = malloc(name + extra + 1);
	if (!text)
		return -ENOMEM;
	rc = unpack_read(u, *at + sizeof(row), text, name + extra);
	if (rc == 1) {
		struct entry e = {.local = le(row + 42, 4),
				  .packed = le(row + 20, 4),
				  .crc = (uint32_t)le(row + 16, 4),
				  .flags = (uint16_t)(le(row + 8, 2) & ~(uint64_t)SIZE_FOLLOWS),
				  .method = (uint16_t)le(row + 10, 2)};

		widen(&e, le(row + 24, 4), text + name, extra);
		unpack_zip_consider(best, &e, text, name);
		*at += sizeof(row) + name + extra + le(row + 32, 2);
	}
	free(text);
	return rc;
}

/* ---------------------------------------------------------------- entries */

/* The header before an entry: its file and where its data begin. 1, 0: none, -errno. */
static int look_at_local(const struct unpack *u, uint64_t at, struct entry *best, uint64_t *data,
			 uint64_t *packed)
{
	uint8_t row[LOCAL_BYTES], name[4096];
	size_t bytes;
	int rc = unpack_read(u, at, row, sizeof(row));

	if (rc <= 0 || memcmp(row, "PK\3\4", 4) != 0)
		return rc < 0 ? rc : 0;
	bytes = (size_t)le(row + 26, 2);
	*data = at + sizeof(row) + bytes + le(row + 28, 2);
	*packed = le(row + 18, 4);
	if (bytes > sizeof(name))
		bytes = sizeof(name);
	rc = unpack_read(u, at + sizeof(row), name, bytes);
	if (rc == 1) {
		struct entry e = {.local = at,
				  .packed = *packed,
				  .crc = (uint32_t)le(row + 14, 4),
				  .flags = (uint16_t)le(row + 6, 2),
				  .method = (uint16_t)le(row + 8, 2)};

		unpack_zip_consider(best, &e, name, bytes);
		/* how far it goes is not known: nothing can be found behind it */
		if (e.flags & SIZE_FOLLOWS)
			*packed = u->end;
	}
	return rc;
}

static int unpack_zip_find_entry(struct unpack *u, struct entry *best)
{
	uint64_t at = 0, data, packed;
	int rc = find_directory(u, &at), rows = 0;

	if (rc < 0)
		return rc;
	if (rc == 1) {
		while (rows++ < MOST_ENTRIES && (rc = look_at_row(u, &at, best)) == 1)
			;
		return rc < 0 ? rc : 0;
	}
	unpack_breaks(u, "cut short");
	while (rows++ < MOST_ENTRIES && !best->named && at < u->end &&
	       (rc = look_at_local(u, at, best, &data, &packed)) == 1) {
		if (packed > u->end - at)
			break;
		at = data + packed;
	}
	return rc < 0 ? rc : 0;
}

#ifndef WEFT_HAVE_ZLIB
/* Nobody here to check sums. */
uint32_t unpack_checksum(uint32_t crc, const uint8_t *data, size_t bytes)
{
	(void)data;
	(void)bytes;
	return crc;
}

int unpack_deflate(struct unpack *u, uint32_t *crc)
{
	(void)u;
	(void)crc;
	return -EOPNOTSUPP;
}
#endif

static int unpack_zip_copy(struct unpack *u, uint32_t *crc)
{
	int n, rc = 0;

	while (rc == 0 && (n = unpack_more(u)) != 0) {
		rc = n < 0 ? n : unpack_put(u, u->input, (size_t)n);
		if (rc == 0)
			*crc = unpack_checksum(*crc, u->input, (size_t)n);
	}
	return rc;
}

static int unpack_zip_read_entry(struct unpack *u, const struct entry *e)
{
	uint32_t crc = 0;
	int rc = e->method == STORED ? unpack_zip_copy(u, &crc) : unpack_deflate(u, &crc);

#ifdef WEFT_HAVE_ZLIB
	if (rc == 0 && !u->damage[0] && !(e->flags & SIZE_FOLLOWS) && crc != e->crc)
		unpack_breaks(u, "its checksum is another");
#endif
	return rc;
}

static int unpack_zip_can_read(const struct entry *e)
{
#ifdef WEFT_HAVE_ZLIB
	if (e->method == DEFLATED && !(e->flags & ENCRYPTED))
		return 1;
#endif
	return e->method == STORED && !(e->flags & ENCRYPTED) && !(e->flags & SIZE_FOLLOWS);
}

int unpack_zip(struct unpack *u)
{
	struct entry e = {0}, again = {0};
	uint64_t data = 0, packed = 0;
	int rc = unpack_zip_find_entry(u, &e);

	if (rc == 0)
		rc = e.found ? look_at_local(u, e.local, &again, &data, &packed) : -EBADMSG;
	if (rc <= 0)
		return rc < 0 ? rc : -EBADMSG;
	if (!unpack_zip_can_read(&e))
		return -EOPNOTSUPP;
	if (data > u->end)
		data = u->end;
	if (!(e.flags & SIZE_FOLLOWS) && e.packed <= u->end - data)
		u->end = data + e.packed;
	else if (!(e.flags & SIZE_FOLLOWS))
		unpack_breaks(u, "cut short");
	u->at = data;
	return unpack_zip_read_entry(u, &e);
}
