/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables: the time to build one and its size, against reading it from the cache on
 * disk; and what a whole recording of a program that does nothing takes with an empty cache.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/walk/table_cache.h"
#include "elf/module.h"
#include "harness.h"

#define ROUNDS_MAX 15

static char place[] = "/tmp/weft-bench-cache-XXXXXX";

static void empty_cache(void)
{
	const char *const argv[] = {"rm", "-rf", bench_text("%s/" TABLE_CACHE_DIRECTORY, place),
				    NULL};
	struct bench_run run;

	bench_spawn(argv, NULL, &run);
}

static double ms_since(uint64_t start_ns)
{
	return (double)(bench_now_ns() - start_ns) / 1e6;
}

static struct elf_module *open_module(const char *path)
{
	struct elf_module *m;

	return elf_module_open(&m, path, -1, path) ? NULL : m;
}

/* Opened anew each time: a module keeps what it has built. 0: no such file, or no table. */
static int measure_once(struct table_cache *cache, const char *path, double *build, double *load,
			uint32_t *bytes)
{
	struct elf_module *m = open_module(path);
	struct unwind_table *table;
	uint64_t start = bench_now_ns();

	if (!m)
		return 0;
	table = elf_module_take_table(m);
	*build = ms_since(start);
	*bytes = table ? table->bytes : 0;
	if (table)
		table_cache_save(cache, m, table);
	free(table);
	elf_module_free(m);
	m = open_module(path);
	start = bench_now_ns();
	table = m ? table_cache_load(cache, m) : NULL;
	*load = ms_since(start);
	elf_module_free(m);
	if (!table)
		return 0;
	free(table);
	return 1;
}

static void measure(const struct bench_options *o, struct table_cache *cache, const char *path)
{
	double build[ROUNDS_MAX], load[ROUNDS_MAX];
	unsigned int rounds = o->quick ? 1 : 5;
	uint32_t bytes = 0;
	struct bench_row row = {.unit = "ms", .baseline = "read from the cache"};

	for (unsigned int r = 0; r < rounds; r++)
		if (!measure_once(cache, path, &build[r], &load[r], &bytes))
			return;
	row.operation =
		bench_text("table of %s (%u KiB): build", strrchr(path, '/') + 1, bytes / 1024);
	row.measured = bench_median(build, rounds);
	row.base = bench_median(load, rounds);
	bench_add(&row);
}

static double record_nothing(const struct bench_options *o)
{
	const char *const argv[] = {bench_text("%s/weft", o->build),
				    "record",
				    "-o",
				    bench_text("%s/nothing.jfr", place),
				    "--",
				    bench_text("%s/bench/nothing", o->build),
				    NULL};
	struct bench_run run;

	return bench_spawn(argv, bench_text("WEFT_CACHE=%s", place), &run) ? -1 : run.wall_ns / 1e6;
}

static void measure_start(const struct bench_options *o)
{
	double cold[ROUNDS_MAX], cached[ROUNDS_MAX];
	unsigned int rounds = o->quick ? 1 : ROUNDS_MAX;
	struct bench_row row = {.operation = "weft record, whole: no table cached",
				.unit = "ms",
				.baseline = "all cached"};

	for (unsigned int r = 0; r < rounds; r++) {
		empty_cache();
		cold[r] = record_nothing(o);
		cached[r] = record_nothing(o);
	}
	row.measured = bench_median(cold, rounds);
	row.base = bench_median(cached, rounds);
	bench_add(&row);
}

/* Of the files that some machines have, the biggest. */
static const char *const files[] = {
	"/usr/bin/python3",
	"/usr/bin/gdb",
	"/usr/bin/node",
	"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1",
	"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
};

static void run(const struct bench_options *o)
{
	struct table_cache cache;
	Dl_info libc;

	if (!mkdtemp(place))
		return;
	setenv("WEFT_CACHE", place, 1);
	if (table_cache_open(&cache, 1) == 0) {
		if (dladdr((void *)(uintptr_t)&qsort, &libc))
			measure(o, &cache, libc.dli_fname);
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !(o->quick && i); i++)
			measure(o, &cache, files[i]);
		table_cache_close(&cache);
	}
	measure_start(o);
	unsetenv("WEFT_CACHE");
	empty_cache();
	unlink(bench_text("%s/nothing.jfr", place));
	rmdir(place);
}

const struct bench_group bench_tables = {
	.name = "tables",
	.text = "unwind tables: built, and read from the cache",
	.run = run,
};
