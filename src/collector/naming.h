/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a code address of a process to the frames that people read. Walking is symbolize.h's;
 * here is everything that looks into symbols. Used by the worker thread.
 */
#ifndef WEFT_COLLECTOR_NAMING_H
#define WEFT_COLLECTOR_NAMING_H

#include "collector/process.h"

#include <weft/jfr.h>

/*
 * naming_frames() - the frames of @pc, innermost first: at most @max (>= 1), the real
 * function among them. @pc is the address to look up: for a return address the last byte of
 * the call. @m is the mapping that held it, NULL where none is known; it is read, not kept.
 * Returns the number, 0 when there is no memory for it.
 */
size_t naming_frames(struct weft_jfr_writer *writer, struct process *p, const struct mapping *m,
		     uint64_t pc, struct weft_jfr_frame *out, size_t max);

/* Frees a cache (process.functions), NULL too. */
void naming_free(struct map *functions);

#endif
