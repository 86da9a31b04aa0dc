/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names code addresses: function, inlined functions, file and line. This looks into symbols and
 * DWARF, and may take seconds; walking (walking.h) never waits for it. Used by the worker thread.
 */
#ifndef WEFT_COLLECTOR_NAMING_H
#define WEFT_COLLECTOR_NAMING_H

#include "collector/walk/walking.h"
#include "collector/write/recording.h"
#include "elf/module.h"

struct naming {
	struct weft_jfr_writer *writer;
	struct map *known; /* code, address -> the frames there */
	/* elf_module_places(), but in tests, which need a slow one. */
	size_t (*places)(struct elf_module *m, uint64_t address, struct elf_place *out, size_t max);
	struct weft_jfr_frame frame[RECORDING_FRAMES_MAX]; /* of the newest trace */
};

int naming_init(struct naming *n); /* 0 or -ENOMEM; the writer is set later */
void naming_free(struct naming *n);

/*
 * naming_stack() - the stack of a sample of @p, as it goes into the file; files met are noted in
 * the process (recording_module()). Frames of weft itself are left out (own_frames.c). Where
 * inlined functions would make it longer than RECORDING_FRAMES_MAX, it is cut at the outer end.
 * Frames for which there is no memory are left out. Valid until the next is asked for.
 */
struct recording_trace naming_stack(struct naming *n, struct process *p,
				    const struct walked_stack *walked);

/* The same of an event: it begins at the program's call, before what libweft-waits.so made of it.
 */
struct recording_trace naming_event_stack(struct naming *n, struct process *p,
					  const struct walked_stack *walked);

/* The place where a coroutine suspended: one frame with its inlined functions, none if it is in no
 * known code. */
struct recording_trace naming_site(struct naming *n, struct process *p,
				   const struct walked_switch *placed);

#endif
