/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a recording, printed in all forms, with and without contexts.
 * What comes out is always whole: JSON that parses, XML that is well-formed, text that no
 * terminal obeys.
 */
#include "base/text/utf8.h"
#include "jfr/read/reader.h"
#include "print/form.h"
#include "print/print.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_VALUES 300
#define MOST_BYTES ((size_t)2 << 20)

struct bytes {
	const uint8_t *data;
	size_t size;
};

/* What is being checked. */
struct text {
	const char *at, *end;
};

static void fail(const struct text *t, const char *why)
{
	fprintf(stderr, "%s before: %.*s\n", why, t->end - t->at > 80 ? 80 : (int)(t->end - t->at),
		t->at);
	abort();
}

/* ---------------------------------------------------------------- JSON */

static void json_string(struct text *t)
{
	for (t->at++; t->at < t->end && *t->at != '"'; t->at++) {
		if ((unsigned char)*t->at < 0x20 || (unsigned char)*t->at >= 0x80)
			fail(t, "no such character in a string");
		if (*t->at != '\\')
			continue;
		t->at++;
		if (t->at < t->end && *t->at == 'u') {
			for (int i = 0; i < 4; i++)
				if (++t->at >= t->end || !isxdigit((unsigned char)*t->at))
					fail(t, "bad escape");
		} else if (t->at >= t->end || !strchr("\"\\/bfnrt", *t->at)) {
			fail(t, "bad escape");
		}
	}
	if (t->at++ >= t->end)
		fail(t, "string without end");
}

static void json_scalar(struct text *t)
{
	const char *start = t->at;
	char word[400], *rest;

	while (t->at < t->end && (isalnum((unsigned char)*t->at) || strchr("+-.", *t->at)))
		t->at++;
	if (t->at == start || t->at - start >= (int)sizeof(word))
		fail(t, "no value");
	memcpy(word, start, (size_t)(t->at - start));
	word[t->at - start] = 0;
	if (!strcmp(word, "null") || !strcmp(word, "true") || !strcmp(word, "false"))
		return;
	strtod(word, &rest);
	if (*rest || !strchr("-0123456789", word[0]))
		fail(t, "bad number");
}

static char json_next(struct text *t)
{
	while (t->at < t->end && isspace((unsigned char)*t->at))
		t->at++;
	return t->at < t->end ? *t->at : 0;
}

static void json_value(struct text *t, int depth);

static void json_member(struct text *t, int depth, int is_object)
{
	if (is_object) {
		if (json_next(t) != '"')
			fail(t, "no key");
		json_string(t);
		if (json_next(t) != ':')
			fail(t, "no colon");
		t->at++;
	}
	json_value(t, depth);
}

static void json_many(struct text *t, int depth, char close)
{
	t->at++;
	if (json_next(t) == close) {
		t->at++;
		return;
	}
	for (;;) {
		json_member(t, depth, close == '}');
		if (json_next(t) == close)
			break;
		if (json_next(t) != ',')
			fail(t, "no comma");
		t->at++;
	}
	t->at++;
}

static void json_value(struct text *t, int depth)
{
	char c = json_next(t);

	if (depth > 5000)
		fail(t, "too deep");
	if (c == '{' || c == '[')
		json_many(t, depth + 1, c == '{' ? '}' : ']');
	else if (c == '"')
		json_string(t);
	else
		json_scalar(t);
}

static void check_json(struct text t)
{
	json_value(&t, 0);
	if (json_next(&t))
		fail(&t, "more than one value");
}

/* ---------------------------------------------------------------- XML */

static void xml_text(struct text *t)
{
	for (; t->at < t->end && *t->at != '<'; t->at++) {
		unsigned char c = (unsigned char)*t->at;

		if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x80)
			fail(t, "no such character");
		if (c == '>')
			fail(t, "a > of its own");
	}
}

/* Only the three elements of ours nest, and no attribute holds a < or >. */
static void check_xml(struct text t)
{
	char open[5000];
	size_t depth = 0;

	t.at += strlen("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
	for (;;) {
		const char *close;

		xml_text(&t);
		if (t.at == t.end)
			break;
		close = memchr(t.at, '>', (size_t)(t.end - t.at));
		if (!close)
			fail(&t, "tag without end");
		if (t.at[1] == '/') {
			if (!depth || open[--depth] != t.at[2])
				fail(&t, "not what is open");
		} else if (close[-1] != '/') {
			if (depth == sizeof(open))
				fail(&t, "too deep");
			open[depth++] = t.at[1];
		}
		t.at = close + 1;
	}
	if (depth)
		fail(&t, "something is open");
}

/* ---------------------------------------------------------------- text */

static void check_text(struct text t)
{
	const unsigned char *at = (const unsigned char *)t.at, *end = (const unsigned char *)t.end;

	while (at < end) {
		const unsigned char *start = at;
		uint32_t c = utf8_next(&at, end);

		t.at = (const char *)start;
		if ((c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0))
			fail(&t, "control character");
		if (c == UTF8_REPLACEMENT && memcmp(start, "\xEF\xBF\xBD", 3) != 0)
			fail(&t, "not UTF-8");
	}
}

/* ---------------------------------------------------------------- print */

static struct weft_jfr_reader *open_again(const void *arg)
{
	const struct bytes *b = arg;

	return reader_of_memory(b->data, b->size);
}

static void print(const struct bytes *b, const struct form *form, int with_context,
		  void (*check)(struct text t))
{
	struct print_options options = {.form = form,
					.stack_depth = 5,
					.with_context = with_context,
					.most_values = MOST_VALUES,
					.most_bytes = MOST_BYTES};
	struct weft_jfr_reader *r = reader_of_memory(b->data, b->size);
	struct printer *p = printer_new(&options, NULL);
	struct text t;
	size_t size;
	int rc;

	if (r && p && printer_open(p, r, open_again, b) == 0) {
		rc = printer_step(p);
		if (rc != 0 && rc != -EFBIG && !*printer_error(p))
			abort();
		printer_end(p);
		t.at = printer_text(p, &size);
		t.end = t.at + size;
		check(t);
	}
	printer_free(p);
	weft_jfr_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};

	for (int with_context = 0; with_context < 2; with_context++) {
		print(&b, &form_text, with_context, check_text);
		print(&b, &form_json, with_context, check_json);
		print(&b, &form_xml, with_context, check_xml);
	}
	return 0;
}
