/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zip archives: the directory at the end says what there is and where. One that is cut has no
 * directory, so the headers that stand before each entry are followed from the start.
 * Layouts: APPNOTE.TXT 6.3, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.14 to
 * 4.3.16 (ends), 4.5.3 (large files).
 */
#include "jfr/read/unpack_private.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define LOCAL_BYTES 30
#define CENTRAL_BYTES 46
#define END_BYTES 22
#define LOCATOR_BYTES 20
#define END64_BYTES 56
#define COMMENT_MOST 65535
#define MOST_ENTRIES 65536
#define ENCRYPTED 1u
#define SIZE_FOLLOWS 8u /* sizes and checksum stand behind the data */
#define STORED 0
#define DEFLATED 8

struct zip_file {
	uint64_t local, packed; /* offset of its header; bytes */
	uint32_t crc;
	uint16_t flags, method;
	int found, named; /* there is one; and it is named *.jfr */
};

static uint64_t zip_number(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | at[bytes];
	return value;
}

/* The first file named *.jfr is read; without one the first that is no directory. */
static void zip_consider(struct zip_file *best, const struct zip_file *f, const uint8_t *name,
			 size_t bytes)
{
	int named = bytes > 4 && strncasecmp((const char *)name + bytes - 4, ".jfr", 4) == 0;
	int is_directory = bytes && name[bytes - 1] == '/';

	if (is_directory || best->named || (best->found && !named))
		return;
	*best = *f;
	best->found = 1;
	best->named = named;
}

/* Sizes and offsets that do not fit 32 bits stand in an extra field, in this order. */
static void zip_widen(struct zip_file *f, uint64_t unpacked, const uint8_t *extra, size_t bytes)
{
	while (bytes >= 4) {
		size_t n = (size_t)zip_number(extra + 2, 2);
		const uint8_t *at = extra + 4, *end = at + n;

		if (n > bytes - 4)
			return;
		if (zip_number(extra, 2) == 1) {
			if (unpacked == UINT32_MAX && end - at >= 8)
				at += 8;
			if (f->packed == UINT32_MAX && end - at >= 8) {
				f->packed = zip_number(at, 8);
				at += 8;
			}
			if (f->local == UINT32_MAX && end - at >= 8)
				f->local = zip_number(at, 8);
			return;
		}
		extra = end;
		bytes -= 4 + n;
	}
}

/* A row of the directory, or the header before an entry: 1, and *at is behind it; 0: none; -errno.
 */
static int zip_read_header(struct unpack *u, uint64_t *at, int in_directory, struct zip_file *best)
{
	size_t bytes = in_directory ? CENTRAL_BYTES : LOCAL_BYTES, name, extra;
	uint8_t row[CENTRAL_BYTES];
	const uint8_t *both = row + (in_directory ? 6 : 4); /* have the same from here on */
	struct zip_file f;
	int rc = unpack_read(u, *at, row, bytes);

	if (rc <= 0 || memcmp(row, in_directory ? "PK\1\2" : "PK\3\4", 4) != 0)
		return rc < 0 ? rc : 0;
	name = (size_t)zip_number(both + 22, 2);
	extra = (size_t)zip_number(both + 24, 2);
	rc = unpack_read(u, *at + bytes, u->input, name + extra);
	if (rc <= 0)
		return rc;
	f = (struct zip_file){
		.local = in_directory ? zip_number(row + 42, 4) : *at,
		.packed = zip_number(both + 14, 4),
		.crc = (uint32_t)zip_number(both + 10, 4),
		.flags = (uint16_t)(zip_number(both + 2, 2) & ~(in_directory ? SIZE_FOLLOWS : 0u)),
		.method = (uint16_t)zip_number(both + 4, 2),
	};
	zip_widen(&f, zip_number(both + 18, 4), u->input + name, extra);
	zip_consider(best, &f, u->input, name);
	*at += bytes + name + extra;
	if (in_directory)
		*at += zip_number(row + 32, 2);
	else if (f.flags & SIZE_FOLLOWS || f.packed > u->end - *at)
		*at = u->end; /* how far it goes is not known: nothing can be found behind it */
	else
		*at += f.packed;
	return 1;
}

/* Where the directory begins. 1, 0: none is there, -errno. */
static int zip_find_directory(struct unpack *u, uint64_t *directory)
{
	size_t bytes = END_BYTES + COMMENT_MOST;
	uint64_t start;
	int rc;

	if (bytes > u->end)
		bytes = (size_t)u->end;
	start = u->end - bytes;
	rc = unpack_read(u, start, u->input, bytes);
	for (size_t i = bytes; rc == 1 && i >= END_BYTES; i--) {
		const uint8_t *end = u->input + i - END_BYTES;
		uint64_t at = start + i - END_BYTES;
		uint8_t more[END64_BYTES];

		if (memcmp(end, "PK\5\6", 4) != 0)
			continue;
		*directory = zip_number(end + 16, 4);
		if (*directory == UINT32_MAX && at >= LOCATOR_BYTES &&
		    unpack_read(u, at - LOCATOR_BYTES, more, LOCATOR_BYTES) == 1 &&
		    memcmp(more, "PK\6\7", 4) == 0 &&
		    unpack_read(u, zip_number(more + 8, 8), more, END64_BYTES) == 1)
			*directory = zip_number(more + 48, 8);
		return 1;
	}
	return rc < 0 ? rc : 0;
}

static int zip_find_file(struct unpack *u, struct zip_file *best)
{
	uint64_t at = 0;
	int in_directory = zip_find_directory(u, &at), rc = 1;

	if (in_directory < 0)
		return in_directory;
	if (!in_directory)
		unpack_breaks(u, "cut short");
	for (int rows = 0; rc == 1 && rows < MOST_ENTRIES && !best->named; rows++)
		rc = zip_read_header(u, &at, in_directory, best);
	return rc < 0 ? rc : 0;
}

static int zip_copy(struct unpack *u)
{
	int n, rc = 0;

	while (rc == 0 && (n = unpack_more(u)) != 0)
		rc = n < 0 ? n : unpack_put(u, u->input, (size_t)n);
	return rc;
}

static int zip_unpack_file(struct unpack *u, const struct zip_file *f)
{
	int sized = !(f->flags & SIZE_FOLLOWS), rc;

	if (u->at > u->end)
		u->at = u->end;
	if (sized && f->packed <= u->end - u->at)
		u->end = u->at + f->packed;
	else if (sized)
		unpack_breaks(u, "cut short");
	u->sums = 1;
	rc = f->method == STORED ? zip_copy(u) : unpack_frames(u, &unpack_deflate, 1);
	if (rc == 0 && !u->damage[0] && sized && u->crc != f->crc)
		unpack_breaks(u, "its checksum is another");
	return rc;
}

int unpack_zip(struct unpack *u)
{
	struct zip_file f = {0};
	uint8_t row[LOCAL_BYTES];
	int rc;

	if (!unpack_deflate.open)
		return -EOPNOTSUPP;
	rc = zip_find_file(u, &f);
	if (rc == 0 && f.found)
		rc = unpack_read(u, f.local, row, sizeof(row));
	if (rc <= 0 || memcmp(row, "PK\3\4", 4) != 0)
		return rc < 0 ? rc : -EBADMSG;
	if (f.flags & ENCRYPTED || (f.method != DEFLATED && f.method != STORED) ||
	    (f.method == STORED && f.flags & SIZE_FOLLOWS))
		return -EOPNOTSUPP;
	u->at = f.local + LOCAL_BYTES + zip_number(row + 26, 2) + zip_number(row + 28, 2);
	return zip_unpack_file(u, &f);
}
