/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by recording.c and recording_counts.c alone. */
#ifndef WEFT_COLLECTOR_RECORDING_PRIVATE_H
#define WEFT_COLLECTOR_RECORDING_PRIVATE_H

#include "collector/recording.h"
#include "collector/recording_types.h"

#include <string.h>

struct recording {
	struct weft_jfr_writer *writer;
	struct weft_jfr_type *sample, *setting, *counter, *histogram, *recording, *process, *module;
	struct weft_jfr_type *tagged; /* weft.Span, or the sample type with --inline-context */
	struct tag_columns tags;
	size_t columns; /* of tags: those that `tagged` was declared with */

	struct process *first; /* all whose rows are not in the file yet */
	uint64_t start_ns, chunk_start_ns, period_ns, chunk_bytes;
	char *path, *version, *command_line, *stack_mode;
	char id[17];
	pid_t pid;
	int inline_context;
	int error;
	uint64_t chunk_samples, samples,
		samples_lost; /* in the open chunk, in the file, in neither */
};

static inline struct weft_jfr_string text_value(const char *text)
{
	return (struct weft_jfr_string){text, text ? strlen(text) : 0};
}

void recording_put(struct recording *r, const struct weft_jfr_type *type,
		   const struct weft_jfr_value *values, size_t count);

/* Counter and histogram rows of one process: what has changed since the last. */
void recording_counts(struct recording *r, struct process *p, uint64_t now_ns);

/* The chunk with these rows reached the file, or did not: then they are put again. */
void recording_counts_settle(struct process *p, int reached);

#endif
