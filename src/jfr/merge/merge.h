/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several recordings into one, filtered by settings (filter.h) and copied (copy.h), chunk by chunk
 * in order of their start. Events jdk.ActiveSetting at the end say which settings were applied.
 *
 * Ticks stay as they are where all chunks are on one clock (to 5 ms) and in order; else they become
 * nanoseconds. Each recording is filtered by itself: threads and throttles are its own.
 *
 *   merge.c          recordings, in order of time
 *   merge_settings.c what settings were applied
 *   copy.c           events, by their metadata alone
 *   copy_metadata.c  declarations, renumbered
 *   copy_types.c     types of the output
 *   copy_value.c     values, by their classes
 *   copy_pool.c      references, renumbered
 *   copy_private.h   between these
 *   filter.c         which events settings keep
 *   filter_rule.c    what they say of a type
 *   filter_order.c   events in order of time
 *   filter_private.h between these
 */
#ifndef WEFT_JFR_MERGE_H
#define WEFT_JFR_MERGE_H

#include <stddef.h>
#include <stdint.h>

struct merge {
	const char *const *paths; /* of recordings */
	size_t count;
	int output;        /* a descriptor; it stays the caller's */
	const char *lines; /* weft_jfr_settings_lines(); "" = keep everything */
	/* Called for a damaged recording, of which what came before the damage is merged. @why: of
	 * weft_jfr_error(). */
	void (*damaged)(const char *path, const char *why);
	/* Called once for each type whose value of select cannot be, which is `all` then. */
	void (*wrong_select)(const char *event);

	/* what became of it */
	uint64_t events, kept;
	const char *failed; /* the recording that could not be opened; NULL = it is the output */
};

/*
 * 0: the output is whole, also when damaged() was called. -errno: of opening a recording (as of
 * weft_jfr_open()) or of writing; -ENODATA: no chunk of any is whole. Then it is not to be used.
 */
int merge_run(struct merge *m);

#endif
