/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program may begin under a seccomp filter that exec has handed down, and such a filter may kill
 * for a call that it does not know. So before the runtime asks anything of the kernel, it looks
 * whether there is one, by calls that the loader has just made itself: open, read and close of a
 * file. Filters that can be told apart only by their number are known not to kill when
 *
 *   - the first process of the PID namespace has as many: a container's own, which refuse;
 *   - WEFT_FILTERS says so: the command under which weft records has as many itself (filters are
 *     handed down and never taken away, so the same number is the same filters), or the user knows.
 *
 * All else is strange, and the process is left alone. The collector judges likewise
 * (src/collector/process/filters.c).
 */
#include "runtime/core/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/decimal.h"
#include "runtime/core/sys.h"

#define STATUS_BYTES 32768 /* groups have a line of any length before ours */
#define GET_SECCOMP 21     /* PR_GET_SECCOMP */

/* In libpthread on an older glibc. */
#pragma weak pthread_getcpuclockid

static WEFT_LARGE char status[STATUS_BYTES]; /* the constructor runs once */

/* The number behind the line's name; -1: there is no such line. */
static long filters_field(const char *name)
{
	const char *at = strstr(status, name);

	if (!at)
		return -1;
	at += strlen(name);
	return (long)number_parse(&at, 10);
}

/* How many filters there are; -1: not known. Older kernels tell only whether there are any. */
static long filters_count(const char *path)
{
	long bytes = sys_read_file(path, status, sizeof(status)), mode, count;

	if (bytes <= 0)
		return -1;
	mode = filters_field("\nSeccomp:\t");
	count = filters_field("\nSeccomp_filters:\t");
	if (mode < 0 && bytes == STATUS_BYTES - 1)
		return -1;
	if (mode <= 0)
		return 0; /* none, or a kernel that knows no filters */
	return count > 0 ? count : 1;
}

int weft_filters_are_strange(void)
{
	const char *known = secure_getenv("WEFT_FILTERS");
	long own = filters_count("/proc/self/status");

	if (own < 0) /* no /proc, or no descriptor left */
		return sys_call5(SYS_prctl, GET_SECCOMP, 0, 0, 0, 0) > 0;
	if (own == 0)
		return 0;
	if (known && *known && (long)number_parse(&known, 10) == own)
		return 0;
	return filters_count("/proc/1/status") != own;
}

/* libc knows it, and makes the number of the thread's CPU clock of it. */
int32_t weft_thread_number(void)
{
	clockid_t clock = 0;

	if (!pthread_getcpuclockid || pthread_getcpuclockid(pthread_self(), &clock) ||
	    ((uint32_t)clock & 7) != 6)
		return 0;
	return ~((int32_t)clock >> 3);
}
