/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: events come in the order of their ends, each with the contexts that are open
 * then, in whichever chunks those are, and whatever is selected.
 */
#include "print/print.h"

#include "print/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CHUNKS 6
#define PER_CHUNK 40
#define SPANS 60
#define THREADS 3
#ifdef CONTEXTS_MOST /* 0: see meson.build */
#define IN_OWN_CHUNK 1
#else
#define IN_OWN_CHUNK 0
#endif

static const struct weft_jfr_field note_fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL},
	{"duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, NULL, NULL},
	{"eventThread", WEFT_JFR_THREAD, 0, NULL, NULL},
	{"n", WEFT_JFR_LONG, 0, NULL, NULL},
};
static const struct weft_jfr_field span_fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL},
	{"duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, NULL, NULL},
	{"eventThread", WEFT_JFR_THREAD, 0, NULL, NULL},
	{"id", WEFT_JFR_LONG, 0, NULL, NULL},
	{"other", WEFT_JFR_LONG, 0, NULL, NULL},
};
static const char *const category[] = {"Test", NULL};

struct event {
	int64_t start, duration;
	int thread, chunk;
};

struct story {
	struct event notes[CHUNKS * PER_CHUNK];
	struct event spans[SPANS];
};

static char path[] = "/tmp/weft-test-print-XXXXXX";

/* @grain: the larger, the more things happen in one moment. */
static void make_story(struct story *s, unsigned int *seed, int grain)
{
	for (int i = 0; i < CHUNKS * PER_CHUNK; i++)
		s->notes[i] =
			(struct event){.start = 10000 + i / PER_CHUNK * 1000 + rand_r(seed) % 1000,
				       .duration = rand_r(seed) % 3 ? 0 : rand_r(seed) % 200,
				       .thread = rand_r(seed) % THREADS,
				       .chunk = i / PER_CHUNK};
	/* in their own chunk, in one behind it, or (put with explicit times) before it */
	for (int i = 0; i < SPANS; i++) {
		int64_t at = rand_r(seed) % (CHUNKS * 1000), most = rand_r(seed) % 5 ? 100 : 4000;

		s->spans[i] = (struct event){.start = 10000 + at,
					     .duration = rand_r(seed) % most,
					     .thread = rand_r(seed) % THREADS,
					     .chunk = rand_r(seed) % CHUNKS};
	}
	for (int i = 0; i < SPANS; i++)
		s->spans[i].start -= s->spans[i].start % grain;
	for (int i = 0; i < CHUNKS * PER_CHUNK; i++) {
		s->notes[i].duration -= s->notes[i].duration % grain;
		s->notes[i].start -= s->notes[i].start % grain;
	}
	for (int i = 0; i < SPANS; i++)
		s->spans[i].duration -= s->spans[i].duration % grain;
}

static void put(struct weft_jfr_writer *w, struct weft_jfr_type *type, const struct event *e,
		const int64_t *threads, int number, size_t fields)
{
	struct weft_jfr_value v[5] = {{.number = e->start},
				      {.number = e->duration},
				      {.number = threads[e->thread]},
				      {.number = number},
				      {.number = 1}};

	assert_int_equal(weft_jfr_event(w, type, v, fields), 0);
}

static void write_story(const struct story *s, int type_is_contextual)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = path, .start_mono_ns = 1000};
	struct weft_jfr_field fields[5];
	struct weft_jfr_type *note, *span;
	struct weft_jfr_writer *w = weft_jfr_create(&o);
	int64_t threads[THREADS];

	assert_non_null(w);
	memcpy(fields, span_fields, sizeof(fields));
	fields[3].flags |= type_is_contextual ? 0 : WEFT_JFR_CONTEXTUAL;
	note = weft_jfr_type(w, &(struct weft_jfr_type_def){.name = "t.Note",
							    .category = category,
							    .fields = note_fields,
							    .field_count = 4});
	span = weft_jfr_type(w, &(struct weft_jfr_type_def){
					.name = "t.Span",
					.category = category,
					.flags = type_is_contextual ? WEFT_JFR_TYPE_CONTEXTUAL : 0,
					.fields = fields,
					.field_count = 5});
	for (int i = 0; i < THREADS; i++)
		threads[i] = (int64_t)weft_jfr_thread(
			w, &(struct weft_jfr_thread){.os_id = 1 + i, .name = "t"}, 0);
	for (int chunk = 0; chunk < CHUNKS; chunk++) {
		for (int i = 0; i < CHUNKS * PER_CHUNK; i++)
			if (s->notes[i].chunk == chunk)
				put(w, note, &s->notes[i], threads, i, 4);
		for (int i = 0; i < SPANS; i++)
			if (s->spans[i].chunk == chunk)
				put(w, span, &s->spans[i], threads, i, 5);
		weft_jfr_rotate(w, 20000, 1);
	}
	assert_int_equal(weft_jfr_close(w), 0);
}

