/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list-samples [--wall] FILE: one line per sample, fields separated by tabs:
 *
 *   time_ns  process  thread  tid  span  route  truncated  stack (leaf;...;outermost)
 *
 * Exit: 0; 1 when the file does not read, or not to its end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "samples.h"

static void print_sample(const struct sample *s)
{
	printf("%" PRId64 "\t%s\t%s\t%" PRId64 "\t%s\t%s\t%d\t", s->time_ns, s->process, s->thread,
	       s->os_tid, s->span[0] ? s->span : "-", s->route[0] ? s->route : "-", s->truncated);
	for (size_t i = 0; i < s->frames; i++)
		printf("%s%s", i ? ";" : "", s->frame[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct samples all;
	int rc, wall;

	wall = argc == 3 && !strcmp(argv[1], "--wall");
	if (argc != 2 + wall) {
		fputs("usage: list-samples [--wall] FILE\n", stderr);
		return 2;
	}
	rc = wall ? samples_read_wall(argv[2], &all) : samples_read(argv[1], &all);
	for (size_t i = 0; i < all.count; i++)
		print_sample(&all.sample[i]);
	samples_free(&all);
	if (rc)
		fprintf(stderr, "list-samples: %s: %s\n", argv[1 + wall], strerror(-rc));
	return rc ? 1 : 0;
}
