/* SPDX-License-Identifier: Apache-2.0 */
/* What pprof.c gathers and pprof_message.c writes. */
#ifndef WEFT_EXPORT_PPROF_H
#define WEFT_EXPORT_PPROF_H

#include "export/export.h"

/* Two numbers without padding: used as bytes of a key. */
struct pprof_label {
	uint32_t key, value; /* strings */
};

struct pprof_group {
	uint32_t stack;  /* in the model */
	uint32_t labels; /* where they begin in pprof.labels */
	uint32_t label_count;
	uint64_t samples, ns;
};

struct pprof {
	struct names strings; /* the string table: as there, 0 is "" */
	struct map *groups;   /* labels and stack -> index in group */
	struct pprof_group *group;
	struct pprof_label *labels;
	uint32_t group_count, label_count;
	size_t group_room, label_room;
};

/* The exporter's end(): builds the message from x->state and writes it. */
int pprof_end(struct export *x);

#endif
