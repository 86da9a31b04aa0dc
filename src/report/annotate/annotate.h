/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in one function the weight is: sums by source line and by offset of the code. A
 * function is a name in a module; its lines may be of several files. The file is read once:
 * every function that the name may mean is summed, and the closest match is chosen at the end.
 *
 * A sample counts once in the total of a line or offset that is on its stack; in self, if it ran
 * there. What runs in code inlined into a line is below that line, but at the offset itself.
 *
 *   annotate.c      sums by line and offset
 *   disassembly.c   the function's instructions
 *   annotate_view.h what both forms share
 *   annotate_text.c as text
 *   annotate_json.c as JSON
 */
#ifndef WEFT_REPORT_ANNOTATE_H
#define WEFT_REPORT_ANNOTATE_H

#include "report/read/source.h"
#include "report/read/where.h"

struct annotate_query {
	const char *path, *events, *function;
	struct where *wheres; /* stay as they are */
	size_t where_count;
	int no_inlines;
};

/* A function that may be meant, or a line of one, or an offset. Several functions may have one
 * name: file and line of an offset, those of the real function, tell whose it is. */
struct annotate_place {
	uint32_t function, module, file; /* ids in model.names; of a function file 0 */
	int32_t line;                    /* 0 = not known */
	int32_t offset;                  /* of a function or a line -1 */
	struct weight weight;
};

struct annotate_places {
	struct annotate_place *item;
	uint32_t count;
	size_t room;
	struct map *index;
};

struct annotate {
	struct source *source;
	const char *path;
	struct where *wheres; /* [where_count], bound to the model of the source */
	size_t where_count;
	struct annotate_places functions, lines, offsets;
	uint64_t read;       /* samples, whether they passed --where or not */
	uint64_t events;     /* that passed it */
	struct amount whole; /* what passed it */
	int is_sampled;      /* shares have an error: source_is_sampled() */
};

/* 0; -errno as source_open(). Then functions has the closest matches alone, heaviest first; lines
 * are sorted by function, file and line, offsets ascend. */
int annotate_run(struct annotate **out, const struct annotate_query *query);
void annotate_free(struct annotate *a);

/* Names in the recording that are most like one that it does not have. Returns how many. */
size_t annotate_nearest(const struct annotate *a, const char *wanted, const char **out, size_t max);

/* Is it a place of this function? */
int annotate_is_of(const struct annotate_place *p, const struct annotate_place *function);

#endif
