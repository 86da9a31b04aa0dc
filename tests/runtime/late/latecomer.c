/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that loads the runtime when it runs already:
 *
 *   latecomer [-f FOLDER] [-e LIBRARY] [-p PLUGIN] [-g CALLS] [-k] LIBRARY BEFORE AFTER MS
 *
 * BEFORE threads run before LIBRARY is opened and AFTER begin behind it; each burns MS under
 * span 0x100 + its number, that of PLUGIN (opened behind LIBRARY) under 0x900, the main thread
 * under 0xAA. -f: first all of FOLDER's large-*.so and small-*.so are opened, the former until
 * one fails, then the latter. -e: that one must then fail. -g: CALLS threads begin while PLUGIN
 * is opened and closed. -k: a child burns under the context of its parent. Prints what it saw,
 * a line each.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WEFT_LATE
#include <weft/context.h>

#include "latecomer.h"

static void (*context_write)(const struct weft_context *context);
static volatile int is_open;
static long ms;

static void set_span(uint64_t span)
{
	struct weft_context context = {.span_id = span, .root_span_id = 1};

	if (context_write)
		context_write(&context);
}

static void *early(void *arg)
{
	struct timespec t = {.tv_nsec = 1000000};

	while (!is_open)
		nanosleep(&t, NULL);
	set_span((uint64_t)(uintptr_t)arg);
	burn_ms(ms);
	return NULL;
}

static void *later(void *arg)
{
	set_span((uint64_t)(uintptr_t)arg);
	burn_ms(ms);
	return NULL;
}

static int begin(pthread_t *threads, long count, void *(*run)(void *), long first)
{
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(0x100 + first + i)))
			return 1;
	return 0;
}

/* How many of FOLDER/PREFIX-*.so could be opened, and whether one could not. */
static int fill(const char *folder, const char *prefix)
{
	char path[4096];
	int opened = 0;

	for (int i = 1; i <= 60; i++, opened++) {
		snprintf(path, sizeof(path), "%s/%s-%d.so", folder, prefix, i);
		if (!dlopen(path, RTLD_NOW)) {
			printf("%s: %d opened, then: %s\n", prefix, opened, dlerror());
			return 1;
		}
	}
	printf("%s: all opened\n", prefix);
	return 0;
}

static int must_fail(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);

	printf("libweft.so: %s\n", handle ? "opened" : dlerror());
	return handle != NULL;
}

static int open_library(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	const char *error = dlerror();

	if (!handle || error) {
		printf("%s: %s\n", library, error ? error : "no error");
		return 1;
	}
	context_write = (void (*)(const struct weft_context *))dlsym(handle, "weft_context_write");
	return !context_write;
}

static int use_plugin(const char *plugin)
{
	void *handle = dlopen(plugin, RTLD_NOW);
	int (*run)(long, void (*)(uint64_t));

	if (!handle) {
		printf("plugin: %s\n", dlerror());
		return 1;
	}
	run = (int (*)(long, void (*)(uint64_t)))dlsym(handle, "run_plugin");
	return !run || run(ms, set_span);
}

static volatile int enough;

static void *come_and_go(void *plugin)
{
	while (!enough) {
		void *handle = dlopen(plugin, RTLD_NOW);

		if (handle)
			dlclose(handle);
	}
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

/* Threads begin while a library comes and goes. */
static int churn(const char *plugin, long calls)
{
	pthread_t other, thread;

	if (pthread_create(&other, NULL, come_and_go, (void *)(uintptr_t)plugin))
		return 1;
	for (long i = 0; i < calls; i++)
		if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
			return 1;
	enough = 1;
	return pthread_join(other, NULL);
}

static int fork_one(void)
{
	int status = 0;
	pid_t pid;

	set_span(0xBB);
	pid = fork();
	if (pid == 0) {
		burn_ms(ms);
		set_span(0xCC);
		burn_ms(ms);
		_exit(0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	const char *folder = NULL, *failing = NULL, *plugin = NULL;
	pthread_t before[1000], after[1000];
	long count_before, count_after, calls = 0;
	int option, failed = 0, forks = 0;

	while ((option = getopt(argc, argv, "f:e:p:g:k")) > 0) {
		if (option == 'f')
			folder = optarg;
		else if (option == 'e')
			failing = optarg;
		else if (option == 'p')
			plugin = optarg;
		else if (option == 'k')
			forks = 1;
		else
			calls = atol(optarg);
	}
	if (argc - optind != 4)
		return 2;
	count_before = atol(argv[optind + 1]);
	count_after = atol(argv[optind + 2]);
	ms = atol(argv[optind + 3]);
	if (folder)
		failed |= !fill(folder, "large") | !fill(folder, "small");
	failed |= begin(before, count_before, early, 0);
	if (failing)
		failed |= must_fail(failing);
	failed |= open_library(argv[optind]);
	is_open = 1;
	failed |= begin(after, count_after, later, count_before);
	if (plugin && calls)
		failed |= churn(plugin, calls);
	if (plugin)
		failed |= use_plugin(plugin);
	if (forks)
		failed |= fork_one();
	set_span(0xAA);
	burn_ms(ms);
	for (long i = 0; i < count_before; i++)
		pthread_join(before[i], NULL);
	for (long i = 0; i < count_after; i++)
		pthread_join(after[i], NULL);
	puts(failed ? "failed" : "done");
	return failed;
}
