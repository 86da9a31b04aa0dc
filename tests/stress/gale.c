/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storms of processes and threads, each of which says what it is by the functions it works in.
 * Built once for each COLOUR, as gale-COLOUR; the programs exec one another.
 *
 *   gale execs PARENTS EACH   PARENTS processes at once, each EACH times: a child execs a program
 *                             of the next colour; by fork, vfork, posix_spawn, from a second
 *                             thread, from under a burning thread; every 16th is a chain
 *   gale chain LENGTH         burns, then execs the next colour with one less
 *   gale forks COUNT LOG      children, some of them with children, that burn in one of eight
 *                             functions; "PID NUMBER" of each in LOG
 *   gale threads COUNT        threads that burn in one of eight functions under a span whose
 *                             id ends in its number
 *
 * A child's exit status is a number that only it knows to be right. Prints how many there were
 * and how many did not end well; exit 1 if any did not. COLOUR's functions are burn_COLOUR and
 * rest_COLOUR, those of forks and threads burn_0 .. burn_7.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weft/context.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

#define CHAIN_LENGTH 12
#define FORKS_ALIVE 6
#define THREADS_ALIVE 16
#define STATUS 64 /* a leaf's: its number modulo this */

extern char **environ;

/* No two have the same code: the compiler would make one function of them. */
#define BURN(name)                                                                                 \
	uint64_t name(unsigned int turns);                                                         \
	__attribute__((noinline)) uint64_t name(unsigned int turns)                                \
	{                                                                                          \
		volatile uint64_t sum = 1;                                                         \
                                                                                                   \
		for (unsigned int i = 0; i < turns; i++)                                           \
			sum = sum * 31 + i + __COUNTER__;                                          \
		return sum;                                                                        \
	}

BURN(PASTE(burn_, COLOUR))
BURN(burn_0)
BURN(burn_1)
BURN(burn_2)
BURN(burn_3)
BURN(burn_4)
BURN(burn_5)
BURN(burn_6)
BURN(burn_7)

#define burn PASTE(burn_, COLOUR)
#define rest PASTE(rest_, COLOUR)

static uint64_t (*const burns[])(unsigned int) = {burn_0, burn_1, burn_2, burn_3,
						  burn_4, burn_5, burn_6, burn_7};
#define BURNS (sizeof(burns) / sizeof(burns[0]))

int rest(long ms);
__attribute__((noinline)) int rest(long ms)
{
	return nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- execs */

static const char *const colours[] = {"red", "green", "blue"};

static char *next_program(void)
{
	static char path[4096];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 16);
	size_t i = 0;

	if (bytes < 0)
		return NULL;
	path[bytes] = '\0';
	while (strcmp(colours[i], TEXT(COLOUR)))
		i++;
	strcpy(strrchr(path, '-') + 1, colours[(i + 1) % 3]);
	return path;
}

/* What is done in between: too short for a sample, mostly. */
static unsigned int turns_of(unsigned long number)
{
	return number % 8 ? 20000 + (unsigned int)(number % 7) * 20000 : 8000000;
}

static void *burn_on(void *unused)
{
	for (;;)
		burn(100000);
	return unused;
}

static void *exec_now(void *arg)
{
	char **command = arg;

	execv(command[0], command);
	_exit(127);
}

static void exec_beside(void *(*run)(void *), char **command)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, command))
		_exit(126);
}

static pid_t start_child(unsigned long number, char **command)
{
	const volatile int is_beside = number % 5 == 3;
	pid_t pid = -1;

	switch (number % 5) {
	case 0: /* nothing may be done here but exec */
		pid = vfork();
		if (pid == 0) {
			execv(command[0], command);
			_exit(127);
		}
		return pid;
	case 1:
		return posix_spawn(&pid, command[0], NULL, NULL, command, environ) ? -1 : pid;
	default:
		pid = fork();
	}
	if (pid)
		return pid;
	burn(turns_of(number / 5));
	if (number % 5 == 2)
		exec_beside(burn_on, NULL);
	if (is_beside)
		exec_beside(exec_now, command);
	while (is_beside)
		pause();
	exec_now(command);
	return -1;
}

/* 1 if it ended otherwise than by this status. */
static unsigned long ended_badly(pid_t pid, const char *what, unsigned long number, int wanted)
{
	int status = -1;

	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) == wanted)
		return 0;
	fprintf(stderr, "%s %lu: status 0x%x, not %d\n", what, number, (unsigned int)status,
		wanted);
	return 1;
}

static unsigned long exec_each(unsigned long each)
{
	unsigned long failed = 0;
	char text[24], length[24];
	char *leaf[] = {next_program(), (char[]){"leaf"}, text, NULL};
	char *chain[] = {leaf[0], (char[]){"chain"}, length, text, NULL};

	snprintf(length, sizeof(length), "%d", CHAIN_LENGTH - 1);
	for (unsigned long i = 0; i < each; i++) {
		int is_chain = i % 16 == 15;

		snprintf(text, sizeof(text), "%lu", i);
		failed += ended_badly(start_child(i, is_chain ? chain : leaf), "exec", i,
				      (int)(i % STATUS));
	}
	return failed;
}