static uint64_t be64(const unsigned char *at)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

/* Each chunk's clock is another than the one before it by more than the whole story lasts. */
static void disturb_clocks(unsigned int *seed)
{
	unsigned char header[40];
	FILE *f = fopen(path, "r+");

	assert_non_null(f);
	for (long at = 0; fseek(f, at, SEEK_SET) == 0 && fread(header, sizeof(header), 1, f) == 1;
	     at += (long)be64(header + 8)) {
		uint64_t start = be64(header + 32) + (uint64_t)rand_r(seed) % 50000;

		for (int i = 0; i < 8; i++)
			header[i] = (unsigned char)(start >> (56 - 8 * i));
		assert_int_equal(fseek(f, at + 32, SEEK_SET), 0);
		assert_int_equal(fwrite(header, 8, 1, f), 1);
	}
	assert_int_equal(fclose(f), 0);
}

/* ---------------------------------------------------------------- what it should be */

static int64_t end_of(const struct event *e)
{
	return e->start + e->duration;
}

static int comes_before(const struct story *s, int a, int b)
{
	const struct event *x = &s->notes[a], *y = &s->notes[b];

	if (x->chunk != y->chunk)
		return x->chunk < y->chunk;
	return end_of(x) != end_of(y) ? end_of(x) < end_of(y) : a < b;
}

/* Of what is the same otherwise, the first in the file. */
static int span_comes_before(const struct story *s, int a, int b)
{
	const struct event *x = &s->spans[a], *y = &s->spans[b];

	if (x->start != y->start)
		return x->start < y->start;
	if (end_of(x) != end_of(y))
		return end_of(x) > end_of(y);
	return x->chunk != y->chunk ? x->chunk < y->chunk : a < b;
}

static int holds(const struct event *span, const struct event *note)
{
	int64_t t = end_of(note);

	if (IN_OWN_CHUNK && span->chunk != note->chunk)
		return 0;
	return span->thread == note->thread && span->start <= t &&
	       (t < end_of(span) || (!span->duration && t == span->start));
}

static size_t expect_note(const struct story *s, int n, char *out, size_t room, int all_fields)
{
	int open[SPANS], count = 0;
	size_t used = (size_t)snprintf(out, room, "n = %d:", n);

	for (int i = 0; i < SPANS; i++) {
		int at = count;

		if (!holds(&s->spans[i], &s->notes[n]))
			continue;
		for (; at > 0 && span_comes_before(s, i, open[at - 1]); at--)
			open[at] = open[at - 1];
		open[at] = i;
		count++;
	}
	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(out + used, room - used, " Span.id = %d%s", open[i],
					 all_fields ? " Span.other = 1" : "");
	return used + (size_t)snprintf(out + used, room - used, "\n");
}

