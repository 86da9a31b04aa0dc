/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that tell where a thread-local variable is: "TID ADDRESS" for each that touched it,
 * "TID untouched" for one that did not, then "ready". Some block, some run, some come late, after
 * the library was loaded. Each line read from stdin is a step:
 *
 *	load FILE	ballast FILE	unload		threads COUNT	untouched
 *	spin COUNT	churn COUNT	leave (the first thread ends, the others stay)
 *	tell (each thread but the untouched ones touches it, and tells)
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 2000

typedef void *where_function(void);

#ifdef WHERE
void *the_variable_of_this_thread(void);
static where_function *_Atomic where = the_variable_of_this_thread;
#else
static where_function *_Atomic where;
#endif

/* What a thread of the crowd does when it is not telling. */
struct member {
	pthread_t id;
	int spins, touches;
};

static struct member crowd[THREADS_MAX];
static int crowd_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER, told = PTHREAD_COND_INITIALIZER;
static _Atomic int round_number;
static int told_count, begun_count;
static void *library;

static void tell(int touches)
{
	int tid = (int)syscall(SYS_gettid);

	if (touches)
		printf("%d %p\n", tid, where());
	else
		printf("%d untouched\n", tid);
}

/* A thread that runs looks at the round again and again; with pauses, for others want a CPU. */
static void await_round(const struct member *m, int done)
{
	if (m->spins) {
		while (round_number == done)
			for (volatile int i = 0; i < 10000; i++)
				;
		pthread_mutex_lock(&lock);
		return;
	}
	pthread_mutex_lock(&lock);
	while (round_number == done)
		pthread_cond_wait(&turn, &lock);
}

static void *member_runs(void *arg)
{
	const struct member *m = arg;
	int done;

	pthread_mutex_lock(&lock);
	done = round_number;
	begun_count++;
	pthread_cond_signal(&told);
	pthread_mutex_unlock(&lock);
	for (;;) {
		await_round(m, done);
		done = round_number;
		tell(m->touches);
		told_count++;
		pthread_cond_signal(&told);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void add_threads(int count, int spins, int touches)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 131072);
	for (int i = 0; i < count && crowd_count < THREADS_MAX; i++) {
		struct member *m = &crowd[crowd_count++];

		*m = (struct member){.spins = spins, .touches = touches};
		if (pthread_create(&m->id, &small, member_runs, m))
			exit(3);
	}
	pthread_mutex_lock(&lock);
	while (begun_count < crowd_count)
		pthread_cond_wait(&told, &lock);
	pthread_mutex_unlock(&lock);
}

static void *gone_at_once(void *arg)
{
	if (where)
		where();
	return arg;
}

static void *churn(void *arg)
{
	for (;;) {
		pthread_t id;

		if (pthread_create(&id, NULL, gone_at_once, NULL) == 0)
			pthread_join(id, NULL);
	}
	return arg;
}

static void all_tell(int is_first)
{
	pthread_mutex_lock(&lock);
	told_count = 0;
	round_number++;
	pthread_cond_broadcast(&turn);
	while (told_count < crowd_count)
		pthread_cond_wait(&told, &lock);
	if (is_first)
		tell(1);
	puts("ready");
	fflush(stdout);
	pthread_mutex_unlock(&lock);
}

static int load(const char *path, int is_ballast)
{
	void *loaded = dlopen(path, RTLD_NOW);

	if (!loaded || is_ballast) {
		printf("%s\n", loaded ? "loaded" : dlerror());
		fflush(stdout);
		return 0;
	}
	library = loaded;
	/* a function's address comes as an object's */
	void *found = dlsym(library, "the_variable_of_this_thread");
	where_function *function;

	memcpy(&function, &found, sizeof(function));
	where = function;
	printf("loaded\n");
	fflush(stdout);
	return 0;
}

static void step(char *line, int is_first)
{
	char *argument = strchr(line, ' ');
	int count;

	line[strcspn(line, "\n")] = 0;
	if (argument)
		*argument++ = 0;
	count = argument ? atoi(argument) : 0;
	if (strcmp(line, "load") == 0)
		load(argument, 0);
	else if (strcmp(line, "ballast") == 0)
		load(argument, 1);
	else if (strcmp(line, "unload") == 0)
		puts(dlclose(library) ? "failed" : "unloaded"), fflush(stdout);
	else if (strcmp(line, "threads") == 0)
		add_threads(count, 0, 1);
	else if (strcmp(line, "spin") == 0)
		add_threads(count, 1, 1);
	else if (strcmp(line, "untouched") == 0)
		add_threads(1, 0, 0);
	else if (strcmp(line, "no-robust-list") == 0)
		syscall(SYS_set_robust_list, NULL, 24);
	else if (strcmp(line, "tell") == 0)
		all_tell(is_first);
	for (; strcmp(line, "churn") == 0 && count > 0; count--) {
		pthread_t id;

		pthread_create(&id, NULL, churn, NULL);
	}
}

static void *steps(void *is_first)
{
	char line[1024];

	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "leave\n") == 0 && is_first) {
			pthread_t id;

			pthread_create(&id, NULL, steps, NULL);
			pthread_exit(NULL);
		}
		step(line, is_first != NULL);
	}
	exit(0);
	return NULL;
}

int main(void)
{
	static int first;

	alarm(600); /* whoever started it may be gone */
	steps(&first);
	return 0;
}