static int exec_storm(unsigned long parents, unsigned long each)
{
	pid_t parent[64];
	unsigned long bad = 0, execs = parents * (each + each / 16 * (CHAIN_LENGTH - 1));

	parents = parents > 64 ? 64 : parents;
	for (unsigned long i = 0; i < parents; i++) {
		parent[i] = fork();
		if (parent[i] == 0)
			_exit(exec_each(each) ? 1 : 0);
	}
	for (unsigned long i = 0; i < parents; i++)
		bad += ended_badly(parent[i], "parent", i, 0);
	printf("%lu execs, %s\n", execs, bad ? "some failed" : "0 failed");
	return bad != 0;
}

/* The number is the status of the last one. */
static int chain(unsigned long left, char *number)
{
	char text[24];
	char *next[] = {next_program(), (char[]){"chain"}, text, number, NULL};

	burn(turns_of(left));
	if (left <= 1)
		return number ? (int)(strtoul(number, NULL, 10) % STATUS) : 0;
	snprintf(text, sizeof(text), "%lu", left - 1);
	if (left % 3 == 0)
		exec_beside(burn_on, NULL);
	execv(next[0], next);
	return 127;
}

static int leaf(unsigned long number)
{
	burn(turns_of(number));
	if (number % 16 == 3)
		rest(120);
	return (int)(number % STATUS);
}

/* ---- forks */

static void say_who(int log, size_t kind)
{
	char line[32];
	int bytes = snprintf(line, sizeof(line), "%d %zu\n", (int)getpid(), kind);

	if (write(log, line, (size_t)bytes) != bytes)
		_exit(125);
}

static void be_fork(int log, unsigned long number)
{
	size_t kind = number % BURNS;
	pid_t child = -1;

	say_who(log, kind);
	if (number % 5 == 0)
		child = fork();
	if (child == 0)
		say_who(log, kind);
	burns[kind](turns_of(number / BURNS));
	if (child > 0 && ended_badly(child, "grandchild", number, (int)(number % STATUS)))
		_exit(124);
	_exit((int)(number % STATUS));
}

static int fork_storm(unsigned long count, const char *path)
{
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	pid_t alive[FORKS_ALIVE];
	unsigned long failed = 0;
	pthread_t thread;

	if (log < 0 || pthread_create(&thread, NULL, burn_on, NULL))
		return 2;
	for (unsigned long i = 0; i < count + FORKS_ALIVE; i++) {
		unsigned long old = i - FORKS_ALIVE;

		if (i >= FORKS_ALIVE && old < count)
			failed += ended_badly(alive[i % FORKS_ALIVE], "fork", old,
					      (int)(old % STATUS));
		if (i >= count)
			continue;
		alive[i % FORKS_ALIVE] = fork();
		if (alive[i % FORKS_ALIVE] == 0)
			be_fork(log, i);
	}
	printf("%lu forks, %lu failed\n", count, failed);
	fflush(stdout);
	return failed != 0;
}

/* ---- threads */

/* An eighth of them never come back: they leave by pthread_exit, or are cancelled. */
static void *be_thread(void *arg)
{
	uint64_t number = (uint64_t)(uintptr_t)arg;
	size_t kind = number % BURNS;

	weft_context_set(number << 8 | kind, number);
	burns[kind](turns_of(number / BURNS));
	if (number % 16 == 1)
		pthread_exit(arg);
	if (number % 16 == 3)
		pthread_cancel(pthread_self());
	pthread_testcancel();
	return arg;
}

static int thread_storm(unsigned long count)
{
	pthread_t alive[THREADS_ALIVE];
	unsigned long failed = 0;

	for (unsigned long i = 0; i < count + THREADS_ALIVE; i++) {
		pthread_t *place = &alive[i % THREADS_ALIVE];
		unsigned long old = i - THREADS_ALIVE;
		void *result = NULL, *wanted = (void *)(uintptr_t)(old + 1);

		if (i >= THREADS_ALIVE && old < count)
			failed += pthread_join(*place, &result) ||
				  result != ((old + 1) % 16 == 3 ? PTHREAD_CANCELED : wanted);
		if (i < count && pthread_create(place, NULL, be_thread, (void *)(uintptr_t)(i + 1)))
			return 2;
	}
	printf("%lu threads, %lu failed\n", count, failed);
	return failed != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "execs") && argc > 3)
		return exec_storm(count, strtoul(argv[3], NULL, 10));
	if (!strcmp(what, "chain"))
		return chain(count, argc > 3 ? argv[3] : NULL);
	if (!strcmp(what, "leaf"))
		return leaf(count);
	if (!strcmp(what, "forks") && argc > 3)
		return fork_storm(count, argv[3]);
	if (!strcmp(what, "threads"))
		return thread_storm(count);
	fputs("usage: see the head of gale.c\n", stderr);
	return 2;
}
