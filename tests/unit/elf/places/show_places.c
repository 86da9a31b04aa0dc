/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the places of addresses, for comparing with other tools.
 *
 *	show_places [-r ROOT] [-s] [-t] FILE < ADDRESSES
 *
 * One line for each place, innermost first: address, function, file:line (?? and 0 as
 * addr2line has them), separated by tabs. -s: debuginfod servers may be asked. -t: instead,
 * how many rows the unwind table has, and a checksum of it.
 */
#include "elf/module.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define PLACES_MAX 64

static void show(struct elf_module *m, unsigned long long address)
{
	struct elf_place places[PLACES_MAX];
	size_t count = elf_module_places(m, address, places, PLACES_MAX);

	if (count == 0)
		printf("0x%llx\t??\t??:0\n", address);
	for (size_t i = 0; i < count; i++)
		printf("0x%llx\t%s\t%s:%d\n", address, places[i].function,
		       places[i].file ? places[i].file : "??", places[i].line);
}

static void show_table(struct elf_module *m)
{
	const struct unwind_table *table = elf_module_table(m);

	printf("%u rows, %lx\n", table ? table->row_count : 0,
	       table ? crc32(0, (const Bytef *)table, table->bytes) : 0);
}

int main(int argc, char **argv)
{
	struct elf_debug debug = {.root_fd = -1};
	unsigned long long address;
	struct elf_module *m;
	int c, rc, with_table = 0;

	while ((c = getopt(argc, argv, "r:st")) >= 0) {
		if (c == 'r')
			debug.root_fd = open(optarg, O_PATH | O_CLOEXEC);
		else if (c == 't')
			with_table = 1;
		else
			debug.debuginfod = 1;
	}
	if (optind >= argc) {
		fprintf(stderr, "usage: show_places [-r ROOT] [-s] [-t] FILE\n");
		return 2;
	}
	rc = elf_module_open(&m, argv[optind], -1, argv[optind]);
	if (rc) {
		fprintf(stderr, "show_places: %s: %s\n", argv[optind], strerror(-rc));
		return 1;
	}
	elf_module_set_debug(m, &debug);
	if (debug.root_fd >= 0)
		close(debug.root_fd);
	if (with_table)
		show_table(m);
	while (!with_table && scanf("%llx", &address) == 1)
		show(m, address);
	elf_module_free(m);
	return 0;
}
