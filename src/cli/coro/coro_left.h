/* SPDX-License-Identifier: Apache-2.0 */
/* What events a shared file of cTP holds, left over or in use: the last eight of each station. */
#ifndef WEFT_CLI_CORO_LEFT_H
#define WEFT_CLI_CORO_LEFT_H

#include "coro/engine/trace.h"

struct coro_left {
	struct coro_event *events; /* by time */
	size_t count;
	struct coro_books books;
	uint64_t mono_ns, real_ns, boot_ns; /* its engine's clocks, read together; 0 = not known */
};

/* 0; -EBADMSG: @path is no such file; -errno. Nothing is written to the file. */
int coro_left_read(struct coro_left *left, const char *path);
void coro_left_free(struct coro_left *left);

#endif
