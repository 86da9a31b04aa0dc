/* SPDX-License-Identifier: Apache-2.0 */
/* What all archives have in common: their input, and the file that they become. */
#include "jfr/read/unpack_private.h"

#include "base/output.h"
#include "jfr/common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef WEFT_HAVE_ZLIB
#include <zlib.h>
#endif

static const struct method {
	const char *name;
	uint8_t magic[UNPACK_PEEK], magic_bytes;
	const struct unpack_codec *codec; /* NULL = a zip */
} methods[] = {
	{"gzip", {0x1F, 0x8B}, 2, &unpack_gzip},
	{"zip", {'P', 'K', 3, 4}, 4, NULL},
	{"zip", {'P', 'K', 5, 6}, 4, NULL}, /* an empty one */
	{"LZ4", {0x04, 0x22, 0x4D, 0x18}, 4, &unpack_lz4},
	{"zstd", {0x28, 0xB5, 0x2F, 0xFD}, 4, &unpack_zstd},
};

static const struct method *method_of(const uint8_t *start, size_t bytes)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (bytes >= methods[i].magic_bytes &&
		    memcmp(start, methods[i].magic, methods[i].magic_bytes) == 0)
			return &methods[i];
	return NULL;
}

const char *unpack_name(const uint8_t *start, size_t bytes)
{
	const struct method *m = method_of(start, bytes);

	return m ? m->name : NULL;
}

uint64_t unpack_limit(uint64_t bytes)
{
	if (bytes > UNPACK_MOST / UNPACK_RATIO)
		return UNPACK_MOST;
	return bytes * UNPACK_RATIO > UNPACK_FREE ? bytes * UNPACK_RATIO : UNPACK_FREE;
}

/* ---------------------------------------------------------------- input */

int unpack_more(struct unpack *u)
{
	size_t most = sizeof(u->input);
	ssize_t n;

	if (u->end - u->at < most)
		most = (size_t)(u->end - u->at);
	n = fd_read_at(u->in, u->input, most, u->at);
	if (n > 0)
		u->at += (uint64_t)n;
	return (int)n;
}

int unpack_read(const struct unpack *u, uint64_t offset, void *data, size_t bytes)
{
	ssize_t n = offset > u->end ? 0 : fd_read_at(u->in, data, bytes, offset);

	if (n < 0)
		return (int)n;
	return (size_t)n == bytes;
}

/* ---------------------------------------------------------------- output */

/* A file that nobody else can open, gone when it is closed. */
static int open_nameless(void)
{
	const char *directory = getenv("TMPDIR");
	char path[4096];
	int fd, n;

	if (!directory || !*directory)
		directory = "/tmp";
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	n = snprintf(path, sizeof(path), "%s/weft-XXXXXX", directory);
	if (n > 0 && (size_t)n < sizeof(path)) {
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0 && unlink(path) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	fd = memfd_create("weft", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int is_no_recording(const struct unpack *u, const uint8_t *data, size_t bytes)
{
	static const uint8_t magic[4] = {'F', 'L', 'R', 0};
	size_t at = (size_t)u->bytes, left = at < 4 ? 4 - at : 0;

	return left && memcmp(data, magic + at, bytes < left ? bytes : left) != 0;
}

int unpack_put(struct unpack *u, const uint8_t *data, size_t bytes)
{
	if (is_no_recording(u, data, bytes))
		return -EBADMSG;
	if (bytes > u->limit - u->bytes)
		return -EFBIG;
#ifdef WEFT_HAVE_ZLIB
	if (u->sums)
		u->crc = (uint32_t)crc32(u->crc, data, (uInt)bytes);
#endif
	return file_write_all(u->out, &(struct iovec){(void *)(uintptr_t)data, bytes}, 1,
			      &u->bytes);
}

int unpack_breaks(struct unpack *u, const char *what)
{
	if (!u->damage[0])
		snprintf(u->damage, sizeof(u->damage), "%s", what);
	return 0;
}

static int unpack_by(struct unpack *u, const struct method *m, struct unpacked *out)
{
	int rc = m->codec ? unpack_frames(u, m->codec, 0) : unpack_zip(u);

	if (rc == 0 && !u->bytes)
		rc = -EBADMSG;
	if (rc != 0)
		return rc;
	*out = (struct unpacked){.fd = u->out, .bytes = u->bytes};
	if (u->damage[0])
		snprintf(out->damage, sizeof(out->damage), "%s: %.80s", m->name, u->damage);
	return 0;
}

int unpack(int in, uint64_t bytes, uint64_t limit, struct unpacked *out)
{
	uint8_t start[UNPACK_PEEK] = {0};
	struct unpack *u = calloc(1, sizeof(*u));
	const struct method *m;
	int rc;

	if (!u)
		return -ENOMEM;
	u->in = in;
	u->end = bytes;
	u->limit = limit;
	rc = unpack_read(u, 0, start, bytes < sizeof(start) ? (size_t)bytes : sizeof(start));
	m = rc < 0 ? NULL : method_of(start, sizeof(start));
	if (rc >= 0)
		rc = m ? 0 : -EBADMSG;
	if (rc == 0) {
		u->out = open_nameless();
		rc = u->out < 0 ? u->out : unpack_by(u, m, out);
		if (rc != 0 && u->out >= 0)
			close(u->out);
	}
	free(u);
	return rc;
}
