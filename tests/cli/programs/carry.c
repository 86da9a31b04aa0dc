/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that carries the runtime, to be attached to; built with libweft.so, with libweft.a,
 * and with neither (then CARRY_LIBRARY names what to load by dlopen, if anything).
 *
 * carry burn [THREADS]: uses CPU time in its threads; carry rest: sleeps; carry both: a little
 * of each. Prints "ready". By SIGUSR1 it is asked how it is, and prints one line:
 *   fds=N timers=N sigprof=default|other context=ok|lost|none interrupted=N
 * By SIGUSR2 it forks a child that uses CPU time until its parent is gone, and prints its pid.
 * Ends at SIGTERM. carry exec: as burn, but SIGUSR1 makes it `sleep 100`; carry close: as burn,
 * with no descriptor above 2.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef CARRY_LINKED
#include <weft/context.h>
#endif

#define SPAN 0x1122334455667788u

static volatile unsigned long sink;
static unsigned long interrupted;
static const char *mode;

static void work(long ms)
{
	struct timespec t;
	long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
	do {
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i * sink;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < end);
}

static void rest(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	if (nanosleep(&t, NULL))
		__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
}

__attribute__((noreturn)) static void *live(void *arg)
{
	(void)arg;
#ifdef CARRY_LINKED
	weft_context_set(SPAN, SPAN + 1);
#endif
	for (;;) {
		if (strcmp(mode, "rest"))
			work(strcmp(mode, "both") ? 1000 : 5);
		if (!strcmp(mode, "rest") || !strcmp(mode, "both"))
			rest(strcmp(mode, "both") ? 100000 : 20);
	}
}

static int count_entries(const char *path)
{
	DIR *list = opendir(path);
	int count = 0;

	while (list && readdir(list))
		count++;
	if (list)
		closedir(list);
	return count - 3; /* . and .. and the list itself */
}

static int count_timers(void)
{
	FILE *f = fopen("/proc/self/timers", "r");
	char line[256];
	int count = f ? 0 : -1;

	while (f && fgets(line, sizeof(line), f))
		count += strncmp(line, "ID:", 3) == 0;
	if (f)
		fclose(f);
	return count;
}

/* The kernel's word, not that of a function that weft stands before. */
static const char *sigprof_action(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} now = {0};

	if (syscall(SYS_rt_sigaction, SIGPROF, NULL, &now, 8))
		return "unknown";
	return now.handler == SIG_DFL ? "default" : "other";
}

static const char *context_now(void)
{
#ifdef CARRY_LINKED
	return weft_context_get().span_id == SPAN ? "ok" : "lost";
#else
	return "none";
#endif
}

static void tell(void)
{
	printf("fds=%d timers=%d sigprof=%s context=%s interrupted=%lu\n",
	       count_entries("/proc/self/fd"), count_timers(), sigprof_action(), context_now(),
	       __atomic_load_n(&interrupted, __ATOMIC_RELAXED));
	fflush(stdout);
}

static void have_a_child(void)
{
	pid_t parent = getpid(), child = fork();

	if (child == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		while (getppid() == parent)
			work(100);
		_exit(0);
	}
	printf("child=%d\n", (int)child);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 1, number;
	const char *library = getenv("CARRY_LIBRARY");
	pthread_t thread;
	sigset_t asked;

	mode = argc > 1 ? argv[1] : "burn";
	if (library && !dlopen(library, RTLD_NOW)) {
		fprintf(stderr, "carry: %s\n", dlerror());
		return 1;
	}
#ifdef CARRY_LINKED
	weft_context_set(SPAN, SPAN + 1);
#endif
	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	sigaddset(&asked, SIGUSR2);
	sigaddset(&asked, SIGTERM);
	sigprocmask(SIG_BLOCK, &asked, NULL);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, live, NULL))
			return 1;
	for (int fd = 3; fd < 1024 && !strcmp(mode, "close"); fd++)
		close(fd);
	puts("ready");
	fflush(stdout);
	for (;;) {
		number = sigwaitinfo(&asked, NULL);
		if (number == SIGTERM)
			return 0;
		if (number == SIGUSR1 && !strcmp(mode, "exec"))
			execlp("sleep", "sleep", "100", (char *)NULL);
		else if (number == SIGUSR1)
			tell();
		else if (number == SIGUSR2)
			have_a_child();
		else if (number < 0 && errno == EINTR)
			__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
	}
}
