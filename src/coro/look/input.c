/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of JSON lines, ours or another engine's. A line is an object with at least the six
 * keys of enum seen; unknown keys are passed over, whatever their value is. Numbers go up to
 * 2^64 - 1, which is more than common JSON libraries keep. Nothing of the text is trusted.
 */
#include "coro/engine/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#define LINE_MAX_BYTES (1024 * 1024)
#define DEPTH_MAX 64

enum seen {
	SEEN_PROBE = 1 << 0,
	SEEN_TID = 1 << 1,
	SEEN_ADDR = 1 << 2,
	SEEN_SEQ = 1 << 3,
	SEEN_ACTIVE = 1 << 4,
	SEEN_TS = 1 << 5,
	SEEN_ALL = (1 << 6) - 1,
	SEEN_PID = 1 << 6,
	SEEN_STATION = 1 << 7,
	SEEN_GENERATION = 1 << 8,
	SEEN_IDENTITY = SEEN_PID | SEEN_STATION | SEEN_GENERATION,
};

/* What is left of a line; @at never passes @end. */
struct scan {
	const char *at, *end;
};

struct coro_input {
	FILE *file;
	int owned;
	uint64_t line;
	char *text;
	struct scan died; /* rest of the list "died" of the line */
	uint64_t ts;      /* the line's */
	const char *why;
	char room[128];
};

static void skip_blanks(struct scan *s)
{
	while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
		s->at++;
}

static int input_take(struct scan *s, char c)
{
	skip_blanks(s);
	if (s->at == s->end || *s->at != c)
		return 0;
	s->at++;
	return 1;
}

static int input_take_word(struct scan *s, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t)(s->end - s->at) < bytes || memcmp(s->at, word, bytes) != 0)
		return 0;
	s->at += bytes;
	return 1;
}

/* The bytes of a string, with its escapes. */
static int input_take_string(struct scan *s, struct scan *out)
{
	if (!input_take(s, '"'))
		return 0;
	out->at = s->at;
	for (; s->at < s->end && *s->at != '"'; s->at++) {
		if ((unsigned char)*s->at < 0x20)
			return 0;
		if (*s->at == '\\' && ++s->at == s->end)
			return 0;
	}
	if (s->at == s->end)
		return 0;
	out->end = s->at++;
	return 1;
}

static int input_take_number(struct scan *s, uint64_t *out)
{
	const char *first;
	uint64_t value = 0;

	skip_blanks(s);
	first = s->at;
	for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s->at - '0'), &value))
			return 0;
	*out = value;
	return s->at > first && !(s->at < s->end && strchr(".eE", *s->at) && *s->at);
}

static int input_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int input_take_address(struct scan *s, uint64_t *out)
{
	struct scan text;
	uint64_t value = 0;

	if (!input_take_string(s, &text) || text.end - text.at < 3 || text.end - text.at > 18 ||
	    memcmp(text.at, "0x", 2) != 0)
		return 0;
	for (const char *c = text.at + 2; c < text.end; c++) {
		if (input_hex_digit(*c) < 0)
			return 0;
		value = value << 4 | (uint64_t)input_hex_digit(*c);
	}
	*out = value;
	return 1;
}

static int input_take_bool(struct scan *s, uint8_t *out)
{
	skip_blanks(s);
	*out = (uint8_t)input_take_word(s, "true");
	return *out || input_take_word(s, "false");
}

