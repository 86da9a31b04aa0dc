/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of JSON per event, the six keys of cTP's own engine in its order, and behind them, when
 * asked for, what else is known. A growing output (base/output.h), in whole lines: what is there
 * can be read at any time. When a write fails the file is cut back to the last whole line, the
 * error stays, and nothing more is written.
 */
#include "export/export.h"

#include "base/array.h"
#include "base/text/json_write.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (256 * 1024)
#define LINE_BYTES 2048 /* no line is longer, except the last */
#define DIED_MOST 16    /* deaths in a line; the others wait for the next */
#define DIED_LAST 16384 /* deaths in the last line, which no other follows */

struct jsonl {
	int fd, error, owned;
	uint64_t base, written; /* where we began in the file, and bytes since */
	uint64_t lines;
	struct coro_death *died; /* not told yet */
	size_t died_count, died_room;
	struct sink text;
};

static struct json_writer jsonl_writer(struct sink *text)
{
	return (struct json_writer){
		.s = text, .object = &json_shape_flat, .array = &json_shape_flat};
}

static enum output_how jsonl_how(const struct coro_sink *o)
{
	if (o->append)
		return OUTPUT_APPEND;
	return o->replace ? OUTPUT_REPLACE : OUTPUT_NEW;
}

/* Where it begins: at the end, but in a caller's descriptor from where that stands. */
static uint64_t jsonl_base(const struct jsonl *s, const char *path)
{
	int is_placed = output_is_descriptor(path) && !(fcntl(s->fd, F_GETFL) & O_APPEND);
	off_t at = s->owned ? lseek(s->fd, 0, is_placed ? SEEK_CUR : SEEK_END) : 0;

	return at > 0 ? (uint64_t)at : 0;
}

static int jsonl_open(struct export_job *x)
{
	struct jsonl *s = x->state;

	s->fd = -1;
	if (sink_open(&s->text, NULL) || !sink_room(&s->text, BUFFER_BYTES))
		return -ENOMEM;
	s->owned = !output_is_standard(x->sink.path);
	s->fd = s->owned ? output_grow(x->sink.path, jsonl_how(&x->sink)) : STDOUT_FILENO;
	if (s->fd < 0)
		return s->fd;
	s->base = jsonl_base(s, x->sink.path);
	return 0;
}

/* Leaves @whole bytes of ours, unless somebody else has appended since. */
static void cut_to(const struct jsonl *s, uint64_t whole)
{
	struct stat st;

	if (s->owned && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size == s->base + s->written &&
	    ftruncate(s->fd, (off_t)(s->base + whole)))
		return;
}

static uint64_t whole_lines(const char *data, size_t bytes)
{
	const char *end = memrchr(data, '\n', bytes);

	return end ? (uint64_t)(end - data) + 1 : 0;
}

static uint64_t lines_of(const char *data, size_t bytes)
{
	uint64_t lines = 0;

	for (const char *at = data; (at = memchr(at, '\n', bytes - (size_t)(at - data))); at++)
		lines++;
	return lines;
}

static int jsonl_flush(struct export_job *x)
{
	struct jsonl *s = x->state;
	size_t done = fd_write_all(s->fd, s->text.data, s->text.used, &s->error);

	s->written += done;
	s->lines += lines_of(s->text.data, done);
	if (s->error)
		cut_to(s, s->written - done + whole_lines(s->text.data, done));
	s->text.used = 0;
	return s->error;
}

/* ---- a line */

/* As the W3C's traceparent has it. */
static void jsonl_put_context(struct json_writer *w, const struct weft_ctp_context_prefix *context)
{
	char trace[2 * sizeof(context->trace_id) + 1], span[2 * sizeof(context->span_id) + 1];

	export_hex(trace, context->trace_id, sizeof(context->trace_id));
	export_hex(span, context->span_id, sizeof(context->span_id));
	json_write_plain(w, "context", "00-%s-%s-%02x", trace, span, context->trace_flags);
}

/* Up to @most deaths, the oldest first. */
static void jsonl_put_died(struct jsonl *s, struct json_writer *w, size_t most)
{
	size_t count = s->died_count < most ? s->died_count : most;

	json_write_array(w, "died");
	for (size_t i = 0; i < count; i++) {
		json_write_array(w, NULL);
		json_write_uint(w, NULL, s->died[i].pid);
		json_write_uint(w, NULL, s->died[i].station);
		json_write_uint(w, NULL, s->died[i].generation);
		json_write_array_end(w);
	}
	json_write_array_end(w);
	s->died_count -= count;
	memmove(s->died, s->died + count, s->died_count * sizeof(*s->died));
}

