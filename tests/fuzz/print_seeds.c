/* SPDX-License-Identifier: Apache-2.0 */
/* Small recordings of every kind of field, with contexts.  usage: print_seeds DIR */
#include <weft/jfr.h>

#include <stdio.h>
#include <string.h>

static const struct weft_jfr_field kinds[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL},
	{"duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, NULL, NULL},
	{"eventThread", WEFT_JFR_THREAD, 0, NULL, NULL},
	{"stackTrace", WEFT_JFR_STACK, 0, NULL, NULL},
	{"z", WEFT_JFR_BOOLEAN, 0, NULL, NULL},
	{"y", WEFT_JFR_BYTE, 0, NULL, NULL},
	{"c", WEFT_JFR_CHAR, 0, NULL, NULL},
	{"s", WEFT_JFR_SHORT, 0, NULL, NULL},
	{"i", WEFT_JFR_INT, WEFT_JFR_BYTES, NULL, NULL},
	{"l", WEFT_JFR_LONG, WEFT_JFR_ADDRESS, NULL, NULL},
	{"ns", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN_NS, NULL, NULL},
	{"f", WEFT_JFR_FLOAT, WEFT_JFR_PERCENTAGE, NULL, NULL},
	{"d", WEFT_JFR_DOUBLE, 0, NULL, NULL},
	{"text", WEFT_JFR_STRING, 0, NULL, NULL},
	{"state", WEFT_JFR_STATE, 0, NULL, NULL},
};
static const struct weft_jfr_field spans[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL},
	{"duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, NULL, NULL},
	{"eventThread", WEFT_JFR_THREAD, 0, NULL, NULL},
	{"id", WEFT_JFR_STRING, WEFT_JFR_CONTEXTUAL, NULL, NULL},
};
static const char *const category[] = {"Test", NULL};
static const char *const texts[] = {"plain", "<a href='b'>&\"</a>", "caf\303\251 \360\237\230\200",
				    "\033[31m\b\r\n\t\177\302\205", ""};

static struct weft_jfr_type *declare(struct weft_jfr_writer *w, const char *name,
				     const struct weft_jfr_field *fields, size_t count)
{
	return weft_jfr_type(w, &(struct weft_jfr_type_def){.name = name,
							    .category = category,
							    .fields = fields,
							    .field_count = count});
}

static struct weft_jfr_value text_value(int i)
{
	const char *text = texts[i % 5];

	return (struct weft_jfr_value){.string = {text, strlen(text)}};
}

static void put_kinds(struct weft_jfr_writer *w, struct weft_jfr_type *type, int64_t thread, int i)
{
	struct weft_jfr_frame frames[7] = {{0}};
	struct weft_jfr_value v[15] = {
		{.number = 2000 + 10 * i}, {.number = 5}, {.number = thread}};

	for (int k = 0; k < 7; k++)
		frames[k].method = weft_jfr_method(w, "m", k % 2 ? "f" : "ns::g(int)");
	v[3].number = (int64_t)weft_jfr_stack(w, frames, 7, i & 1);
	for (int k = 4; k < 11; k++)
		v[k].number = i == 1 ? INT64_MIN : (int64_t)i << (7 * k);
	v[11].real = 0.125 * i;
	v[12].real = 1e300 * i;
	v[13] = text_value(i);
	v[14].number = 1 + i % 5;
	weft_jfr_event(w, type, v, 15);
}

static void put_span(struct weft_jfr_writer *w, struct weft_jfr_type *type, int64_t thread, int i,
		     int64_t duration)
{
	struct weft_jfr_value v[4] = {
		{.number = 1990 + 10 * i}, {.number = duration}, {.number = thread}, text_value(i)};

	weft_jfr_event(w, type, v, 4);
}

static int write_one(const char *directory, const char *name, int count, int per_chunk)
{
	char path[4096];
	struct weft_jfr_options o = {.size = sizeof(o),
				     .path = path,
				     .start_mono_ns = 1000,
				     .start_real_ns = 1700000000};
	struct weft_jfr_writer *w;
	struct weft_jfr_type *kind, *span;
	int64_t thread;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	w = weft_jfr_create(&o);
	if (!w)
		return 1;
	kind = declare(w, "t.Kinds", kinds, 15);
	span = declare(w, "t.Span", spans, 4);
	thread = (int64_t)weft_jfr_thread(
		w, &(struct weft_jfr_thread){.os_id = 7, .name = "t", .group = "g [1]"}, 0);
	for (int i = 0; i < count; i++) {
		put_kinds(w, kind, thread, i);
		put_span(w, span, thread, i, i % 3 ? 20 : 0);
		if (i % per_chunk == per_chunk - 1) {
			put_span(w, span, thread, i, 100); /* over the border */
			weft_jfr_rotate(w, 3000 + (uint64_t)i, 1);
		}
	}
	put_span(w, span, thread, 0, 5000);
	return weft_jfr_close(w) != 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: print_seeds DIR\n");
		return 2;
	}
	return write_one(argv[1], "one.jfr", 1, 9) || write_one(argv[1], "all.jfr", 6, 99) ||
	       write_one(argv[1], "chunks.jfr", 6, 2);
}