static int bytes_of_hex(const char *text, size_t bytes, uint8_t *out)
{
	for (size_t i = 0; i < bytes; i++) {
		int high = input_hex_digit(text[2 * i]), low = input_hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return 0;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return 1;
}

/* "00-TRACE-SPAN-FLAGS" */
static int input_take_context(struct scan *s, struct coro_event *e)
{
	struct weft_ctp_context_prefix c = {.valid = 1};
	struct scan t;

	if (!input_take_string(s, &t) || t.end - t.at != 55 || memcmp(t.at, "00-", 3) != 0 ||
	    t.at[35] != '-' || t.at[52] != '-' || !bytes_of_hex(t.at + 3, 16, c.trace_id) ||
	    !bytes_of_hex(t.at + 36, 8, c.span_id) || !bytes_of_hex(t.at + 53, 1, &c.trace_flags))
		return 0;
	e->context = c;
	e->known |= CORO_KNOWS_CONTEXT;
	return 1;
}

static int input_take_payload(struct scan *s, struct coro_event *e)
{
	struct scan t;
	size_t bytes;

	if (!input_take_string(s, &t))
		return 0;
	bytes = (size_t)(t.end - t.at) / 2;
	if ((t.end - t.at) % 2 || bytes > WEFT_CTP_PAYLOAD_MAX ||
	    !bytes_of_hex(t.at, bytes, e->payload))
		return 0;
	e->payload_bytes = (uint8_t)bytes;
	e->known |= CORO_KNOWS_PAYLOAD;
	return 1;
}

static int input_take_u32(struct scan *s, uint32_t *out)
{
	uint64_t value;

	if (!input_take_number(s, &value) || value > UINT32_MAX)
		return 0;
	*out = (uint32_t)value;
	return 1;
}

/* ---- values that nobody asks for */

static int skip_scalar(struct scan *s)
{
	struct scan text;

	skip_blanks(s);
	if (s->at < s->end && *s->at == '"')
		return input_take_string(s, &text);
	if (input_take_word(s, "true") || input_take_word(s, "false") || input_take_word(s, "null"))
		return 1;
	text.at = s->at;
	while (s->at < s->end && *s->at && strchr("+-.0123456789eE", *s->at))
		s->at++;
	return s->at > text.at;
}

/* Brackets must match; whether commas and colons are in their places is not checked. */
static int input_skip_value(struct scan *s)
{
	char open[DEPTH_MAX];
	int depth = 0;

	do {
		skip_blanks(s);
		if (s->at == s->end)
			return 0;
		if (*s->at == '{' || *s->at == '[') {
			if (depth == DEPTH_MAX)
				return 0;
			open[depth++] = *s->at++ == '{' ? '}' : ']';
		} else if (depth && *s->at == open[depth - 1]) {
			depth--;
			s->at++;
		} else if (depth && (*s->at == ',' || *s->at == ':')) {
			s->at++;
		} else if (!skip_scalar(s)) {
			return 0;
		}
	} while (depth);
	return 1;
}

/* ---- a line */

static int key_is(const struct scan *key, const char *name)
{
	size_t bytes = (size_t)(key->end - key->at);

	return bytes == strlen(name) && memcmp(key->at, name, bytes) == 0;
}

static int input_take_dead(struct scan *s, struct coro_event *e)
{
	uint8_t dead;

	if (!input_take_bool(s, &dead))
		return 0;
	if (dead)
		e->known |= CORO_KNOWS_DEATH;
	return 1;
}

static int input_take_birth(struct scan *s, struct coro_event *e)
{
	e->known |= CORO_KNOWS_BIRTH;
	return input_take_number(s, &e->birth_ts);
}

static int take_extended(struct scan *s, const struct scan *key, struct coro_event *e,
			 unsigned int *seen)
{
	if (key_is(key, "pid"))
		return *seen |= SEEN_PID, input_take_u32(s, &e->pid);
	if (key_is(key, "station"))
		return *seen |= SEEN_STATION, input_take_u32(s, &e->station);
	if (key_is(key, "generation"))
		return *seen |= SEEN_GENERATION, input_take_u32(s, &e->generation);
	if (key_is(key, "birth"))
		return input_take_birth(s, e);
	if (key_is(key, "dead"))
		return input_take_dead(s, e);
	if (key_is(key, "context"))
		return input_take_context(s, e);
	if (key_is(key, "payload"))
		return input_take_payload(s, e);
	return input_skip_value(s);
}

static int take_value(struct scan *s, const struct scan *key, struct coro_event *e,
		      unsigned int *seen)
{
	if (key_is(key, "probe_id"))
		return *seen |= SEEN_PROBE, input_take_number(s, &e->probe_id);
	if (key_is(key, "tid"))
		return *seen |= SEEN_TID, input_take_number(s, &e->tid);
	if (key_is(key, "addr"))
		return *seen |= SEEN_ADDR, input_take_address(s, &e->addr);
	if (key_is(key, "seq"))
		return *seen |= SEEN_SEQ, input_take_number(s, &e->seq);
	if (key_is(key, "is_active"))
		return *seen |= SEEN_ACTIVE, input_take_bool(s, &e->is_active);
	if (key_is(key, "ts"))
		return *seen |= SEEN_TS, input_take_number(s, &e->ts);
	return take_extended(s, key, e, seen);
}

static const char *input_missing(unsigned int seen)
{
	static const char *const text[] = {"no \"probe_id\"", "no \"tid\"",       "no \"addr\"",
					   "no \"seq\"",      "no \"is_active\"", "no \"ts\""};

	for (int i = 0; i < 6; i++)
		if (!(seen & 1U << i))
			return text[i];
	return NULL;
}

static int input_refuse(struct coro_input *in, const char *why)
{
	in->why = why;
	return -EBADMSG;
}

static int refuse_key(struct coro_input *in, const struct scan *key)
{
	int bytes = (int)(key->end - key->at);

	snprintf(in->room, sizeof(in->room), "the value of \"%.*s\" is none",
		 bytes < 64 ? bytes : 64, key->at);
	return input_refuse(in, in->room);
}

static int input_parse(struct coro_input *in, struct scan *s, struct coro_event *e)
{
	unsigned int seen = 0;
	struct scan key;

	if (!input_take(s, '{'))
		return input_refuse(in, "not a JSON object");
	do {
		if (!input_take_string(s, &key) || !input_take(s, ':'))
			return input_refuse(in, "a key is missing");
		if (key_is(&key, "died"))
			in->died = *s;
		if (!take_value(s, &key, e, &seen))
			return refuse_key(in, &key);
	} while (input_take(s, ','));
	if (!input_take(s, '}'))
		return input_refuse(in, "the object does not end");
	skip_blanks(s);
	if (s->at != s->end)
		return input_refuse(in, "text behind the object");
	if ((seen & SEEN_ALL) != SEEN_ALL)
		return input_refuse(in, input_missing(seen));
	if ((seen & SEEN_IDENTITY) == SEEN_IDENTITY)
		e->known |= CORO_KNOWS_IDENTITY;
	in->ts = e->ts;
	return 1;
}

/* [[PID,STATION,GENERATION],...]: the next of them, until one is malformed. */
int coro_input_death(struct coro_input *in, struct coro_death *death)
{
	struct scan *s = &in->died;

	*death = (struct coro_death){.ts = in->ts};
	return s->at && (input_take(s, '[') || input_take(s, ',')) && (input_take(s, '[') || 1) &&
	       input_take_u32(s, &death->pid) && input_take(s, ',') &&
	       input_take_u32(s, &death->station) && input_take(s, ',') &&
	       input_take_u32(s, &death->generation) && input_take(s, ']');
}

/* ---- the file */

/* A directory can be opened, but not read. */
static int check_kind(FILE *file)
{
	struct stat st;

	if (fstat(fileno(file), &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? -EISDIR : 0;
}

int coro_input_open(struct coro_input **out, const char *path)
{
	struct coro_input *in = calloc(1, sizeof(*in));
	int rc;

	if (!in)
		return -ENOMEM;
	in->owned = strcmp(path, "-") != 0;
	in->text = malloc(LINE_MAX_BYTES + 2);
	errno = ENOMEM;
	in->file = !in->text ? NULL : in->owned ? fopen(path, "re") : stdin;
	rc = in->file ? check_kind(in->file) : -errno;
	if (rc) {
		coro_input_close(in);
		return rc;
	}
	*out = in;
	return 0;
}

/* Bytes of the next line without its end, -ENODATA, -errno. */
static ssize_t input_read_line(struct coro_input *in)
{
	size_t count = 0;
	int c = EOF;

	errno = 0;
	flockfile(in->file);
	while (count <= LINE_MAX_BYTES && (c = getc_unlocked(in->file)) != EOF && c != '\n')
		in->text[count++] = (char)c;
	funlockfile(in->file);
	if (c == EOF && ferror(in->file))
		return errno ? -errno : -EIO;
	if (c == EOF && count == 0)
		return -ENODATA;
	in->line++;
	in->text[count] = 0;
	return count > LINE_MAX_BYTES ? input_refuse(in, "longer than 1 MiB") : (ssize_t)count;
}

static int input_is_blank(const struct scan *line)
{
	struct scan s = *line;

	skip_blanks(&s);
	return s.at == s.end;
}

int coro_input_next(struct coro_input *in, struct coro_event *event)
{
	for (;;) {
		ssize_t bytes = input_read_line(in);
		struct scan s = {in->text, in->text + (bytes > 0 ? bytes : 0)};

		if (bytes < 0)
			return bytes == -ENODATA ? 0 : (int)bytes;
		if (input_is_blank(&s))
			continue;
		memset(event, 0, sizeof(*event));
		in->died = (struct scan){NULL, NULL};
		return input_parse(in, &s, event);
	}
}

uint64_t coro_input_line(const struct coro_input *in)
{
	return in->line;
}

const char *coro_input_why(const struct coro_input *in)
{
	return in->why ? in->why : "unreadable";
}

void coro_input_close(struct coro_input *in)
{
	if (!in)
		return;
	if (in->owned && in->file)
		fclose(in->file);
	free(in->text);
	free(in);
}
