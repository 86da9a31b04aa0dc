/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that somebody is writing. weft appends whole chunks: a last one that is not whole
 * does not count. The JVM's last chunk is open: its header says how much of it is whole. The byte
 * at 64 says in which state the header is (0: complete; 255: being changed; else it counts
 * flushes): a header is believed if that byte was the same before it was read and after.
 *
 * The chunk being read is mapped by itself, an open one with room to grow: pages of a file that
 * grows under its mapping are there as soon as they are written.
 */
#include "base/output.h"
#include "jfr/common/file.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_AT 32
#define STATE_AT 64
#define STATE_COMPLETE 0
#define STATE_CHANGING 255
#define ROOM_TO_GROW (UINT64_C(2) << 30)

/* 0, -EAGAIN: not all is there, -errno. */
static int follow_read_at(int fd, void *data, size_t bytes, uint64_t offset)
{
	ssize_t n = fd_read_at(fd, data, bytes, offset);

	if (n < 0)
		return (int)n;
	return (size_t)n < bytes ? -EAGAIN : 0;
}

/* The header at @offset, as it was at one moment. 0; -EAGAIN: it is being changed; -errno. */
static int follow_read_header(const struct weft_jfr_reader *r, uint64_t offset, uint8_t *header)
{
	uint8_t before, after;
	int rc = follow_read_at(r->fd, &before, 1, offset + STATE_AT);

	if (rc == 0)
		rc = follow_read_at(r->fd, header, CHUNK_HEADER_BYTES, offset);
	if (rc == 0)
		rc = follow_read_at(r->fd, &after, 1, offset + STATE_AT);
	if (rc != 0)
		return rc;
	return before == after && before == header[STATE_AT] && before != STATE_CHANGING ? 0
											 : -EAGAIN;
}

static uint64_t be64(const uint8_t *at)
{
	return input_be(&(struct input){.at = at, .end = at + 8}, 8);
}

static int follow_file_bytes(const struct weft_jfr_reader *r, uint64_t *bytes)
{
	struct stat st;

	if (fstat(r->fd, &st) != 0)
		return -errno;
	*bytes = (uint64_t)st.st_size;
	return 0;
}

static void follow_unmap(struct weft_jfr_reader *r)
{
	if (r->map)
		munmap((void *)(uintptr_t)r->map, r->map_bytes);
	r->map = NULL;
	r->map_bytes = 0;
}

static int map_chunk(struct weft_jfr_reader *r, uint64_t bytes)
{
	uint64_t start = r->next_chunk & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	size_t length = (size_t)(r->next_chunk - start + bytes);
	void *map;

	follow_unmap(r);
	map = mmap(NULL, length, PROT_READ, MAP_SHARED | MAP_NORESERVE, r->fd, (off_t)start);
	if (map == MAP_FAILED)
		return reader_no_memory(r);
	r->map = map;
	r->map_bytes = length;
	r->map_start = start;
	return 0;
}

/* What is there now is no whole chunk: -EAGAIN while the file may grow, else damage or the end. */
static int nothing_yet(struct weft_jfr_reader *r, uint64_t left, const char *reason)
{
	if (!r->ends)
		return -EAGAIN;
	return left ? reader_damaged_at(r, r->next_chunk, reason) : 0;
}

/*
 * The name may lead to another file by now: a writer that keeps the newest chunks alone (max_bytes)
 * moves them there. Chunks known already are told by their start, which never goes back.
 */
static int file_was_replaced(struct weft_jfr_reader *r)
{
	struct stat old, now;
	int fd;

	if (fstat(r->fd, &old) != 0 || stat(r->path, &now) != 0 ||
	    (old.st_dev == now.st_dev && old.st_ino == now.st_ino) || !S_ISREG(now.st_mode))
		return 0;
	fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return 0;
	close(r->fd);
	r->fd = fd;
	r->next_chunk = 0;
	r->skips = r->chunk_count != 0;
	return 1;
}

/* Was this chunk of a file that replaced another read in the other one? */
static int follow_is_known(const struct weft_jfr_reader *r, const uint8_t *header)
{
	return r->skips && (int64_t)be64(header + START_AT) <= r->chunk.start_ns;
}

#define LOOK_AGAIN 2

static int not_whole(struct weft_jfr_reader *r, uint64_t left, const char *reason)
{
	return file_was_replaced(r) ? LOOK_AGAIN : nothing_yet(r, left, reason);
}

