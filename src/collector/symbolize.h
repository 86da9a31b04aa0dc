/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a sample to a stack of the file: walks what the handler copied, by the tables of the
 * modules that the process has mapped, and has every frame named (naming.h). Used by the worker
 * thread.
 */
#ifndef WEFT_COLLECTOR_SYMBOLIZE_H
#define WEFT_COLLECTOR_SYMBOLIZE_H

#include "collector/modules.h"
#include "collector/process.h"

#include <weft/jfr.h>

struct symbolizer {
	struct modules *modules;
	struct tables *tables;
	struct weft_jfr_writer *writer;
	size_t jit_budget; /* bytes; see jit.h */
};

/*
 * symbolize() - the stack id of @sample, of which every length was checked. A walk that
 * ended early is counted in the process by its cause. @now_ns: for the pace of looking at
 * the mappings. 0 when there is no memory for it.
 */
uint64_t symbolize(struct symbolizer *s, struct process *p, const struct weft_sample_record *sample,
		   uint64_t now_ns);

/* Of a sample that is symbolized later: if it met code that is in no known module, the
 * mappings are looked at now, while it is there. */
void symbolize_notice(struct symbolizer *s, struct process *p,
		      const struct weft_sample_record *sample, uint64_t now_ns);

#endif
