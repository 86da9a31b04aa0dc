/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own-labels SECONDS: label sets of the program's own, by libcustomlabels's interface, and
 * nothing of weft's. Uses so much CPU time, three quarters of it for acme, with a request of its
 * own each 20 ms; then sleeps as long, for gamma.
 */
#include "customlabels.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static custom_labels_string_t text(const char *s)
{
	return (custom_labels_string_t){strlen(s), (const unsigned char *)s};
}

static void set(custom_labels_labelset_t *ls, const char *key, const char *value)
{
	if (custom_labels_set(ls, text(key), text(value), NULL))
		exit(1);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double until)
{
	while (cpu_seconds() < until)
		;
}

int main(int argc, char **argv)
{
	double seconds = argc == 2 ? strtod(argv[1], NULL) : 1, began = cpu_seconds();
	struct timespec t = {.tv_sec = (time_t)seconds,
			     .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	custom_labels_labelset_t *acme = custom_labels_new(4), *beta = custom_labels_new(0);
	char number[16];

	if (!acme || !beta)
		return 1;
	set(acme, "tenant", "acme");
	set(beta, "tenant", "beta");
	for (int i = 0; cpu_seconds() < began + seconds; i++) {
		custom_labels_replace(i % 4 ? acme : beta);
		snprintf(number, sizeof(number), "%d", i);
		set(custom_labels_current(), "request", number);
		burn(cpu_seconds() + 0.02);
	}
	custom_labels_replace(acme);
	set(acme, "tenant", "gamma");
	while (nanosleep(&t, &t))
		;
	return 0;
}
