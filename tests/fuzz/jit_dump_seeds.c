/* SPDX-License-Identifier: Apache-2.0 */
/* jit_dump_seeds DIRECTORY: inputs for fuzz_jit_dump: sound dumps of both byte orders. */
#include "dump.h"

#include <stdio.h>

#define PID 77

static void fill(struct dump *d, uint64_t flags)
{
	dump_header(d, PID, flags);
	dump_lines(d, 90, 0x1000, 3);
	dump_line(d, 0x1000, 10, "/srv/a.js");
	dump_line(d, 0x1040, 11, "\xff");
	dump_line(d, 0x1080, 3, "/srv/b.js");
	dump_end(d);
	dump_load(d, 100, PID, 0x1000, 0x100, "first");
	dump_load(d, 200, PID, 0x1080, 0x2000, "second");
	dump_move(d, 300, PID, 0x1000, 0x2000, 0x100);
	dump_begin(d, 4, 400);
	dump_int(d, 0, 8);
	dump_end(d);
	dump_begin(d, 3, 500);
	dump_end(d);
}

static int write_seed(const char *directory, const char *name, int swapped, uint64_t flags)
{
	struct dump d = {.swapped = swapped};
	char path[4096];
	FILE *f;

	fill(&d, flags);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "wb");
	if (!f)
		return 1;
	fputc(swapped ? 40 : 200, f);
	fwrite(d.b.data, 1, d.b.size, f);
	buf_free(&d.b);
	return fclose(f) != 0;
}

int main(int argc, char **argv)
{
	return argc != 2 || write_seed(argv[1], "ours", 0, 0) ||
	       write_seed(argv[1], "swapped", 1, 0) || write_seed(argv[1], "clock", 0, 1);
}
