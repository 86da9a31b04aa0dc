/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library as an allocator is while it begins, before weft's own constructor: it holds its lock,
 * and makes system calls by libc's functions. Who looks a name up meanwhile may need memory, for
 * the text of an error for one, and would wait for that lock for ever: it ends the program with 66.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_locked;

void *dlsym(void *restrict handle, const char *restrict name)
{
	static const char message[] = "early: dlsym while the allocator's lock is held\n";
	static void *(*next)(void *handle, const char *name);
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};

	if (is_locked) {
		(void)!write(STDERR_FILENO, message, sizeof(message) - 1);
		_exit(66);
	}
	for (size_t i = 0; !next && i < sizeof(versions) / sizeof(*versions); i++)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	return next ? next(handle, name) : NULL;
}

static __attribute__((constructor)) void early(void)
{
	char name[16];
	void *page;

	is_locked = 1;
	if (syscall(SYS_getpid) != getpid() || prctl(PR_GET_NAME, name, 0, 0, 0))
		_exit(67);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_WRITE) ||
	    munmap(page, 4096))
		_exit(68);
	is_locked = 0;
}