static char *expect(const struct story *s, int all_fields)
{
	const int count = CHUNKS * PER_CHUNK;
	size_t room = 1 << 20, used = 0;
	char *out = malloc(room);
	int order[CHUNKS * PER_CHUNK];

	for (int i = 0; i < count; i++) {
		int at = i;

		for (; at > 0 && comes_before(s, i, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (int i = 0; i < count; i++)
		used += expect_note(s, order[i], out + used, room - used, all_fields);
	return out;
}

/* ---------------------------------------------------------------- what is printed */

static struct weft_jfr_reader *open_again(const void *arg)
{
	return weft_jfr_open(arg);
}

/* "n = 3: Span.id = 7" of each note, in the order printed. */
static char *digest(const char *text, size_t bytes)
{
	char *out = malloc(bytes + 1), *contexts = malloc(bytes + 1), *copy = strndup(text, bytes);
	size_t used = 0, held = 0;
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n"));) {
		if (!strncmp(line, "  Context: ", 11))
			held += (size_t)sprintf(contexts + held, " %s", line + 11);
		else if (!strncmp(line, "  n = ", 6))
			used += (size_t)sprintf(out + used, "%s:%.*s\n", line + 2, (int)held,
						contexts);
		else if (!strcmp(line, "}"))
			held = 0;
	}
	out[used] = 0;
	free(contexts);
	free(copy);
	return out;
}

static char *print_notes(const char *glob)
{
	struct print_select select = {0};
	struct print_options options = {
		.form = &form_text, .stack_depth = 5, .with_context = 1, .select = &select};
	struct weft_jfr_reader *r = weft_jfr_open(path);
	struct printer *p = printer_new(&options, NULL);
	size_t bytes;
	const char *text;
	char *out;

	assert_non_null(r);
	assert_non_null(p);
	assert_int_equal(select_add(&select, glob, 0), 0);
	assert_int_equal(printer_open(p, r, open_again, path), 0);
	assert_int_equal(printer_step(p), 0);
	text = printer_text(p, &bytes);
	out = digest(text, bytes);
	printer_free(p);
	weft_jfr_reader_free(r);
	select_free(&select);
	return out;
}

static void contexts_over_chunks(void **state)
{
	unsigned int seed = 11;
	size_t contexts = 0;

	(void)state;
	for (int round = 0; round < 80; round++) {
		static const char *const globs[] = {"*", "Note", "t.*"};
		struct story s;
		char *expected, *found;

		make_story(&s, &seed, round % 4 < 2 ? 1 : 50);
		write_story(&s, round & 1);
		if (round % 8 >= 4)
			disturb_clocks(&seed);
		expected = expect(&s, round & 1);
		found = print_notes(globs[round % 3]);
		assert_string_equal(found, expected);
		for (const char *at = expected; (at = strstr(at, "Span.id")); at++)
			contexts++;
		free(expected);
		free(found);
	}
	assert_true(contexts > (IN_OWN_CHUNK ? 1000 : 5000));
}

static void check_story(const struct story *s)
{
	char *expected, *found;

	write_story(s, 0);
	expected = expect(s, 0);
	found = print_notes("Note");
	assert_string_equal(found, expected);
	free(expected);
	free(found);
}

/* What begins in the moment in which the last event of an earlier chunk ends, and the like. */
static void exactly_at_borders(void **state)
{
	struct story s;

	(void)state;
	for (int i = 0; i < CHUNKS * PER_CHUNK; i++)
		s.notes[i] = (struct event){
			.start = 10000 + i / PER_CHUNK * 100, .thread = 2, .chunk = i / PER_CHUNK};
	for (int i = 0; i < SPANS; i++)
		s.spans[i] = (struct event){.start = 10500, .thread = 1, .chunk = 5};
	s.notes[0].thread = 0;             /* ends at 10000 */
	s.notes[2 * PER_CHUNK].thread = 0; /* at 10200 */
	s.spans[0] = (struct event){.start = 10000, .duration = 5, .chunk = 1};
	s.spans[1] = (struct event){.start = 10200, .duration = 0, .chunk = 1};
	s.spans[2] = (struct event){.start = 10150, .duration = 50, .chunk = 1}; /* not at 10200 */
	s.spans[3] = (struct event){.start = 10150, .duration = 51, .chunk = 1};
	check_story(&s);
}

/* Values beyond the bound are null, the event is counted, the form stays whole. */
static void too_many_values(void **state)
{
	struct print_options options = {.form = &form_json, .stack_depth = 5, .most_values = 6};
	struct weft_jfr_reader *r;
	struct print_totals totals;
	struct printer *p = printer_new(&options, NULL);
	unsigned int seed = 3;
	struct story s;
	size_t bytes;

	(void)state;
	make_story(&s, &seed, 1);
	write_story(&s, 0);
	r = weft_jfr_open(path);
	assert_non_null(r);
	assert_int_equal(printer_open(p, r, NULL, NULL), 0);
	assert_int_equal(printer_step(p), 0);
	assert_int_equal(printer_end(p), 0);
	printer_totals(p, &totals);
	assert_int_equal(totals.events, CHUNKS * PER_CHUNK + SPANS);
	assert_int_equal(totals.cut, totals.events);
	assert_non_null(strstr(printer_text(p, &bytes), "\"n\": null"));
	printer_free(p);
	weft_jfr_reader_free(r);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_over_chunks),
		cmocka_unit_test(exactly_at_borders),
		cmocka_unit_test(too_many_values),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
