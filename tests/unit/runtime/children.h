/* SPDX-License-Identifier: Apache-2.0 */
/* Forked children that judge something and say so by their status. */
#ifndef TESTS_UNIT_RUNTIME_CHILDREN_H
#define TESTS_UNIT_RUNTIME_CHILDREN_H

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static inline int child_status(pid_t child)
{
	int status = -1;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Are words wiped in a child? qemu-user says yes to every madvise and does none of them. */
static inline int forks_wipe(void)
{
	uint32_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK))
		return 0;
	*page = 1;
	child = fork();
	if (child == 0)
		_exit(*page != 0);
	return child_status(child) == 0;
}

#endif
