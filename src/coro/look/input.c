/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of JSON lines, ours or another engine's. A line is an object with at least the six
 * keys of enum key; unknown keys are passed over, whatever their value is. Numbers go up to
 * 2^64 - 1, which is more than common JSON libraries keep. Nothing of the text is trusted.
 */
#include "base/quantity.h"
#include "base/text/digits.h"
#include "base/text/hex.h"
#include "coro/engine/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#define LINE_MAX_BYTES (1024 * 1024)
#define DEPTH_MAX 64

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

static int input_take_number(struct scan *s, void *out)
{
	skip_blanks(s);
	return !digits_read(&s->at, s->end, 10, out) &&
	       !(s->at < s->end && strchr(".eE", *s->at) && *s->at);
}

static int input_take_address(struct scan *s, void *out)
{
	struct scan text;

	if (!input_take_string(s, &text) || text.end - text.at < 3 || text.end - text.at > 18 ||
	    memcmp(text.at, "0x", 2) != 0)
		return 0;
	text.at += 2;
	return !digits_read(&text.at, text.end, 16, out) && text.at == text.end;
}

static int input_take_bool(struct scan *s, void *out)
{
	uint8_t *value = out;

	skip_blanks(s);
	*value = (uint8_t)input_take_word(s, "true");
	return *value || input_take_word(s, "false");
}

static int input_take_dead(struct scan *s, void *event)
{
	uint8_t is_dead = 0;
	int rc = input_take_bool(s, &is_dead);

	((struct coro_event *)event)->known |= is_dead ? CORO_KNOWS_DEATH : 0;
	return rc;
}

static int bytes_of_hex(const char *text, size_t bytes, uint8_t *out)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high > 15 || low > 15)
			return 0;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return 1;
}

/* "00-TRACE-SPAN-FLAGS" */
static int input_take_context(struct scan *s, void *out)
{
	struct weft_ctp_context_prefix c = {.valid = 1};
	struct scan t;

	if (!input_take_string(s, &t) || t.end - t.at != 55 || memcmp(t.at, "00-", 3) != 0 ||
	    t.at[35] != '-' || t.at[52] != '-' || !bytes_of_hex(t.at + 3, 16, c.trace_id) ||
	    !bytes_of_hex(t.at + 36, 8, c.span_id) || !bytes_of_hex(t.at + 53, 1, &c.trace_flags))
		return 0;
	*(struct weft_ctp_context_prefix *)out = c;
	return 1;
}

static int input_take_payload(struct scan *s, void *event)
{
	struct coro_event *e = event;
	struct scan t;
	size_t bytes;

	if (!input_take_string(s, &t))
		return 0;
	bytes = (size_t)(t.end - t.at) / 2;
	if ((t.end - t.at) % 2 || bytes > WEFT_CTP_PAYLOAD_MAX ||
	    !bytes_of_hex(t.at, bytes, e->payload))
		return 0;
	e->payload_bytes = (uint8_t)bytes;
	return 1;
}

static int input_take_u32(struct scan *s, void *out)
{
	uint64_t value;

	if (!input_take_number(s, &value) || value > UINT32_MAX)
		return 0;
	*(uint32_t *)out = (uint32_t)value;
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
static int input_skip_value(struct scan *s, void *nothing)
{
	char open[DEPTH_MAX];
	int depth = 0;

	(void)nothing;
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

enum key {
	/* each line has these */
	KEY_PROBE,
	KEY_TID,
	KEY_ADDR,
	KEY_SEQ,
	KEY_ACTIVE,
	KEY_TS,
	KEYS_NEEDED,
	KEY_PID = KEYS_NEEDED,
	KEY_STATION,
	KEY_GENERATION,
	KEY_BIRTH,
	KEY_DEAD,
	KEY_CONTEXT,
	KEY_PAYLOAD,
	KEY_DIED,
	KEYS
};

#define KEYS_IDENTITY (1U << KEY_PID | 1U << KEY_STATION | 1U << KEY_GENERATION)

/* A value is taken to its place in the event, which @known says then of it. */
#define KEY(NAME, TAKE, MEMBER, KNOWN)                                                             \
	{                                                                                          \
		NAME, sizeof(NAME) - 1, TAKE, offsetof(struct coro_event, MEMBER), KNOWN           \
	}
#define WHOLE probe_id /* the event itself is the place */
static const struct {
	const char *name;
	size_t bytes;
	int (*take)(struct scan *s, void *to);
	size_t at;
	uint16_t known;
} keys[KEYS + 1] = {
	KEY("probe_id", input_take_number, probe_id, 0),
	KEY("tid", input_take_number, tid, 0),
	KEY("addr", input_take_address, addr, 0),
	KEY("seq", input_take_number, seq, 0),
	KEY("is_active", input_take_bool, is_active, 0),
	KEY("ts", input_take_number, ts, 0),
	KEY("pid", input_take_u32, pid, 0),
	KEY("station", input_take_u32, station, 0),
	KEY("generation", input_take_u32, generation, 0),
	KEY("birth", input_take_number, birth_ts, CORO_KNOWS_BIRTH),
	KEY("dead", input_take_dead, WHOLE, 0),
	KEY("context", input_take_context, context, CORO_KNOWS_CONTEXT),
	KEY("payload", input_take_payload, WHOLE, CORO_KNOWS_PAYLOAD),
	KEY("died", input_skip_value, WHOLE, 0),
	KEY("", input_skip_value, WHOLE, 0), /* any other */
};

static enum key key_of(const struct scan *text)
{
	size_t bytes = (size_t)(text->end - text->at);
	unsigned int key = 0;

	while (key < KEYS &&
	       (bytes != keys[key].bytes || memcmp(text->at, keys[key].name, bytes) != 0))
		key++;
	return key;
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

static int refuse_missing(struct coro_input *in, unsigned int seen)
{
	snprintf(in->room, sizeof(in->room), "no \"%s\"", keys[__builtin_ctz(~seen)].name);
	return input_refuse(in, in->room);
}

static int input_parse(struct coro_input *in, struct scan *s, struct coro_event *e)
{
	unsigned int seen = 0;
	struct scan text;

	if (!input_take(s, '{'))
		return input_refuse(in, "not a JSON object");
	do {
		enum key key;

		if (!input_take_string(s, &text) || !input_take(s, ':'))
			return input_refuse(in, "a key is missing");
		key = key_of(&text);
		seen |= 1U << key;
		if (key == KEY_DIED)
			in->died = *s;
		if (!keys[key].take(s, (char *)e + keys[key].at))
			return refuse_key(in, &text);
		e->known |= keys[key].known;
	} while (input_take(s, ','));
	if (!input_take(s, '}'))
		return input_refuse(in, "the object does not end");
	skip_blanks(s);
	if (s->at != s->end)
		return input_refuse(in, "text behind the object");
	if (~seen & ((1U << KEYS_NEEDED) - 1))
		return refuse_missing(in, seen);
	if ((seen & KEYS_IDENTITY) == KEYS_IDENTITY)
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

int coro_input_next(struct coro_input *in, struct coro_event *event)
{
	for (;;) {
		ssize_t bytes = input_read_line(in);
		struct scan s = {in->text, in->text + (bytes > 0 ? bytes : 0)};

		if (bytes < 0)
			return bytes == -ENODATA ? 0 : (int)bytes;
		skip_blanks(&s);
		if (s.at == s.end)
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
