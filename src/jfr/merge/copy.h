/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies events of other recordings into one, whatever their types are: by their metadata, and
 * without understanding them. A chunk becomes a chunk, with the events that are wanted and the
 * pool entries that these refer to.
 *
 *	copy_create(&c, fd, &clock);
 *	s = copy_source(c, reader, 0);
 *	while (reader_next_chunk(reader) > 0) {
 *		copy_chunk(s);
 *		while (weft_jfr_next_here(reader, &view) > 0)
 *			copy_event(s, &view, 0);
 *		copy_chunk_end(s, 0);
 *	}
 *	copy_close(c);
 *
 * Ids. A type keeps its number unless another type has it; types of several sources that have one
 * name and look the same, fields and all, are one. A pool entry has a key that no
 * other entry of the recording has, but:
 *   - words (simple types other than symbols) keep theirs where they can: converters know some of
 *     them by number; equal words are one entry;
 *   - a thread of one source has one key in all chunks, for context is joined by it.
 *
 * Metadata is the source's, numbers of types aside: elements, attributes, annotations, settings and
 * strings stay, also what nobody here knows.
 *
 * Clocks: a recording has one clock, for readers look at the first chunk's alone. A source whose
 * clock is the recording's keeps its ticks; of others each field that is annotated as ticks is
 * converted. Chunks are written in the order of the calls; their start times increase.
 *
 * Memory: one chunk, and for the whole recording names of types, words, and 100 bytes a thread.
 */
#ifndef WEFT_JFR_COPY_H
#define WEFT_JFR_COPY_H

#include <weft/jfr.h>

#include <stdint.h>

struct copy;
struct copy_source; /* a recording that is copied from; owned by the copy */

/* A moment on both clocks. */
struct copy_clock {
	int64_t ns, ticks, ticks_per_second;
};

/* All of these 0, or -errno of the file, or -ENOMEM. @fd stays the caller's. */
int copy_create(struct copy **out, int fd, const struct copy_clock *clock);

enum copy_source_flag {
	COPY_SAME_CLOCK = 1 << 0, /* its ticks are the recording's */
	COPY_OWN_NUMBERS =
		1 << 1, /* its jdk.ActiveSetting rows have the output's numbers already */
};

/* @flags: enum copy_source_flag. NULL: no memory. */
struct copy_source *copy_source(struct copy *c, struct weft_jfr_reader *r, unsigned int flags);

/* The chunk that the reader has open begins. */
int copy_chunk(struct copy_source *s);
/* An event that weft_jfr_next_here() gave; -EBADMSG: it does not fit its type, and is left out. */
int copy_event(struct copy_source *s, const struct weft_jfr_event_view *view, int without_stack);
/* The chunk is over: written if it has events, or @always. */
int copy_chunk_end(struct copy_source *s, int always);

/* The number that the type has in the recording. */
int64_t copy_type_id(struct copy_source *s, const struct weft_jfr_class *class);
uint64_t copy_chunks(const struct copy *c); /* that were written */

/* Marks the last chunk as such, syncs the file and closes it. Takes NULL. */
int copy_close(struct copy *c);

#endif
