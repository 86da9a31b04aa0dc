/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine leaves beside the shared file, so that another one can go on where it stopped,
 * however it ended: its cursors (station.h), in a file that is mapped, and how much of its output
 * was written. NAME.progress beside NAME.
 *
 *   0       head, 16384 bytes
 *   16384   a cursor of 128 bytes for each station
 *
 * Cursors move when events are taken, `delivered` after events are in the output. What lies
 * between when an engine is killed is lost, and known: events harvested by the cursors, less
 * those delivered. Lines behind `output_bytes` were delivered, too.
 */
#ifndef WEFT_CORO_PROGRESS_H
#define WEFT_CORO_PROGRESS_H

#include <limits.h>

#include "coro/engine/shm.h"

#define PROGRESS_MAGIC UINT64_C(0x3153535047524F43) /* "CORGPSS1" */
#define PROGRESS_HEAD_BYTES 16384

struct progress_head {
	uint64_t magic, device, inode; /* of the shared file */
	uint64_t stations;
	uint64_t delivered;    /* events, by all engines so far */
	uint64_t rsv;          /* 0 */
	uint64_t output_bytes; /* of the output, when `delivered` was stored */
	uint64_t output_device, output_inode;
	char output[PATH_MAX], socket[PATH_MAX];
};
_Static_assert(sizeof(struct progress_head) <= PROGRESS_HEAD_BYTES, "progress head");

struct progress {
	struct progress_head *head;
	void *cursors;
	uint64_t bytes;
	char path[PATH_MAX + 16];
};

int progress_create(struct progress *p, const char *shm_path, const struct coro_shm *shm);
/* -ENOENT: none there; -EBADMSG: of another file. */
int progress_open(struct progress *p, const char *shm_path, const struct coro_shm *shm);
/* Where the output lies, and how long it is now. NULL: somewhere that cannot be looked at. */
void progress_output(struct progress *p, const char *path);
/* @delivered events are in the output now. */
void progress_tell(struct progress *p, uint64_t delivered);
/* After progress_open(): counts what the engine before wrote and could not tell of any more, and
 * cuts a line that is not whole off the output's end. */
void progress_recover(struct progress *p);
/* Is @path the output that was written to? */
int progress_is_output(const struct progress *p, const char *path);
void progress_close(struct progress *p, int remove);
/* Takes away what an engine left beside a file that is replaced. */
void progress_remove_left_over(const char *shm_path);

#endif
