/* SPDX-License-Identifier: Apache-2.0 */
/* Where coroutines are read from: a shared file, found by a process that writes to it; and the
 * names of their addresses. */
#ifndef WEFT_CORO_SOURCE_H
#define WEFT_CORO_SOURCE_H

#include "coro/engine/shm.h"
#include "coro/engine/snapshot.h"
#include "coro/look/names.h"

struct coro_source {
	char *path;
	struct coro_shm shm;
	struct coro_names *names;
	struct map *pids; /* processes whose mappings were asked for */
	int is_live;      /* somebody has it mapped: its times go on */
};

/* The shared file that a process writes to, allocated. 0; -ENODATA: it writes to none; or the
 * -errno for which it cannot be looked at. */
int coro_source_of_pid(pid_t pid, char **path);
/* Of all processes that may be looked at: the first file, and one that is another, allocated; NULL
 * where there is none. */
void coro_source_in_use(char *path[2]);

/* 0 or -errno, and then there is nothing to be closed; -EBADMSG: not a shared file of cTP. */
int coro_source_open(struct coro_source *s, const char *path);
void coro_source_close(struct coro_source *s);

/* The time now for a file in use; for a left-over one, the time of the last event in it. */
uint64_t coro_source_now_ns(const struct coro_source *s);

/* Coroutines that found no station. */
uint64_t coro_source_refused(const struct coro_source *s);

/* Name of an address in a process that the file tells of; its mappings are read at the first. */
const char *coro_source_name(struct coro_source *s, uint32_t pid, uint64_t address,
			     char out[CORO_NAME_BYTES]);

/* "created", "running" ... */
const char *coro_state_text(uint8_t state);

#define CORO_CONTEXT_BYTES 512
/* "trace=... span=... key=value ...", "" = none. Returns @out. */
const char *coro_context_text(const struct weft_ctp_context_prefix *prefix,
			      const struct weft_ctp_context *labels, char out[CORO_CONTEXT_BYTES]);

#endif
