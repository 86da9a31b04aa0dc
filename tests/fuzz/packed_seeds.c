/* SPDX-License-Identifier: Apache-2.0 */
/* A small recording, packed in all ways, for a fuzzer to start from.  usage: packed_seeds DIR */
#include "fake.h"
#include "pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void save(const char *directory, int number, const struct buf *b)
{
	struct fake f = {.file = *b};
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d", directory, number);
	fake_save(&f, path);
}

int main(int argc, char **argv)
{
	static const struct fake_class classes[] = {
		{.id = 10, .name = "long"},
		{.id = 30,
		 .name = "E",
		 .super = "jdk.jfr.Event",
		 .fields = {{"startTime", 10, 0, 0}}},
		{0},
	};
	struct buf event = {0}, packed = {0};
	struct zip_entry entries[2];
	struct fake f = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: packed_seeds DIR\n");
		return 2;
	}
	fake_chunk(&f, 0);
	fake_metadata(&f, classes);
	fake_int(&f, &event, 7042, 8);
	fake_event(&f, 30, &event);
	fake_end(&f);
	for (int how = 0; how < PACKINGS; how++) {
		buf_clear(&packed);
		if (pack(&packed, (enum packing)how, f.file.data, f.file.size))
			save(argv[1], how, &packed);
	}
	entries[0] = (struct zip_entry){.name = "d/", .data = ""};
	entries[1] = (struct zip_entry){
		.name = "d/r.jfr", .data = f.file.data, .bytes = f.file.size, .deflated = 1};
	buf_clear(&packed);
	pack_zip(&packed, entries, 2);
	save(argv[1], PACKINGS, &packed);
	buf_free(&packed);
	buf_free(&event);
	buf_free(&f.file);
	return 0;
}
