/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small programs with events, for scripts:
 *
 *	ticker until FILE     an event app.Tick each millisecond until FILE is there; their number
 *	ticker storm THREADS EVENTS      as fast as can be
 *	ticker sleeps COUNT   contextual events around sleeps, and around nothing
 *	ticker twins [CMD...] app.Twin, in a child, too, which then executes CMD; with -DOTHER that
 *			      type has other fields
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weft/event.h>

static struct weft_event_type tick = {
	.name = "app.Tick",
	.flags = WEFT_EVENT_INSTANT,
	WEFT_EVENT_FIELDS({.name = "n", .kind = WEFT_EVENT_LONG}),
};
static struct weft_event_type request = {
	.name = "app.Request",
	.flags = WEFT_EVENT_CONTEXTUAL,
	.select = "if-triggered",
	WEFT_EVENT_FIELDS({.name = "sleeps", .kind = WEFT_EVENT_BOOLEAN}),
};
#ifdef OTHER
static struct weft_event_type twin = {
	.name = "app.Twin",
	WEFT_EVENT_FIELDS({.name = "text", .kind = WEFT_EVENT_STRING}),
};
#define TWIN WEFT_STRING("other")
#else
static struct weft_event_type twin = {
	.name = "app.Twin",
	WEFT_EVENT_FIELDS({.name = "number", .kind = WEFT_EVENT_INT}),
};
#define TWIN WEFT_LONG(i)
#endif

static void nap(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* In PATH.ticks a byte for each hundred, for whoever waits for them. */
static int until(const char *path)
{
	char ticks[4096];
	long n = 0;
	int fd;

	snprintf(ticks, sizeof(ticks), "%s.ticks", path);
	fd = open(ticks, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	while (access(path, F_OK)) {
		weft_event_emit(&tick, WEFT_LONG(n));
		if (++n % 100 == 0 && write(fd, ".", 1) != 1)
			return 1;
		nap(1);
	}
	close(fd);
	printf("%ld\n", n);
	return 0;
}

static long events;

static void *storm_thread(void *arg)
{
	for (long i = 0; i < events; i++)
		weft_event_emit(&tick, WEFT_LONG(i));
	return arg;
}

static int storm(int threads)
{
	pthread_t thread[64];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, storm_thread, NULL))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", threads * events);
	return 0;
}

static void one_request(int sleeps)
{
	struct weft_event event;

	weft_event_begin(&event, &request);
	if (sleeps)
		nap(300);
	weft_event_commit(&event, WEFT_LONG(sleeps));
}

static int sleeps(long count)
{
	for (long i = 0; i < count; i++) {
		one_request(1);
		one_request(0);
	}
	return 0;
}

static void emit_twins(void)
{
	for (int i = 0; i < 10; i++)
		weft_event_emit(&twin, TWIN);
}

static int twins(char **command)
{
	pid_t child;
	int status = 0;

	emit_twins();
	if (!command[0])
		return 0;
	child = fork();
	if (child == 0) {
		/* A child takes part from its first tick of CPU time on. */
		while (clock() < CLOCKS_PER_SEC / 5)
			continue;
		emit_twins();
		execv(command[0], command);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return status != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "until") && argc > 2)
		return until(argv[2]);
	if (!strcmp(what, "storm") && argc > 3) {
		events = atol(argv[3]);
		return storm(atoi(argv[2]));
	}
	if (!strcmp(what, "sleeps") && argc > 2)
		return sleeps(atol(argv[2]));
	return strcmp(what, "twins") ? 2 : twins(argv + 2);
}
