/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording of the events that standard input lists, a line each:
 *
 *	type NAME none|type|field instant|lasts	  contextual by an annotation of it
 *	chunk					  the rest is in another chunk
 *	event TYPE THREAD BEGIN END ID		  thread 0 = none; times in ns; ID: its field `id`
 *
 * usage: make_events FILE
 */
#include <weft/jfr.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TYPES 32
#define MOST_THREADS 256
#define START_NS UINT64_C(1000000000)
#define REAL_NS UINT64_C(1700000000000000000)

static struct weft_jfr_writer *writer;
static uint64_t threads[MOST_THREADS];
static struct {
	char name[64];
	struct weft_jfr_type *type;
	int lasts;
} types[MOST_TYPES];
static size_t type_count;

static void fail(const char *what)
{
	fprintf(stderr, "make_events: %s\n", what);
	exit(1);
}

static void declare(const char *name, const char *contextual, const char *lasts)
{
	struct weft_jfr_field fields[4] = {
		{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, NULL, NULL}};
	struct weft_jfr_type_def def = {.name = name, .fields = fields};
	size_t count = 1;

	if (type_count == MOST_TYPES)
		fail("too many types");
	types[type_count].lasts = strcmp(lasts, "lasts") == 0;
	if (types[type_count].lasts)
		fields[count++] = (struct weft_jfr_field){"duration", WEFT_JFR_LONG,
							  WEFT_JFR_TIMESPAN, NULL, NULL};
	fields[count++] = (struct weft_jfr_field){"eventThread", WEFT_JFR_THREAD, 0, NULL, NULL};
	fields[count++] = (struct weft_jfr_field){
		"id", WEFT_JFR_LONG, strcmp(contextual, "field") == 0 ? WEFT_JFR_CONTEXTUAL : 0,
		NULL, NULL};
	if (strcmp(contextual, "type") == 0)
		def.flags = WEFT_JFR_TYPE_CONTEXTUAL;
	def.field_count = count;
	types[type_count].type = weft_jfr_type(writer, &def);
	if (!types[type_count].type)
		fail(name);
	snprintf(types[type_count++].name, sizeof(types[0].name), "%s", name);
}

static int64_t thread_id(unsigned long number)
{
	char name[32];
	struct weft_jfr_thread thread = {.os_id = (int64_t)number, .name = name};

	if (!number)
		return 0;
	if (number >= MOST_THREADS)
		fail("too many threads");
	snprintf(name, sizeof(name), "thread-%lu", number);
	if (!threads[number])
		threads[number] = weft_jfr_thread(writer, &thread, 1);
	return (int64_t)threads[number];
}

static void put(const char *name, unsigned long thread, int64_t begin, int64_t end, int64_t id)
{
	struct weft_jfr_value v[4] = {{.number = (int64_t)START_NS + begin}};
	size_t i = 0, count = 1;

	while (i < type_count && strcmp(types[i].name, name) != 0)
		i++;
	if (i == type_count)
		fail(name);
	if (types[i].lasts)
		v[count++].number = end - begin;
	v[count++].number = thread_id(thread);
	v[count++].number = id;
	if (weft_jfr_event(writer, types[i].type, v, count) != 0)
		fail("event");
}

int main(int argc, char **argv)
{
	struct weft_jfr_options options = {.size = sizeof(options),
					   .path = argc == 2 ? argv[1] : "",
					   .start_mono_ns = START_NS,
					   .start_real_ns = REAL_NS};
	char line[256], a[64], b[16], c[16];
	unsigned long thread;
	int64_t begin, end, id;

	writer = weft_jfr_create(&options);
	if (!writer)
		fail("create");
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "type %63s %15s %15s", a, b, c) == 3)
			declare(a, b, c);
		else if (sscanf(line, "event %63s %lu %" SCNd64 " %" SCNd64 " %" SCNd64, a, &thread,
				&begin, &end, &id) == 5)
			put(a, thread, begin, end, id);
		else if (strcmp(line, "chunk\n") == 0)
			(void)weft_jfr_rotate(writer, 0, 1);
		else
			fail(line);
	}
	if (weft_jfr_close(writer) != 0)
		fail("close");
	return 0;
}
