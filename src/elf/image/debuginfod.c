/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from debuginfod servers, by elfutils' client library: it reads
 * DEBUGINFOD_URLS and keeps a cache. The library (and libcurl with it) is loaded when a
 * file is first asked for: who never asks does not pay for its start.
 *
 * A server that does not answer costs TIME_MAX_S once: then no server is asked any more.
 */
#include "elf/image/debug_file.h"

#include <errno.h>

#ifdef WEFT_HAVE_DEBUGINFOD

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define TIME_MAX_S 30

struct library {
	debuginfod_client *(*begin)(void);
	int (*find)(debuginfod_client *, const unsigned char *, int, char **);
	void (*set_progress)(debuginfod_client *, debuginfod_progressfn_t);
	void (*set_data)(debuginfod_client *, void *);
	void *(*get_data)(debuginfod_client *);
	void (*end)(debuginfod_client *);
};

static struct library library;
static int has_library, has_given_up;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* POSIX lets a function pointer be had from dlsym() in this way only. */
static int debuginfod_find_symbol(void *handle, const char *name, void *out)
{
	*(void **)out = dlsym(handle, name);
	return *(void **)out != NULL;
}

static void debuginfod_load(void)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	void *handle = urls && urls[0] ? dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;

	has_library =
		handle && debuginfod_find_symbol(handle, "debuginfod_begin", &library.begin) &&
		debuginfod_find_symbol(handle, "debuginfod_find_debuginfo", &library.find) &&
		debuginfod_find_symbol(handle, "debuginfod_set_progressfn",
				       &library.set_progress) &&
		debuginfod_find_symbol(handle, "debuginfod_set_user_data", &library.set_data) &&
		debuginfod_find_symbol(handle, "debuginfod_get_user_data", &library.get_data) &&
		debuginfod_find_symbol(handle, "debuginfod_end", &library.end);
}

const char *elf_no_debuginfod(void)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);

	if (!urls || !urls[0])
		return "DEBUGINFOD_URLS is not set";
	pthread_once(&once, debuginfod_load);
	return has_library ? NULL : "libdebuginfod.so.1 cannot be loaded";
}

static int64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static int is_late(debuginfod_client *client, long a, long b)
{
	const int64_t *deadline_s = library.get_data(client);

	(void)a;
	(void)b;
	return now_s() >= *deadline_s;
}

static int debuginfod_ask(const uint8_t *build_id, size_t bytes)
{
	debuginfod_client *client = library.begin();
	int64_t deadline_s = now_s() + TIME_MAX_S;
	int fd;

	if (!client)
		return -ENOENT;
	library.set_data(client, &deadline_s);
	library.set_progress(client, is_late);
	fd = library.find(client, build_id, (int)bytes, NULL);
	library.end(client);
	if (fd < 0 && (fd == -ETIME || fd == -ETIMEDOUT || now_s() >= deadline_s))
		has_given_up = 1;
	return fd >= 0 ? fd : -ENOENT;
}

int debuginfod_open(const uint8_t *build_id, size_t bytes)
{
	int fd = -ENOENT;

	pthread_once(&once, debuginfod_load);
	pthread_mutex_lock(&lock);
	if (has_library && !has_given_up)
		fd = debuginfod_ask(build_id, bytes);
	pthread_mutex_unlock(&lock);
	return fd;
}

#else

const char *elf_no_debuginfod(void)
{
	return "weft was built without libdebuginfod";
}

int debuginfod_open(const uint8_t *build_id, size_t bytes)
{
	(void)build_id;
	(void)bytes;
	return -ENOENT;
}

#endif
