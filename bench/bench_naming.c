/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Naming frames: an address to its functions (inlined ones too), file and line, of weft
 * itself, of a library that it was built with, and of libc where its debug files are.
 * Cold: the first time, with reading the DWARF; warm: once more. Beside it the symbol
 * alone, which is what a name costs without DWARF.
 */
#include "elf/module.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ADDRESSES 20000
#define ADDRESSES_QUICK 500
#define PLACES_MAX 32

struct figures {
	double first_ms, cold_ns, warm_ns, symbol_ns;
	size_t frames, lines, inlined;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Addresses that lie in functions, in an order as if by chance. */
static size_t pick(struct elf_module *m, uint64_t *out, size_t wanted)
{
	struct elf_symbol symbol;
	uint64_t state = 88172645463325252u, end = 0, address;
	size_t count = 0;

	for (uint64_t step = 0; step < 4096 && elf_module_read(m, end, &address, 1) == 0; step++)
		end += 65536;
	if (end == 0)
		end = UINT64_C(64) << 20;
	for (size_t tries = 0; count < wanted && tries < 50 * wanted; tries++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		address = state % end;
		if (elf_module_symbol(m, address, &symbol) == 0)
			out[count++] = address;
	}
	return count;
}

static void name_all(struct elf_module *m, const uint64_t *addresses, size_t count,
		     struct figures *f)
{
	struct elf_place places[PLACES_MAX];

	f->frames = f->lines = f->inlined = 0;
	for (size_t i = 0; i < count; i++) {
		size_t found = elf_module_places(m, addresses[i], places, PLACES_MAX);

		f->frames += found;
		f->lines += found && places[0].line > 0;
		f->inlined += found > 1;
	}
}

static int measure(const char *path, uint64_t *addresses, size_t wanted, struct figures *f)
{
	struct elf_place places[PLACES_MAX];
	struct elf_symbol symbol;
	struct elf_module *m;
	double start;
	size_t count;

	if (elf_module_open(&m, path, -1, path) != 0)
		return -1;
	count = pick(m, addresses, wanted);
	elf_module_free(m);
	if (count == 0 || elf_module_open(&m, path, -1, path) != 0)
		return -1;
	start = now_ns();
	elf_module_places(m, addresses[0], places, PLACES_MAX);
	f->first_ms = (now_ns() - start) / 1e6;
	name_all(m, addresses, count, f);
	f->cold_ns = (now_ns() - start) / (double)count;
	start = now_ns();
	name_all(m, addresses, count, f);
	f->warm_ns = (now_ns() - start) / (double)count;
	start = now_ns();
	for (size_t i = 0; i < count; i++)
		elf_module_symbol(m, addresses[i], &symbol);
	f->symbol_ns = (now_ns() - start) / (double)count;
	f->frames = f->frames * 100 / count;
	f->lines = f->lines * 100 / count;
	f->inlined = f->inlined * 100 / count;
	elf_module_free(m);
	return 0;
}

static void add_rows(const char *name, const struct figures *f)
{
	bench_add(&(struct bench_row){.operation = bench_text("name of an address, warm: %s", name),
				      .unit = "ns",
				      .measured = f->warm_ns,
				      .baseline = "symbol alone",
				      .base = f->symbol_ns});
	bench_add(&(struct bench_row){.operation =
					      bench_text("... cold, reading its DWARF: %s", name),
				      .unit = "ns",
				      .measured = f->cold_ns,
				      .baseline = "warm",
				      .base = f->warm_ns});
	bench_add(&(struct bench_row){.operation = bench_text("... the very first: %s", name),
				      .unit = "ms",
				      .measured = f->first_ms});
	bench_note("%s: %.0f addresses a second warm, %.0f cold; %zu %% have a line, %zu %% "
		   "inlined calls, %zu.%02zu frames each",
		   name, 1e9 / f->warm_ns, 1e9 / f->cold_ns, f->lines, f->inlined, f->frames / 100,
		   f->frames % 100);
}

/* Path of the libc that this program runs with. */
static int find_libc(char *path, size_t room)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	int found = 0;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char *slash = strchr(line, '/');

		if (!slash || !strstr(slash, "/libc.so.6"))
			continue;
		slash[strcspn(slash, "\n")] = 0;
		found = snprintf(path, room, "%s", slash) < (int)room;
	}
	if (maps)
		fclose(maps);
	return found;
}

static void run(const struct bench_options *options)
{
	size_t wanted = options->quick ? ADDRESSES_QUICK : ADDRESSES;
	uint64_t *addresses = calloc(wanted, sizeof(*addresses));
	struct figures f;
	char path[512];

	if (!addresses)
		return;
	snprintf(path, sizeof(path), "%s/weft", options->build);
	if (measure(path, addresses, wanted, &f) == 0)
		add_rows("weft", &f);
	if (find_libc(path, sizeof(path)) && measure(path, addresses, wanted, &f) == 0)
		add_rows("libc.so.6", &f);
	if (measure("/usr/bin/python3-dbg", addresses, wanted, &f) == 0)
		add_rows("python3-dbg", &f);
	free(addresses);
}

const struct bench_group bench_naming = {
	.name = "naming",
	.text = "functions, inlined calls and lines of addresses",
	.run = run,
};