/* 1: a whole chunk, or damage that its opening will find; LOOK_AGAIN: the file was replaced; 0,
 * -EAGAIN, -errno. */
static int look_at_chunk(struct weft_jfr_reader *r, uint8_t *header, size_t *left)
{
	uint64_t bytes = 0, chunk;
	int rc = follow_file_bytes(r, &bytes);

	if (rc != 0 || bytes < r->next_chunk)
		return reader_damaged_at(r, r->next_chunk, "file became shorter");
	*left = (size_t)(bytes - r->next_chunk);
	if (!*left && r->chunk_count && r->chunk.flags & CHUNK_FINAL)
		return 0;
	if (*left < CHUNK_HEADER_BYTES)
		return not_whole(r, *left, "chunk header is cut short");
	rc = follow_read_header(r, r->next_chunk, header);
	if (rc == -EAGAIN)
		return not_whole(r, *left, "chunk was never finished");
	if (rc != 0)
		return reader_damaged_at(r, r->next_chunk, strerror(-rc));
	chunk = be64(header + 8);
	if (memcmp(header, "FLR", 4) == 0 && !be64(header + 24)) /* metadata: no flush yet */
		return not_whole(r, *left, "chunk was never finished");
	if (memcmp(header, "FLR", 4) == 0 && chunk > *left)
		return not_whole(r, *left, "chunk is cut short");
	return 1;
}

int follow_open_chunk(struct weft_jfr_reader *r, uint8_t *header, size_t *left)
{
	uint64_t chunk;
	int rc;

	while ((rc = look_at_chunk(r, header, left)) > 0) {
		if (rc == LOOK_AGAIN)
			continue;
		chunk = be64(header + 8);
		if (memcmp(header, "FLR", 4) != 0 || chunk < CHUNK_HEADER_BYTES)
			return map_chunk(r, *left) == 0 ? 1 : r->rc; /* damage, as in any file */
		if (follow_is_known(r, header)) {
			r->next_chunk += chunk;
			continue;
		}
		r->live = header[STATE_AT] != STATE_COMPLETE;
		if (r->live && chunk < ROOM_TO_GROW)
			chunk = ROOM_TO_GROW;
		return map_chunk(r, chunk) == 0 ? 1 : r->rc;
	}
	return rc;
}

/* chunk_grow() checks what the header says now. */
int follow_grow_chunk(struct weft_jfr_reader *r, uint8_t *header)
{
	uint64_t bytes = 0, chunk;
	int rc = follow_file_bytes(r, &bytes);

	if (rc == 0 && bytes < r->next_chunk)
		return reader_damaged_at(r, r->chunk.offset, "file became shorter");
	if (rc == 0)
		rc = follow_read_header(r, r->chunk.offset, header);
	if (rc == -EAGAIN)
		return nothing_yet(r, 1, "chunk was never finished");
	if (rc != 0)
		return reader_damaged_at(r, r->chunk.offset, strerror(-rc));
	chunk = be64(header + 8);
	r->live = header[STATE_AT] != STATE_COMPLETE;
	if (chunk < r->chunk.bytes || chunk > bytes - r->chunk.offset ||
	    chunk > r->map_start + r->map_bytes - r->chunk.offset)
		return reader_damaged_at(r, r->chunk.offset, "chunk does not grow as it should");
	if (chunk > r->chunk.bytes)
		return 1;
	if (!r->live)
		return 0;
	/* what is behind the last flush counts no more than a chunk that is cut */
	if (!r->ends)
		return -EAGAIN;
	r->live = 0;
	return 0;
}

int follow_fd(struct weft_jfr_reader *r, int fd, const char *path)
{
	uint8_t start[4];
	int rc = follow_read_at(fd, start, sizeof(start), 0);

	if (rc == 0 && memcmp(start, "FLR", 4) != 0)
		return -EBADMSG;
	if (rc != 0 && rc != -EAGAIN)
		return rc;
	r->path = strdup(path);
	if (!r->path)
		return -ENOMEM;
	r->fd = fd;
	r->follows = 1;
	return 0;
}

void follow_close(struct weft_jfr_reader *r)
{
	if (r->follows)
		close(r->fd);
	free(r->path);
	r->path = NULL;
	r->follows = 0;
}

void weft_jfr_follow_ends(struct weft_jfr_reader *r)
{
	r->ends = 1;
}
