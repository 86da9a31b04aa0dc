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
 *   annotate_text.c as text
 *   annotate_json.c as JSON
 */
#ifndef WEFT_REPORT_ANNOTATE_H
#define WEFT_REPORT_ANNOTATE_H

#include "report/read/source.h"
#include "report/read/source_text.h"
#include "report/read/where.h"
#include "report/show/layout.h"

#include <stdio.h>

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

/* ---- the code of a function, in disassembly.c
 *
 * It is that of the file that was running: one with another build-id is never disassembled in its
 * place. Instructions by capstone, where weft was built with it.
 */

struct instruction {
	uint64_t address; /* in the file */
	int32_t offset;   /* in the function; 0 where one begins */
	uint32_t bytes;
	const char *text; /* "add rax, rbx" */
	const char *file; /* its line of source; NULL = not known */
	int line;
};

struct disassembly {
	struct instruction *item;
	size_t count;
	uint64_t *places; /* of annotate.offsets: addresses in the file; 0 = not known */
	char *path;       /* of the file */
	int is_certain;   /* its build-id is the recorded one; else there is none in either */
	struct names texts;
	struct elf_module *module;
};

#define DISASSEMBLY_WHY 512

/*
 * disassembly_open() - the code of @f; of all functions of its name that have weight, where the
 * lines in the recording tell them apart. 0; -ENOENT and @why, a sentence for people; -ENOMEM.
 */
int disassembly_open(struct disassembly **out, const struct annotate *a,
		     const struct annotate_place *f, const struct source_places *places,
		     char why[DISASSEMBLY_WHY]);

/* Sums the weights of all offsets in @i: 1; 0: there are none. */
int disassembly_weight(const struct disassembly *d, const struct annotate *a,
		       const struct instruction *i, struct weight *sum);
void disassembly_free(struct disassembly *d); /* takes NULL */

/* ---- one annotated function as text or JSON: docs/annotate.md */

struct annotate_view {
	struct source_places places;
	int disassemble; /* code even where there is source */
	struct text_style style;
};

/* Both: 0; -ENOENT: neither source nor code is there, and what is known was printed, with what to
 * do about it; -ENOMEM. Errors of @out stay in it. */
int annotate_text(const struct annotate *a, const struct annotate_place *f,
		  const struct annotate_view *view, FILE *out);
int annotate_json(const struct annotate *a, const struct annotate_place *f,
		  const struct annotate_view *view, FILE *out);

/* Prints "name in module". */
void annotate_print_function(const struct annotate *a, const struct annotate_place *f, FILE *out);

/* The lines of a function in one file, ascending: the first may be 0, what has no line. */
struct annotate_lines {
	const struct annotate_place *line;
	size_t count;
};
/* The next file that has lines of the function, from zeros on: 1; 0 at the end. */
int annotate_next_file(const struct annotate *a, const struct annotate_place *f,
		       struct annotate_lines *lines);

#endif
