/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stay HOW LIBRARY [OTHER]: loads LIBRARY and uses half a second of CPU time in it, after
 *
 *   plain      nothing
 *   deleted    its file was deleted
 *   replaced   OTHER was renamed to it
 *   hidden     the process was made non-dumpable: nobody but root reads its /proc
 *   chroot     the root was changed to OTHER, before; LIBRARY lies there
 *   copied     OTHER, a memfd's name, got its bytes, and was loaded in its stead
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long (*run_fn)(unsigned long);

static volatile unsigned long sink;

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void run_it(run_fn run)
{
	double until = cpu_seconds() + 0.5;

	while (cpu_seconds() < until)
		sink += run(300000);
}

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static const char *copy_to_memory(const char *path, const char *name)
{
	static char link[64];
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create(name, MFD_CLOEXEC);

	if (from < 0 || to < 0 || sendfile(to, from, NULL, 1 << 24) <= 0)
		fail(path);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", to);
	return link;
}

static int is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";
	run_fn run;
	void *handle;

	if (argc < 3)
		return 2;
	if (is(how, "chroot") && (chroot(argv[3]) || chdir("/")))
		fail("chroot");
	if (is(how, "copied"))
		path = copy_to_memory(path, argv[3]);
	if (is(how, "hidden"))
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	if (is(how, "deleted") && unlink(path))
		fail(path);
	if (is(how, "replaced") && rename(argv[3], path))
		fail(path);
	*(void **)(void *)&run = dlsym(handle, "plugin_run");
	run_it(run);
	return 0;
}
