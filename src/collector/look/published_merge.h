/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another library's context, added to a sample that may have one already: the precedence of
 * published.h. For samples from outside on the outside thread, for those of handlers on the
 * worker's.
 */
#ifndef WEFT_COLLECTOR_PUBLISHED_MERGE_H
#define WEFT_COLLECTOR_PUBLISHED_MERGE_H

#include "collector/look/published.h"
#include "reader/context/otel_payload.h"

struct published_merge {
	struct weft_sample_record *sample;
	uint8_t *labels;                 /* of it; LABEL_BYTES_MAX fit */
	int bytes;                       /* of these */
	int has_own_labels;              /* weft's, to which none are added */
	const struct otel_payload *keys; /* of @sample's process; NULL: none are known */
	struct session_counts *counts;
};

/* Is another library's context wanted alone? Then weft's own is dropped from a sample, but for its
 * labels, which the caller has. */
int published_drops_own(enum published_from from);
void published_drop_own(struct weft_sample_record *sample);

/* Adds @c, unless it tells another span or trace, which is counted. 1: something was added. */
int published_merge(struct published_merge *m, const struct live_context *c);

#endif
