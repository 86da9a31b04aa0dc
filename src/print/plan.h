/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How values of each class are printed: found out once for a class, from its name and the
 * annotations of its fields. Plans live as long as their table; classes as long as the reader.
 */
#ifndef WEFT_PRINT_PLAN_H
#define WEFT_PRINT_PLAN_H

#include "base/text/sink.h"
#include "print/times.h"

#include <weft/jfr.h>

enum plan_kind {
	PLAN_NUMBER, /* byte .. short, and what is not known */
	PLAN_INT,
	PLAN_LONG,
	PLAN_BOOLEAN,
	PLAN_CHAR,
	PLAN_FLOAT,
	PLAN_DOUBLE,
	PLAN_STRING,
	PLAN_STRUCT, /* a class with fields */
};

/* What a number means, by annotations of content types. */
enum plan_meaning {
	PLAN_PLAIN,
	PLAN_SPAN,
	PLAN_POINT,
	PLAN_PERCENTAGE,
	PLAN_AMOUNT,
	PLAN_ADDRESS,
	PLAN_HERTZ,
};

/* Classes that the text form knows. */
enum plan_class {
	PLAN_OBJECT,
	PLAN_THREAD,
	PLAN_CLASS,
	PLAN_LOADER,
	PLAN_METHOD,
	PLAN_FRAME,
	PLAN_OLD_OBJECT,
};

struct plan_field {
	const char *name;
	const char *key; /* as the form writes it before the value */
	size_t key_bytes;
	const struct weft_jfr_class *class; /* of the value; NULL = not declared */
	struct plan *plan;                  /* of a PLAN_STRUCT, once asked for */
	enum plan_kind kind;
	enum plan_meaning meaning;
	enum time_unit unit;
	enum amount_unit amount;
	uint8_t is_contextual;
	uint8_t is_own; /* not the event's times, thread or stack */
};

struct plan {
	const struct weft_jfr_class *class;
	enum plan_class known;
	struct plan_field *fields;
	size_t count;
	int thread, stack, elements; /* index of eventThread, stackTrace, arrayElements; or < 0 */
	int is_contextual;           /* events of it are context for others */
	int is_wanted;               /* set by who made the table */
	const char *simple;          /* its name without package */
};

struct plan_table;

/* Writes what stands before a field's value. */
typedef void plan_key(struct sink *s, const char *field);

struct plan_table *plan_table_new(plan_key *key,
				  int (*is_wanted)(const struct weft_jfr_class *, void *arg),
				  void *arg);
void plan_table_free(struct plan_table *t);
/* NULL: no memory. */
struct plan *plan_of(struct plan_table *t, const struct weft_jfr_class *class);
/* The plan of a field's values; NULL: they have none, or no memory. */
struct plan *plan_below(struct plan_table *t, struct plan_field *f);

#endif
