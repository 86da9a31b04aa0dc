/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One time for events of all chunks, to compare them by. Each chunk's header has a clock of its
 * own, started anew: by microseconds another than that of the chunk before, more on a loaded
 * machine. Ticks go on, though, and order the events of a thread as they happened; so the first
 * clock holds for all chunks whose own says about the same. A chunk whose ticks are counted
 * otherwise (another machine's, another start of it) begins a new one.
 */
#ifndef WEFT_PRINT_COMMON_TIME_H
#define WEFT_PRINT_COMMON_TIME_H

#include <weft/jfr.h>

#include <stdint.h>

struct common_time { /* starts as zeros */
	int64_t start_ns, start_ticks, ticks_per_second;
};

/* Is the chunk's clock no more than @off_ns, and one @part of the time between them, from this one?
 * @part 0: no part of it. */
int common_time_agrees(const struct common_time *t, const struct weft_jfr_chunk_view *chunk,
		       int64_t off_ns, int64_t part);
void common_time_set(struct common_time *t, const struct weft_jfr_chunk_view *chunk);
/* Before the events of a chunk, in the order of the file. */
void common_time_enter(struct common_time *t, const struct weft_jfr_chunk_view *chunk);
/* When an event of that chunk started and ended; saturate. */
int64_t common_time_start(const struct common_time *t, const struct weft_jfr_event_view *e);
int64_t common_time_end(const struct common_time *t, const struct weft_jfr_event_view *e);

#endif
