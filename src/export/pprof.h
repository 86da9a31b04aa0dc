/* SPDX-License-Identifier: Apache-2.0 */
/* What pprof.c gathers and pprof_message.c writes. */
#ifndef WEFT_EXPORT_PPROF_H
#define WEFT_EXPORT_PPROF_H

#include "export/export.h"

struct pprof_sum {
	uint64_t samples, ns;
};

struct pprof {
	struct names strings; /* the string table: as there, 0 is "" */
	/* Samples of equal labels (strings: key and value each) and stack (of the model, and a 0),
	 * numbered from 1. */
	struct map *groups;
	struct pprof_sum *sums; /* of each group */
	size_t sum_room;
};

/* The exporter's end(): builds the message from x->state and writes it. */
int pprof_end(struct export_job *x);

#endif
