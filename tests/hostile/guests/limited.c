/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limited WORD [stay]: a program under limits, that says what it can have of what is limited. All
 * but the last two use 0.2 s of CPU time, half of it on a second thread where there can be one, and
 * end with 7; with "stay" not before who looks for programs now and then has found it.
 *
 *   plain     nothing else
 *   files     how many descriptors it can open; a child, and a program that it begins, too
 *   threads   how many threads it can have at a time, a hundred at most, all of which work
 *   stack     uses the stack, of the main thread and of another, down to its last 24 KiB
 *   write     writes 1 MiB to its standard output
 *   cpu       uses CPU time until that is the end of it
 *   caught    the same, with a handler for SIGXCPU: says so when it comes
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 100
#define THREADS 100
#define THREAD_MS 5
#define STAY_S 3
#define STACK_LEFT (24 * 1024)
#define STACK_MAX (8 * 1024 * 1024)

static pthread_barrier_t all_there;
static volatile sig_atomic_t has_come;

static void fail(const char *what)
{
	fprintf(stderr, "limited: %s: %s\n", what, strerror(errno));
	exit(3);
}

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static __attribute__((noinline)) void burn(long ms)
{
	volatile uint64_t sink = 0;
	long until = cpu_ms() + ms;

	do
		for (uint64_t i = 0; i < 20000; i++)
			sink += i * sink + 1;
	while (cpu_ms() < until);
}

static void *burn_here(void *arg)
{
	burn(MS);
	return arg;
}

/* Some limits leave no room for a thread: then that is what it says. */
static void plain(void)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, burn_here, NULL);

	burn(MS);
	if (error)
		printf("no thread: %s\n", strerror(error));
	else
		pthread_join(thread, NULL);
}

static void say_files(const char *who)
{
	int count = 0;

	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		count++;
	printf("%s: %d descriptors, then %s\n", who, count, strerror(errno));
	fflush(stdout);
}

static void files(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		say_files("child");
		execl("/proc/self/exe", "limited", "plain", (char *)NULL);
		_exit(9);
	}
	waitpid(pid, NULL, 0);
	say_files("parent");
	plain();
}

static void *stay(void *arg)
{
	burn(THREAD_MS);
	pthread_barrier_wait(&all_there);
	return arg;
}

/* The barrier is made when it is known how many there are: until then they wait for a lock. */
static pthread_mutex_t counted = PTHREAD_MUTEX_INITIALIZER;

static void *wait_and_stay(void *arg)
{
	pthread_mutex_lock(&counted);
	pthread_mutex_unlock(&counted);
	return stay(arg);
}

static void threads(void)
{
	pthread_t thread[THREADS];
	unsigned int count = 0;

	pthread_mutex_lock(&counted);
	while (count < THREADS && !pthread_create(&thread[count], NULL, wait_and_stay, NULL))
		count++;
	pthread_barrier_init(&all_there, NULL, count + 1);
	pthread_mutex_unlock(&counted);
	burn(MS);
	pthread_barrier_wait(&all_there);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	printf("%u threads\n", count);
}

static size_t stack_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	return limit.rlim_cur > STACK_MAX ? STACK_MAX : (size_t)limit.rlim_cur;
}

static __attribute__((noinline)) void use_stack(size_t bytes)
{
	volatile char *room = alloca(bytes);

	for (size_t i = 0; i < bytes; i += 512)
		room[i] = 1;
	burn(MS);
	room[0] = 2;
}

static void *stack_here(void *arg)
{
	size_t bytes = 0;
	pthread_attr_t attr;

	if (pthread_getattr_np(pthread_self(), &attr) || pthread_attr_getstacksize(&attr, &bytes))
		fail("pthread_getattr_np");
	pthread_attr_destroy(&attr);
	use_stack(bytes - STACK_LEFT);
	return arg;
}

static void stack(void)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, stack_here, NULL);
	if (errno)
		fail("pthread_create");
	pthread_join(thread, NULL);
	use_stack(stack_limit() - STACK_LEFT - 16384); /* arguments and environment */
	puts("stacks used");
}

static void write_much(void)
{
	static char text[65536];

	burn(MS);
	for (int i = 0; i < 16; i++)
		if (write(1, text, sizeof(text)) != (ssize_t)sizeof(text))
			fail("write");
	burn(MS);
}

static void come(int signo)
{
	(void)signo;
	has_come = 1;
}

static void use_all(void)
{
	while (!has_come)
		burn(MS);
	puts("SIGXCPU");
}

static void use_all_caught(void)
{
	signal(SIGXCPU, come);
	use_all();
}

static const struct {
	const char *name;
	void (*run)(void);
} words[] = {
	{"plain", plain},      {"files", files}, {"threads", threads},       {"stack", stack},
	{"write", write_much}, {"cpu", use_all}, {"caught", use_all_caught},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc >= 2 && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(argv[1], words[i].name)) {
			words[i].run();
			if (argc > 2)
				sleep(STAY_S);
			puts("done");
			return fflush(stdout) ? 1 : 7;
		}
	return 2;
}
