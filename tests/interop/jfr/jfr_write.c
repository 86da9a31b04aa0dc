/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the recording that jfr_interop.py shows to other tools: several chunks, spans that
 * nest, abut and cross a chunk's end, every kind of field. The leaf function of a sample
 * names the spans that it must be shown in: "in_outer_inner", "in" for none.
 *
 *	jfr_write FILE
 */
#include <weft/jfr.h>

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS 3000000000
#define REAL_NS UINT64_C(1700000000000000000)

static const struct weft_jfr_field span_fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start Time", NULL},
	{"duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, "Duration", NULL},
	{"eventThread", WEFT_JFR_THREAD, 0, "Thread", NULL},
	{"traceId", WEFT_JFR_STRING, WEFT_JFR_CONTEXTUAL, "Trace Id", NULL},
	{"spanId", WEFT_JFR_STRING, WEFT_JFR_CONTEXTUAL, "Span Id", NULL},
};
static const struct weft_jfr_type_def span_def = {
	.name = "weft.Span",
	.label = "Span",
	.description = "Work for one request",
	.category = (const char *const[]){"Weft", NULL},
	.flags = WEFT_JFR_TYPE_CONTEXTUAL,
	.fields = span_fields,
	.field_count = 5,
};

static const struct weft_jfr_field kind_fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL},
	{"b", WEFT_JFR_BOOLEAN, 0, NULL, NULL},
	{"y", WEFT_JFR_BYTE, 0, NULL, NULL},
	{"c", WEFT_JFR_CHAR, 0, NULL, NULL},
	{"s", WEFT_JFR_SHORT, 0, NULL, NULL},
	{"i", WEFT_JFR_INT, 0, "Int", "A number"},
	{"l", WEFT_JFR_LONG, 0, NULL, NULL},
	{"f", WEFT_JFR_FLOAT, WEFT_JFR_PERCENTAGE, NULL, NULL},
	{"d", WEFT_JFR_DOUBLE, 0, NULL, NULL},
	{"text", WEFT_JFR_STRING, 0, NULL, NULL},
	{"unsigned", WEFT_JFR_LONG, WEFT_JFR_UNSIGNED, NULL, NULL},
	{"wait", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN_NS, NULL, NULL},
	{"size", WEFT_JFR_LONG, WEFT_JFR_BYTES, NULL, NULL},
	{"address", WEFT_JFR_LONG, WEFT_JFR_ADDRESS, NULL, NULL},
};
static const struct weft_jfr_type_def kind_def = {
	.name = "test.Kinds",
	.flags = WEFT_JFR_TYPE_EXPERIMENTAL,
	.fields = kind_fields,
	.field_count = 14,
};

static struct weft_jfr_writer *writer;
static struct weft_jfr_type *sample_type, *span_type, *kind_type, *setting_type;
static uint64_t threads[2];

static void must(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "jfr_write: %s\n", strerror(-rc));
	exit(1);
}

static struct weft_jfr_string string(const char *text)
{
	return (struct weft_jfr_string){text, strlen(text)};
}

static void sample(int thread, int64_t at, const char *leaf)
{
	struct weft_jfr_frame frames[] = {
		{weft_jfr_method(writer, "libwork.so", leaf), 42, 0, WEFT_JFR_FRAME_NATIVE},
		{weft_jfr_method(writer, "server", "ns::serve(int)"), 0, 0, WEFT_JFR_FRAME_CPP},
		{weft_jfr_method(writer, "", "0x1234"), 0, 0, WEFT_JFR_FRAME_NATIVE},
	};
	struct weft_jfr_value v[] = {
		{.number = START_NS + at},
		{.number = (int64_t)threads[thread]},
		{.number = (int64_t)weft_jfr_stack(writer, frames, 3, at % 2 == 1)},
		{.number = WEFT_JFR_STATE_RUNNABLE},
	};

	must(weft_jfr_event(writer, sample_type, v, 4));
}