static void jsonl_put_extended(struct json_writer *w, const struct coro_event *e)
{
	if (e->known & CORO_KNOWS_IDENTITY) {
		json_write_uint(w, "pid", e->pid);
		json_write_uint(w, "station", e->station);
		json_write_uint(w, "generation", e->generation);
	}
	if (e->known & CORO_KNOWS_BIRTH)
		json_write_uint(w, "birth", e->birth_ts);
	if (e->known & CORO_KNOWS_DEATH)
		json_write_bool(w, "dead", 1);
	if (e->known & CORO_KNOWS_CONTEXT)
		jsonl_put_context(w, &e->context);
	if (e->known & CORO_KNOWS_PAYLOAD && e->payload_bytes <= WEFT_CTP_PAYLOAD_MAX)
		json_write_hex(w, "payload", "", e->payload, e->payload_bytes);
}

static int jsonl_event(struct export_job *x, const struct coro_event *e)
{
	struct jsonl *s = x->state;
	struct json_writer w = jsonl_writer(&s->text);
	uint64_t address = htobe64(e->addr);

	if (s->text.used > BUFFER_BYTES - LINE_BYTES && jsonl_flush(x))
		return s->error;
	json_write_root(&w);
	json_write_object(&w, NULL);
	json_write_uint(&w, "probe_id", e->probe_id);
	json_write_uint(&w, "tid", e->tid);
	json_write_hex(&w, "addr", "0x", (const uint8_t *)&address, sizeof(address));
	json_write_uint(&w, "seq", e->seq);
	json_write_bool(&w, "is_active", e->is_active);
	json_write_uint(&w, "ts", e->ts);
	if (x->sink.extended)
		jsonl_put_extended(&w, e);
	if (s->died_count)
		jsonl_put_died(s, &w, DIED_MOST);
	json_write_object_end(&w);
	sink_char(&s->text, '\n');
	return s->error;
}

/* From @at on the file gets these bytes for those that are there. */
static int jsonl_rewrite(const struct jsonl *s, off_t at, const char *data, size_t bytes)
{
	int rc = 0;

	if (ftruncate(s->fd, at) || lseek(s->fd, at, SEEK_SET) != at)
		return -errno;
	fd_write_all(s->fd, data, bytes, &rc);
	return rc;
}

/* Deaths that no line follows go into the one that is there; where that cannot be, they are not
 * told. What is there stays whole, as long as its own two bytes find room. */
static void jsonl_amend_last_line(struct jsonl *s)
{
	off_t end = (off_t)(s->base + s->written - 2);
	struct json_writer w = jsonl_writer(&s->text);
	struct stat st;

	if (!s->owned || fstat(s->fd, &st) || !S_ISREG(st.st_mode) || st.st_size != end + 2)
		return;
	w.has_member = 1;
	jsonl_put_died(s, &w, DIED_LAST);
	json_write_object_end(&w);
	sink_char(&s->text, '\n');
	if (!s->text.rc && jsonl_rewrite(s, end, s->text.data, s->text.used))
		(void)jsonl_rewrite(s, end, "}\n", 2);
	sink_clear(&s->text);
}

static int jsonl_end(struct export_job *x)
{
	struct jsonl *s = x->state;

	if (jsonl_flush(x) == 0 && s->died_count && s->lines)
		jsonl_amend_last_line(s);
	return s->error;
}

static int jsonl_death(struct export_job *x, const struct coro_death *death)
{
	struct jsonl *s = x->state;
	struct coro_death *added =
		array_add(&s->died, &s->died_count, &s->died_room, sizeof(*added));

	if (added)
		*added = *death;
	return added ? 0 : -ENOMEM;
}

/* A trace that was cut is a trace: it stays. */
static void jsonl_free(struct export_job *x)
{
	struct jsonl *s = x->state;

	if (!s->error && s->fd >= 0)
		jsonl_flush(x);
	if (s->owned && s->fd >= 0) {
		if (!output_is_descriptor(x->sink.path))
			output_unlock(s->fd);
		close(s->fd);
	}
	sink_close(&s->text);
	free(s->died);
}

static uint64_t jsonl_written(const struct export_job *x)
{
	return ((const struct jsonl *)x->state)->lines;
}

const struct exporter_ops exporter_jsonl = {
	.state_bytes = sizeof(struct jsonl),
	.open = jsonl_open,
	.event = jsonl_event,
	.death = jsonl_death,
	.end = jsonl_end,
	.free = jsonl_free,
	.flush = jsonl_flush,
	.written = jsonl_written,
};
