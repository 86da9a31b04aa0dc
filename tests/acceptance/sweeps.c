/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweeps WHAT: a program that takes away what it has not made itself, then works in two new threads
 * and in its own, and says "done".
 *
 *   signals       actions of all signals, by raw system calls
 *   unmap         mappings of memfds and descriptors that have no name, by munmap
 *   close         those of memfds, by mprotect: no access
 *   replace       those of memfds, by mmap with MAP_FIXED
 *   pages         those of perf events, by raw system calls, for memory of its own, which must
 *                 stay as it is
 *   unmap-raw     those of memfds, by raw system calls
 *   caught        nothing: it has a handler for SIGWINCH, and sends itself a hundred
 *
 * It also says "took N" on stderr: mappings that it has taken away.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 2
#define BURN_SECONDS 0.4
#define PAGE 4096
#define PATTERN 0x5A
#define MAPS_MAX 256

static volatile unsigned long sink;
static volatile sig_atomic_t caught;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static __attribute__((noinline)) void burn_after(double seconds)
{
	double until = cpu_seconds() + seconds;

	while (cpu_seconds() < until)
		for (int i = 0; i < 100000; i++)
			sink = sink + (unsigned long)i;
}

/* ---- mappings */

static struct {
	uintptr_t low, high;
} found[MAPS_MAX];
static int count;

/* Read whole before anything is taken away: stdio has mappings of its own. */
static char text[1 << 20];

static void find(const char *name, const char *or_name)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(text) - 1 && (n = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	text[used] = 0;
	for (char *line = strtok(text, "\n"); line && count < MAPS_MAX; line = strtok(NULL, "\n")) {
		char *end;

		if (!strstr(line, name) && !strstr(line, or_name))
			continue;
		found[count].low = strtoul(line, &end, 16);
		found[count++].high = strtoul(end + 1, NULL, 16);
	}
}

enum way { UNMAP, CLOSE, REPLACE, UNMAP_RAW, REPLACE_RAW };

static void take_away(uintptr_t low, uintptr_t high, enum way way)
{
	void *at = (void *)low;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, both = PROT_READ | PROT_WRITE;

	if (way == UNMAP)
		munmap(at, high - low);
	else if (way == CLOSE)
		mprotect(at, high - low, PROT_NONE);
	else if (way == REPLACE && mmap(at, high - low, both, flags, -1, 0) != MAP_FAILED)
		memset(at, PATTERN, PAGE);
	else if (way == UNMAP_RAW)
		syscall(SYS_munmap, at, high - low);
	else if (way == REPLACE_RAW && syscall(SYS_mmap, at, high - low, both, flags, -1, 0) != -1)
		memset(at, PATTERN, high - low);
}

static void take_all(enum way way)
{
	for (int i = 0; i < count; i++)
		take_away(found[i].low, found[i].high, way);
	fprintf(stderr, "took %d\n", count);
}

static int stays_as_it_is(void)
{
	for (int i = 0; i < count; i++)
		for (const unsigned char *at = (const unsigned char *)found[i].low;
		     at < (const unsigned char *)found[i].high; at++)
			if (*at != PATTERN)
				return 0;
	return 1;
}

/* ---- signals */

static void reset_all(void)
{
	struct {
		void *handler;
		unsigned long flags, restorer, mask;
	} reset = {.handler = (void *)SIG_DFL}; /* the kernel's struct sigaction */

	for (int signo = 1; signo <= 64; signo++)
		syscall(SYS_rt_sigaction, signo, &reset, NULL, 8);
}

static void catch (int signo)
{
	(void)signo;
	caught = caught + 1;
}

static void send_to_itself(void)
{
	signal(SIGWINCH, catch);
	for (int i = 0; i < 100; i++) {
		raise(SIGWINCH);
		burn_after(0.002);
	}
	printf("caught %d\n", (int)caught);
	signal(SIGWINCH, SIG_DFL);
	raise(SIGWINCH);
}

static void *work(void *arg)
{
	burn_after(BURN_SECONDS);
	return arg;
}

static void sweep(const char *what)
{
	if (!strcmp(what, "signals"))
		reset_all();
	else if (!strcmp(what, "caught"))
		send_to_itself();
	else if (!strcmp(what, "pages"))
		find("[perf_event]", "[perf_event]");
	else if (!strcmp(what, "unmap"))
		find("/memfd:", "anon_inode:");
	else
		find("/memfd:", "/memfd:");
	if (!strcmp(what, "unmap"))
		take_all(UNMAP);
	else if (!strcmp(what, "close"))
		take_all(CLOSE);
	else if (!strcmp(what, "replace"))
		take_all(REPLACE);
	else if (!strcmp(what, "unmap-raw"))
		take_all(UNMAP_RAW);
	else if (!strcmp(what, "pages"))
		take_all(REPLACE_RAW);
}

/* The pages of this thread and of the main one; it ends, and the program's memory must stay. */
static void *sweep_in_thread(void *what)
{
	burn_after(0.05);
	sweep(what);
	burn_after(BURN_SECONDS);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	if (argc != 2)
		return 2;
	burn_after(0.05);
	if (!strcmp(argv[1], "pages")) {
		pthread_create(&thread[0], NULL, sweep_in_thread, argv[1]);
		pthread_join(thread[0], NULL);
	} else {
		sweep(argv[1]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	burn_after(BURN_SECONDS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	if (!strcmp(argv[1], "pages") && !stays_as_it_is())
		return 1;
	puts("done");
	return 0;
}
