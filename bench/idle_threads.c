/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle-threads [COUNT [SECONDS]]: starts threads that do nothing, then prints how many there
 * are, what the session mapping takes (bytes; 0 when there is none), and, when SECONDS are
 * given, which share of a CPU its parent, the collector, used in as many (after three more):
 *
 *   threads mapped_resident memfd_allocated process_resident parent_cpu
 *
 * mapped_resident counts the pages that this process touched (smaps); memfd_allocated what
 * the memfd holds in all, those touched by the collector too (0 when that may not be seen).
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 10000

static sem_t ready, end;

static void *idle(void *unused)
{
	sem_post(&ready);
	sem_wait(&end);
	return unused;
}

static unsigned long start_threads(unsigned long wanted, pthread_t *threads)
{
	unsigned long started = 0;
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	while (started < wanted && !pthread_create(&threads[started], &small, idle, NULL))
		started++;
	for (unsigned long i = 0; i < started; i++)
		sem_wait(&ready);
	return started;
}

/* The mapping's line in smaps names its range; the link under map_files leads to the memfd. */
static unsigned long long allocated_bytes(const char *range)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/map_files/%.*s", (int)strcspn(range, " "), range);
	return stat(path, &st) ? 0 : (unsigned long long)st.st_blocks * 512;
}

static void measure(unsigned long long *mapped, unsigned long long *allocated,
		    unsigned long long *all)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	int inside = 0;

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long kib;

		if (strchr("0123456789abcdef", line[0])) {
			inside = strstr(line, "memfd:weft-session") != NULL;
			if (inside && !*allocated)
				*allocated = allocated_bytes(line);
		} else if (sscanf(line, "Rss: %llu", &kib) == 1) {
			*all += kib * 1024;
			*mapped += inside ? kib * 1024 : 0;
		}
	}
	if (f)
		fclose(f);
}

/* CPU time of the parent so far. */
static double parent_cpu_seconds(void)
{
	struct timespec t = {0};

	clock_gettime((clockid_t)((~(unsigned int)getppid() << 3) | 2u), &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double parent_share(unsigned int seconds)
{
	double before;

	if (!seconds)
		return 0;
	sleep(3);
	before = parent_cpu_seconds();
	sleep(seconds);
	return (parent_cpu_seconds() - before) / seconds;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MAX];
	unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, started;
	unsigned long long mapped = 0, allocated = 0, all = 0;

	sem_init(&ready, 0, 0);
	sem_init(&end, 0, 0);
	started = start_threads(wanted < THREADS_MAX ? wanted : THREADS_MAX, threads);
	measure(&mapped, &allocated, &all);
	printf("%lu %llu %llu %llu %.7f\n", started, mapped, allocated, all,
	       parent_share(argc > 2 ? (unsigned int)atoi(argv[2]) : 0));
	for (unsigned long i = 0; i < started; i++)
		sem_post(&end);
	for (unsigned long i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
