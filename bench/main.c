/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft-bench: prints what weft costs, beside its budgets and its peers, from one run.
 *
 *   weft-bench [--json] [--quick] [--list] [GROUP...]
 *
 * Without GROUP all of them. How each figure is taken: docs/bench.md.
 */
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

static const struct bench_group *const groups[] = {
	&bench_context, &bench_ring,    &bench_handler, &bench_program,  &bench_startup,
	&bench_memory,  &bench_priming, &bench_reading, &bench_writing,  &bench_naming,
	&bench_tables,  &bench_drain,   &bench_wall,    &bench_watching, &bench_labels,
	&bench_coro,    &bench_events,  &bench_waits,   &bench_switches,
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static const struct bench_group *find_group(const char *name)
{
	for (size_t i = 0; i < GROUPS; i++)
		if (!strcmp(groups[i]->name, name))
			return groups[i];
	return NULL;
}

static void run_group(const struct bench_group *g, const struct bench_options *o)
{
	fprintf(stderr, "weft-bench: %s: %s\n", g->name, g->text);
	g->run(o);
}

static int list(void)
{
	for (size_t i = 0; i < GROUPS; i++)
		printf("%-10s %s\n", groups[i]->name, groups[i]->text);
	return 0;
}

/* The build tree is the folder above the one that this program lies in. */
static const char *build_tree(void)
{
	static char path[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (bytes < 0)
		return ".";
	path[bytes] = '\0';
	return dirname(dirname(path));
}

static int run_named(int count, char **names, const struct bench_options *o)
{
	for (int i = 0; i < count; i++)
		if (!find_group(names[i])) {
			fprintf(stderr, "weft-bench: %s: no such group (see --list)\n", names[i]);
			return 2;
		}
	for (int i = 0; i < count; i++)
		run_group(find_group(names[i]), o);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{"json", no_argument, NULL, 'j'},
					      {"quick", no_argument, NULL, 'q'},
					      {"list", no_argument, NULL, 'l'},
					      {0}};
	struct bench_options o = {.build = build_tree()};
	bool json = false;
	int rc = 0;

	for (int opt; (opt = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		if (opt == 'l')
			return list();
		if (opt == '?')
			return 2;
		json |= opt == 'j';
		o.quick |= opt == 'q';
	}
	if (optind < argc)
		rc = run_named(argc - optind, argv + optind, &o);
	else
		for (size_t i = 0; i < GROUPS; i++)
			run_group(groups[i], &o);
	if (!rc)
		bench_print(json);
	return rc;
}
