/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late-hook COUNT LIBRARY: what the start hook costs where a library that was loaded by dlopen
 * has put it in place by patching. Prints medians in nanoseconds of create and join, without the
 * library and with it:
 *
 *   before after
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#define COUNT_MAX 4096

static void *do_nothing(void *unused)
{
	return unused;
}

static double create_and_join(size_t count)
{
	static double ns[COUNT_MAX];

	for (size_t i = 0; i < count; i++) {
		uint64_t start = bench_now_ns();
		pthread_t thread;

		if (pthread_create(&thread, NULL, do_nothing, NULL) || pthread_join(thread, NULL))
			exit(1);
		ns[i] = (double)(bench_now_ns() - start);
	}
	return bench_median(ns, count);
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
	double before;

	if (count > COUNT_MAX)
		count = COUNT_MAX;
	before = create_and_join(count);
	if (argc < 3 || !dlopen(argv[2], RTLD_NOW))
		return 1;
	printf("%.1f %.1f\n", before, create_and_join(count));
	return 0;
}
