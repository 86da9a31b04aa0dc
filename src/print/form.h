/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three forms of print: text, JSON, XML, each a file with one const table entry, equal in
 * shape to what the JDK's `jfr print` writes.
 *
 * A form writes one event at a time and knows nothing of their order or of files. The contexts
 * around an event were written into memory before, by context() of the same form.
 */
#ifndef WEFT_PRINT_FORM_H
#define WEFT_PRINT_FORM_H

#include "base/text/sink.h"
#include "print/plan.h"

#include <weft/jfr.h>

/* What is being written, for all functions of a form. */
struct walk {
	struct sink *s;
	struct plan_table *plans;
	struct weft_jfr_chunk_view chunk;
	uint64_t stack_depth;   /* frames shown of a stack */
	int64_t array_elements; /* of the event that is being written; <= 0: it has none */
	/* Values that this event may still have: entries of pools are shared, so that a small file
	 * can hold an endless value. Beyond it all are null, and is_cut is set. */
	uint64_t budget;
	int is_cut;
};

struct context_text {
	const char *text;
	size_t bytes;
};

/* One event; @contexts: what is open around it, the outermost first; NULL = not asked for. */
struct form_event {
	struct plan *plan;
	const struct weft_jfr_event_view *view;
	const struct context_text *contexts;
	size_t context_count;
	int is_first; /* of the whole output */
};

struct form {
	plan_key *key;
	const char *begin;
	const char *end;
	void (*event)(struct walk *w, const struct form_event *e);
	/* The contextual fields of an event, as they stand within others. */
	void (*context)(struct walk *w, struct plan *p, const struct weft_jfr_event_view *e);
};

extern const struct form form_text, form_json, form_xml;

/* Is there room for one more value? */
static inline int walk_spend(struct walk *w)
{
	if (w->budget) {
		w->budget--;
		return 1;
	}
	w->is_cut = 1;
	return 0;
}

/* The plan of a STRUCT node, the value of field @f if not NULL. NULL: no memory. */
struct plan *walk_plan(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n);
/* How many elements of an array are shown. */
size_t walk_shown(const struct walk *w, struct plan_field *f, const struct weft_jfr_node *n);
/* A span or point in ISO form. Returns the length, 0: it is neither. */
size_t walk_iso(const struct walk *w, const struct plan_field *f, int64_t number,
		char out[TIMES_ROOM]);
/* A number that is neither: true, 12, 0.5. */
void walk_number(struct walk *w, const struct plan_field *f, const struct weft_jfr_node *n);

#endif