/* From the first to the last sample in it, and a nanosecond on. */
static void span(int thread, int64_t first, int64_t last, const char *id)
{
	struct weft_jfr_value v[] = {
		{.number = START_NS + first},
		{.number = last - first + 1},
		{.number = (int64_t)threads[thread]},
		{.string = string("4bf92f3577b34da6a3ce929d0e0e4736")},
		{.string = string(id)},
	};

	must(weft_jfr_event(writer, span_type, v, 5));
}

static void kinds(int64_t at, int64_t number, double real, const char *text)
{
	struct weft_jfr_value v[14] = {{.number = START_NS + at}};

	for (int i = 1; i < 14; i++) {
		v[i].number = number;
		v[i].real = real;
	}
	if (text)
		v[9].string = string(text);
	must(weft_jfr_event(writer, kind_type, v, 14));
}

static void setting(const char *name, const char *value)
{
	struct weft_jfr_value v[] = {
		{.number = START_NS},
		{.number = weft_jfr_type_id(sample_type)},
		{.string = string(name)},
		{.string = string(value)},
	};

	must(weft_jfr_event(writer, setting_type, v, 4));
}

static void start(const char *path)
{
	struct weft_jfr_options o = {.size = sizeof(o),
				     .path = path,
				     .start_mono_ns = START_NS,
				     .start_real_ns = REAL_NS};

	writer = weft_jfr_create(&o);
	if (!writer) {
		perror(path);
		exit(1);
	}
	sample_type = weft_jfr_standard_type(writer, WEFT_JFR_EXECUTION_SAMPLE);
	setting_type = weft_jfr_standard_type(writer, WEFT_JFR_ACTIVE_SETTING);
	span_type = weft_jfr_type(writer, &span_def);
	kind_type = weft_jfr_type(writer, &kind_def);
	for (int i = 0; i < 2; i++)
		threads[i] = weft_jfr_thread(writer,
					     &(struct weft_jfr_thread){.os_id = 100 + i,
								       .name = i ? "two" : "one",
								       .group = "server [99]"},
					     0);
}

static void first_chunk(void)
{
	char longer[301];

	memset(longer, 'x', 300);
	longer[300] = 0;
	setting("period", "5 ms");
	setting("enabled", "true");
	sample(0, 1000, "in");
	sample(0, 2000, "in_first");
	sample(0, 3000, "in_first");
	sample(0, 3002, "in_second"); /* abuts */
	span(0, 2000, 3000, "first");
	span(0, 3002, 3002, "second");
	sample(0, 4000, "in");
	sample(1, 2500, "in"); /* another thread */
	sample(1, 2600, "in_other");
	span(1, 2600, 2600, "other");
	sample(0, 5000, "in_outer");
	sample(0, 5500, "in_outer_inner");
	sample(0, 5600, "in_outer_inner");
	span(0, 5500, 5600, "inner");
	kinds(5700, 0, 0, NULL);
	kinds(5701, 1, 0.5, "");
	kinds(5702, -1, -0.25, "caf\xC3\xA9 \xF0\x9F\x98\x80 \"quoted\\\"");
	kinds(5703, INT64_MAX, DBL_MAX, longer);
	kinds(5704, 127, 1e-300, "bad \xFF\xC0\x80 end");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: jfr_write FILE\n");
		return 2;
	}
	start(argv[1]);
	first_chunk();
	must(weft_jfr_rotate(writer, START_NS + 6000, 1));
	must(weft_jfr_rotate(writer, START_NS + 6000, 1));
	sample(0, 7000, "in_outer"); /* began in an earlier chunk */
	sample(0, 7100, "in_outer");
	span(0, 5000, 7100, "outer");
	sample(0, 8000, "in");
	sample(1, 8000, "in_late"); /* the span is in a later chunk */
	must(weft_jfr_rotate(writer, START_NS + 9000, 1));
	span(1, 8000, 8000, "late");
	sample(1, 9500, "in");
	must(weft_jfr_rotate(writer, START_NS + 10000, 1));
	must(weft_jfr_close(writer));
	return 0;
}
