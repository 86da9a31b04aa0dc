/* SPDX-License-Identifier: Apache-2.0 */
/* One annotated function as text or JSON: docs/annotate.md. */
#ifndef WEFT_REPORT_ANNOTATE_VIEW_H
#define WEFT_REPORT_ANNOTATE_VIEW_H

#include "report/annotate/annotate.h"
#include "report/annotate/disassembly.h"
#include "report/read/source_text.h"
#include "report/show/layout.h"

#include <stdio.h>

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
