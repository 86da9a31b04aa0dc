/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's public face: open a file, give its events in order. */
#include "jfr/read/reader.h"

#include "base/clock.h"
#include "base/output.h"
#include "jfr/common/file.h"
#include "jfr/read/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int reader_damaged_at(struct weft_jfr_reader *r, uint64_t offset, const char *reason)
{
	if (r->rc == 0) {
		snprintf(r->error, sizeof(r->error), "at byte %llu%s: %s%s%s",
			 (unsigned long long)offset, r->packing[0] ? " when unpacked" : "", reason,
			 r->packing[0] ? "; " : "", r->packing);
		r->rc = -EBADMSG;
	}
	return r->rc;
}

int reader_damaged(struct weft_jfr_reader *r, const void *at, const char *reason)
{
	return reader_damaged_at(r, r->map_start + (uint64_t)((const uint8_t *)at - r->map),
				 reason);
}

int reader_no_memory(struct weft_jfr_reader *r)
{
	if (r->rc == 0) {
		snprintf(r->error, sizeof(r->error), "out of memory in the chunk at byte %llu",
			 (unsigned long long)r->chunk.offset);
		r->rc = -ENOMEM;
	}
	return r->rc;
}

/* Opens a regular file: its descriptor, or -errno. */
static int reader_open_file(const char *path, uint64_t *bytes)
{
	/* O_NONBLOCK: a FIFO that nobody writes is refused, not waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		rc = -errno;
	else if (S_ISDIR(st.st_mode))
		rc = -EISDIR;
	else if (!S_ISREG(st.st_mode))
		rc = -ESPIPE;
	else
		*bytes = (uint64_t)st.st_size;
	if (rc != 0)
		close(fd);
	return rc ? rc : fd;
}

static int is_packed(int fd)
{
	uint8_t start[UNPACK_PEEK];
	ssize_t n = fd_read_at(fd, start, sizeof(start), 0);

	return n > 0 && unpack_name(start, (size_t)n) != NULL;
}

static int map_whole(struct weft_jfr_reader *r, int fd, uint64_t bytes)
{
	void *map;

	if (bytes < CHUNK_HEADER_BYTES)
		return -EBADMSG;
	map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	r->map = map;
	r->map_bytes = (size_t)bytes;
	return 0;
}

static int map_unpacked(struct weft_jfr_reader *r, int fd, uint64_t bytes)
{
	struct unpacked u;
	int rc = unpack(fd, bytes, unpack_limit(bytes), &u);

	if (rc != 0)
		return rc;
	memcpy(r->packing, u.damage, sizeof(r->packing));
	rc = map_whole(r, u.fd, u.bytes);
	close(u.fd);
	return rc;
}

static int reader_check_file(const struct weft_jfr_reader *r)
{
	unsigned int major;

	if (!r->map || memcmp(r->map, "FLR", 4) != 0)
		return -EBADMSG;
	major = (unsigned int)r->map[4] << 8 | r->map[5];
	return major == 1 || major == 2 ? 0 : -EPROTONOSUPPORT;
}

/* From here on @fd is kept or closed by the reader. @follow: the file's path, if it grows. */
static int take_file(struct weft_jfr_reader *r, int fd, uint64_t bytes, const char *follow)
{
	int packed = is_packed(fd), rc;

	if (follow && !packed) {
		rc = follow_fd(r, fd, follow);
		if (rc != 0)
			close(fd);
		return rc;
	}
	rc = packed ? map_unpacked(r, fd, bytes) : map_whole(r, fd, bytes);
	close(fd);
	return rc ? rc : reader_check_file(r);
}

struct weft_jfr_reader *reader_of_memory(const void *data, size_t bytes)
{
	struct weft_jfr_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->map = data;
	r->map_bytes = bytes;
	r->borrowed = 1;
	if (bytes < CHUNK_HEADER_BYTES || reader_check_file(r) != 0) {
		weft_jfr_reader_free(r);
		errno = EBADMSG;
		return NULL;
	}
	return r;
}

static struct weft_jfr_reader *reader_open(const char *path, int follow)
{
	struct weft_jfr_reader *r = calloc(1, sizeof(*r));
	uint64_t bytes = 0;
	int rc;

	if (!r)
		return NULL;
	rc = reader_open_file(path, &bytes);
	if (rc >= 0)
		rc = take_file(r, rc, bytes, follow ? path : NULL);
	if (rc != 0) {
		weft_jfr_reader_free(r);
		errno = -rc;
		return NULL;
	}
	return r;
}

struct weft_jfr_reader *weft_jfr_open(const char *path)
{
	return reader_open(path, 0);
}

struct weft_jfr_reader *weft_jfr_open_follow(const char *path)
{
	return reader_open(path, 1);
}

void weft_jfr_reader_free(struct weft_jfr_reader *r)
{
	if (!r)
		return;
	if (r->map && !r->borrowed)
		munmap((void *)(uintptr_t)r->map, r->map_bytes);
	follow_close(r);
	classes_free(r->classes);
	free(r->event_types);
	free(r->pools.slots);
	arena_free(&r->pools.memory);
	arena_free(&r->memory);
	free(r);
}

#define FEW_TICKS (INT64_MAX / NS_PER_S) /* that many fit without a wider number */

static int64_t reader_ticks_ns(const struct weft_jfr_chunk_view *c, int64_t ticks)
{
	__int128 ns;

	if (c->ticks_per_second == NS_PER_S)
		return ticks;
	if (ticks <= FEW_TICKS && ticks >= -FEW_TICKS)
		return ticks * NS_PER_S / c->ticks_per_second;
	ns = (__int128)ticks * NS_PER_S / c->ticks_per_second;
	if (ns > INT64_MAX)
		return INT64_MAX;
	return ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

static int64_t epoch_ns(const struct weft_jfr_chunk_view *c, int64_t ticks)
{
	int64_t since, ns;

	if (!__builtin_sub_overflow(ticks, c->start_ticks, &since) &&
	    !__builtin_add_overflow(reader_ticks_ns(c, since), c->start_ns, &ns))
		return ns;
	return ticks < c->start_ticks ? INT64_MIN : INT64_MAX;
}

int64_t weft_jfr_ticks_ns(const struct weft_jfr_reader *r, int64_t ticks)
{
	return r->chunk.ticks_per_second > 0 ? reader_ticks_ns(&r->chunk, ticks) : ticks;
}

static void reader_set_times(const struct weft_jfr_reader *r, struct weft_jfr_event_view *view,
			     int64_t start, int64_t duration)
{
	view->start_ticks = start;
	view->duration_ticks = duration;
	view->start_ns = view->type->timed ? epoch_ns(&r->chunk, start) : INT64_MIN;
	view->duration_ns = reader_ticks_ns(&r->chunk, duration);
}

/* The times of an event that is not decoded: they are its first fields, at @in. */
static int read_times(struct weft_jfr_reader *r, struct input in, struct weft_jfr_event_view *view)
{
	int64_t start = view->type->timed ? input_i64(&in) : 0;
	int64_t duration = view->type->lasts ? input_i64(&in) : 0;

	reader_set_times(r, view, start, duration);
	return in.failed ? reader_damaged(r, in.end, "event ends within its times") : 1;
}

static int view_event(struct weft_jfr_reader *r, struct input in, struct weft_jfr_event_view *view)
{
	const struct weft_jfr_class *type = view->type;
	struct decoder d;

	view->chunk = r->chunk_count - 1;
	view->fields = NULL;
	view->field_count = 0;
	if (r->wanted && !r->wanted(type, r->wanted_arg))
		return read_times(r, in, view);
	arena_reset(&r->memory);
	decoder_start(&d, r, in.at, input_left(&in), &r->memory);
	view->fields = decode_fields(&d, type);
	if (r->rc != 0)
		return r->rc;
	if (!view->fields)
		return reader_damaged(r, in.at, "event does not fit its type");
	view->field_count = type->field_count;
	reader_set_times(r, view, type->timed ? view->fields[0].number : 0,
			 type->lasts ? view->fields[1].number : 0);
	return 1;
}

/* Reads the event at r->at: 1; 0: one that users do not see; -errno. */
static int reader_next_event(struct weft_jfr_reader *r, struct weft_jfr_event_view *view)
{
	const uint8_t *start = r->at, *end = r->chunk_data + r->chunk.bytes;
	struct input in = {.at = start, .end = end, .fixed = r->fixed};
	uint32_t bytes = (uint32_t)input_i32(&in);
	int64_t id;

	if (in.failed || !bytes || bytes > (size_t)(end - start))
		return reader_damaged(r, start, "event is cut short");
	in.end = start + bytes;
	if (in.at > in.end)
		return reader_damaged(r, start, "event is smaller than its size");
	r->at = in.end;
	id = input_i64(&in);
	if (in.failed)
		return reader_damaged(r, start, "event has no type");
	view->type = id == 0 || id == 1 ? NULL : classes_find(r->classes, id);
	view->bytes = bytes;
	view->offset = r->chunk.offset + (uint64_t)(start - r->chunk_data);
	if (!view->type || view->type->shape != CLASS_STRUCT)
		return 0;
	return view_event(r, in, view);
}

int reader_next_chunk(struct weft_jfr_reader *r)
{
	int rc;

	if (r->rc != 0)
		return r->rc;
	if (r->in_chunk)
		pools_leave(r);
	rc = chunk_open(r);
	r->in_chunk = rc > 0;
	return rc;
}

int weft_jfr_next(struct weft_jfr_reader *r, struct weft_jfr_event_view *view)
{
	int rc = r->rc;

	while (rc == 0) {
		if (r->in_chunk && r->at < r->chunk_data + r->chunk.bytes) {
			rc = reader_next_event(r, view);
			continue;
		}
		if (r->live) {
			rc = chunk_grow(r);
			if (rc > 0) {
				rc = 0;
				continue;
			}
			if (rc < 0)
				break;
		}
		rc = reader_next_chunk(r);
		if (rc == 0)
			return 0;
		if (rc > 0)
			rc = 0;
	}
	return rc;
}

int weft_jfr_next_here(struct weft_jfr_reader *r, struct weft_jfr_event_view *view)
{
	int rc = r->rc;

	while (rc == 0 && r->in_chunk && r->at < r->chunk_data + r->chunk.bytes)
		rc = reader_next_event(r, view);
	return rc;
}

int weft_jfr_again(struct weft_jfr_reader *r, uint64_t offset, struct weft_jfr_event_view *view)
{
	int (*wanted)(const struct weft_jfr_class *type, void *arg) = r->wanted;
	const uint8_t *at = r->at;
	int rc, before = r->rc;

	if (!r->in_chunk || offset < r->chunk.offset || offset - r->chunk.offset >= r->chunk.bytes)
		return -EBADMSG;
	r->rc = 0;
	r->wanted = NULL;
	r->at = r->chunk_data + (offset - r->chunk.offset);
	rc = reader_next_event(r, view);
	r->at = at;
	r->wanted = wanted;
	if (r->rc == 0)
		r->rc = before;
	return rc == 0 ? -EBADMSG : rc;
}

void weft_jfr_filter(struct weft_jfr_reader *r,
		     int (*wanted)(const struct weft_jfr_class *type, void *arg), void *arg)
{
	r->wanted = wanted;
	r->wanted_arg = arg;
}

int reader_no_fields(const struct weft_jfr_class *type, void *arg)
{
	(void)type;
	(void)arg;
	return 0;
}

const char *weft_jfr_error(const struct weft_jfr_reader *r)
{
	return r->error;
}

size_t weft_jfr_event_types(const struct weft_jfr_reader *r,
			    const struct weft_jfr_class *const **out)
{
	*out = r->event_types;
	return r->event_type_count;
}

void weft_jfr_span(const struct weft_jfr_reader *r, int64_t *start_ns, int64_t *end_ns)
{
	*start_ns = r->first_ns;
	*end_ns = r->last_ns;
}
