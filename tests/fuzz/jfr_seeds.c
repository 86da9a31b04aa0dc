/* SPDX-License-Identifier: Apache-2.0 */
/* Small recordings for a fuzzer to start from.  usage: jfr_seeds DIR */
#include "fake.h"

#include <weft/jfr.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[4096];

static const char *in(const char *directory, const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* One chunk or three; with all kinds of pool entry. */
static int write_own(const char *to, int chunks)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = to, .start_mono_ns = 1000};
	struct weft_jfr_writer *w = weft_jfr_create(&o);
	struct weft_jfr_type *sample;

	if (!w)
		return 1;
	sample = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	weft_jfr_standard_type(w, WEFT_JFR_ACTIVE_SETTING);
	for (int i = 0; i < chunks; i++) {
		struct weft_jfr_frame f = {.method = weft_jfr_method(w, "m", "f"), .line = i};
		struct weft_jfr_value v[4] = {{.number = 2000 + i}};

		v[1].number = (int64_t)weft_jfr_thread(
			w, &(struct weft_jfr_thread){.os_id = i, .name = "t", .group = "g"}, 0);
		v[2].number = (int64_t)weft_jfr_stack(w, &f, 1, 0);
		weft_jfr_event(w, sample, v, 4);
		weft_jfr_rotate(w, 3000 + (uint64_t)i, 1);
	}
	return weft_jfr_close(w) != 0;
}

enum { INT = 10, LONG, STRING = 20, NODE, EVENT };

static const struct fake_setting settings[] = {{"enabled", INT, "true"}, {"period", 99, NULL}, {0}};
static const struct fake_attribute members[] = {
	{"value-0", "a"}, {"value-1", "b"}, {"n", "1"}, {0}};
static const struct fake_note notes[] = {{NODE, members}, {99, members}, {0}};

static const struct fake_class classes[] = {
	{.id = INT, .name = "int"},
	{.id = LONG, .name = "long"},
	{.id = STRING, .name = "java.lang.String"},
	{.id = NODE,
	 .name = "Node",
	 .fields = {{"next", NODE, 1, 0}, {"other", NODE, 1, 0}, {"n", INT, 0, 0}}},
	{.id = EVENT,
	 .name = "E",
	 .super = "jdk.jfr.Event",
	 .settings = settings,
	 .notes = notes,
	 .fields = {{"startTime", LONG, 0, 0},
		    {"node", NODE, 1, 0},
		    {"nodes", NODE, 0, 1},
		    {"text", STRING, 0, 0},
		    {"key", STRING, 1, 0}}},
	{0},
};

static void put_pools(struct fake *f)
{
	struct buf b = {0};

	fake_int(f, &b, NODE, 8);
	fake_int(f, &b, 2, 4);
	for (uint64_t key = 1; key <= 2; key++) {
		fake_int(f, &b, key, 8);
		fake_int(f, &b, 3 - key, 8);
		fake_int(f, &b, key, 8);
		fake_int(f, &b, 7, 4);
	}
	fake_checkpoint(f, 1, &b);
	buf_clear(&b);
	fake_int(f, &b, STRING, 8);
	fake_int(f, &b, 1, 4);
	fake_int(f, &b, 9, 8);
	fake_text(f, &b, 4, "nine");
	fake_checkpoint(f, 1, &b);
	buf_free(&b);
}

static void write_fake(const char *to, int fixed)
{
	struct fake f = {0};
	struct buf b = {0};

	fake_chunk(&f, fixed);
	fake_metadata(&f, classes);
	for (int encoding = 0; encoding < 6; encoding++) {
		buf_clear(&b);
		fake_int(&f, &b, 99, 8);
		fake_int(&f, &b, 1, 8);
		fake_int(&f, &b, 1, 4);
		fake_int(&f, &b, 1, 8);
		fake_int(&f, &b, 2, 8);
		fake_int(&f, &b, 3, 4);
		fake_text(&f, &b, encoding, "text");
		if (encoding == 2)
			fake_int(&f, &b, 9, 8);
		fake_int(&f, &b, 9, 8);
		fake_event(&f, EVENT, &b);
	}
	put_pools(&f);
	fake_end(&f);
	fake_save(&f, to);
	buf_free(&b);
	buf_free(&f.file);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: jfr_seeds DIR\n");
		return 2;
	}
	write_fake(in(argv[1], "compressed.jfr"), 0);
	write_fake(in(argv[1], "fixed.jfr"), 1);
	return write_own(in(argv[1], "empty.jfr"), 0) || write_own(in(argv[1], "one.jfr"), 1) ||
	       write_own(in(argv[1], "three.jfr"), 3);
}
