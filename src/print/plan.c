/* SPDX-License-Identifier: Apache-2.0 */
/* Plans are made when a class is first met, and kept by its address. */
#include "print/plan.h"

#include "base/map.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdlib.h>

struct plan_table {
	plan_key *key;
	int (*is_wanted)(const struct weft_jfr_class *class, void *arg);
	void *arg;
	struct sink scratch;
	struct map *plans; /* address of a class -> address of its plan */
};

struct plan_table *plan_table_new(plan_key *key,
				  int (*is_wanted)(const struct weft_jfr_class *class, void *arg),
				  void *arg)
{
	struct plan_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct plan_table){
		.key = key, .is_wanted = is_wanted, .arg = arg, .plans = map_new()};
	if (t->plans && !sink_open(&t->scratch, NULL))
		return t;
	plan_table_free(t);
	return NULL;
}

static void free_plan(void *plan)
{
	struct plan *p = plan;

	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		free((void *)(uintptr_t)p->fields[i].key);
	free(p->fields);
	free(p);
}

void plan_table_free(struct plan_table *t)
{
	if (!t)
		return;
	map_free_values(t->plans, free_plan);
	sink_close(&t->scratch);
	free(t);
}

/* ---------------------------------------------------------------- fields */

/* The index of a name; 0: it is not known. */
static size_t plan_index(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 1; i < count; i++)
		if (names[i] && !strcmp(names[i], name))
			return i;
	return 0;
}

static const char *const kinds[] = {
	[PLAN_INT] = "int",
	[PLAN_LONG] = "long",
	[PLAN_BOOLEAN] = "boolean",
	[PLAN_CHAR] = "char",
	[PLAN_FLOAT] = "float",
	[PLAN_DOUBLE] = "double",
	[PLAN_STRING] = "java.lang.String",
};

static const char *const time_units[] = {
	[TIME_NS] = "NANOSECONDS",
	[TIME_US] = "MICROSECONDS",
	[TIME_MS] = "MILLISECONDS",
	[TIME_S] = "SECONDS",
	[TIME_EPOCH_NS] = "NANOSECONDS_SINCE_EPOCH",
	[TIME_EPOCH_MS] = "MILLISECONDS_SINCE_EPOCH",
	[TIME_EPOCH_S] = "SECONDS_SINCE_EPOCH",
};

static const char *const known_classes[] = {
	[PLAN_THREAD] = "java.lang.Thread",      [PLAN_CLASS] = "java.lang.Class",
	[PLAN_LOADER] = "jdk.types.ClassLoader", [PLAN_METHOD] = "jdk.types.Method",
	[PLAN_FRAME] = "jdk.types.StackFrame",   [PLAN_OLD_OBJECT] = "jdk.types.OldObject",
};

static const char *const own_fields[] = {NULL, "startTime", "duration", "eventThread",
					 "stackTrace"};

#define COUNT(names) (sizeof(names) / sizeof(*(names)))

/* A simple class is what its only field is; one may hold another, but not for ever. */
static enum plan_kind plan_kind_of(const struct weft_jfr_class *class)
{
	struct weft_jfr_field_view f;

	for (int depth = 0; class && depth < 16 && weft_jfr_class_is_simple(class); depth++) {
		weft_jfr_class_field_view(class, 0, &f);
		class = f.type;
	}
	if (!class)
		return PLAN_NUMBER;
	if (weft_jfr_class_fields(class))
		return PLAN_STRUCT;
	return (enum plan_kind)plan_index(kinds, COUNT(kinds), weft_jfr_class_name(class));
}

static int is_content(const struct weft_jfr_class *class, size_t index)
{
	const struct weft_jfr_annotation_view *a;
	size_t count = weft_jfr_class_annotations(class, index, &a);

	for (size_t i = 0; i < count; i++)
		if (a[i].type && weft_jfr_class_annotated(a[i].type, NULL, "jdk.jfr.ContentType"))
			return 1;
	return 0;
}

static const char *plan_note(const struct weft_jfr_class *class, size_t index, const char *name)
{
	const struct weft_jfr_annotation_view *a;
	size_t count = weft_jfr_class_annotations(class, index, &a);

	return annotation_value(a, count, name);
}

static void find_meaning(struct plan_field *f, const struct weft_jfr_class *class, size_t index)
{
	const char *span = plan_note(class, index, "jdk.jfr.Timespan");
	const char *point = plan_note(class, index, "jdk.jfr.Timestamp");
	const char *amount = plan_note(class, index, "jdk.jfr.DataAmount");
	int rate = plan_note(class, index, "jdk.jfr.Frequency") != NULL;

	if (span) {
		f->meaning = PLAN_SPAN;
		f->unit = (enum time_unit)plan_index(time_units, COUNT(time_units), span);
	} else if (point) {
		f->meaning = PLAN_POINT;
		f->unit = (enum time_unit)plan_index(time_units, COUNT(time_units), point);
	} else if (!is_content(class, index)) {
		f->meaning = PLAN_PLAIN;
	} else if (plan_note(class, index, "jdk.jfr.Percentage")) {
		f->meaning = PLAN_PERCENTAGE;
	} else if (amount && (!strcmp(amount, "BYTES") || !strcmp(amount, "BITS"))) {
		f->meaning = PLAN_AMOUNT;
		if (amount[1] == 'Y')
			f->amount = rate ? AMOUNT_BYTES_PER_S : AMOUNT_BYTES;
		else
			f->amount = rate ? AMOUNT_BITS_PER_S : AMOUNT_BITS;
	} else if (plan_note(class, index, "jdk.jfr.MemoryAddress")) {
		f->meaning = PLAN_ADDRESS;
	} else if (rate) {
		f->meaning = PLAN_HERTZ;
	}
}

static int plan_field(struct plan_table *t, struct plan *p, size_t index)
{
	struct plan_field *f = &p->fields[index];
	struct weft_jfr_field_view view;

	if (weft_jfr_class_field_view(p->class, index, &view))
		return -EINVAL;
	f->name = view.name;
	f->class = view.type;
	f->kind = plan_kind_of(view.type);
	if (f->kind != PLAN_STRUCT)
		find_meaning(f, p->class, index);
	f->is_own = !plan_index(own_fields, COUNT(own_fields), view.name);
	f->is_contextual = plan_note(p->class, index, "jdk.jfr.Contextual") != NULL;
	t->scratch.used = 0;
	t->key(&t->scratch, view.name);
	f->key_bytes = t->scratch.used;
	f->key = strndup(t->scratch.data, t->scratch.used);
	return f->key && !t->scratch.rc ? 0 : -ENOMEM;
}

/* ---------------------------------------------------------------- classes */

/* Of a type that is contextual as a whole every field of its own is. */
static void find_contextual(struct plan *p)
{
	if (strcmp(weft_jfr_class_super(p->class), "jdk.jfr.Event") != 0)
		return;
	for (size_t i = 0; i < p->count; i++)
		p->is_contextual |= p->fields[i].is_contextual;
	if (p->is_contextual || !weft_jfr_class_annotated(p->class, NULL, "jdk.jfr.Contextual"))
		return;
	p->is_contextual = 1;
	for (size_t i = 0; i < p->count; i++)
		p->fields[i].is_contextual = p->fields[i].is_own;
}

static struct plan *make_plan(struct plan_table *t, const struct weft_jfr_class *class)
{
	struct plan *p = calloc(1, sizeof(*p));
	const char *name = weft_jfr_class_name(class), *dot = strrchr(name, '.');
	size_t count = weft_jfr_class_fields(class);

	if (!p)
		return NULL;
	p->class = class;
	p->known = (enum plan_class)plan_index(known_classes, COUNT(known_classes), name);
	p->simple = dot ? dot + 1 : name;
	p->fields = calloc(count + 1, sizeof(*p->fields));
	for (; p->fields && p->count < count; p->count++)
		if (plan_field(t, p, p->count))
			break;
	if (!p->fields || p->count < count) {
		p->count += p->fields != NULL;
		free_plan(p);
		return NULL;
	}
	p->thread = weft_jfr_class_find(class, "eventThread");
	p->stack = weft_jfr_class_find(class, "stackTrace");
	p->elements = weft_jfr_class_find(class, "arrayElements");
	p->is_wanted = t->is_wanted ? t->is_wanted(class, t->arg) : 1;
	find_contextual(p);
	return p;
}

struct plan *plan_of(struct plan_table *t, const struct weft_jfr_class *class)
{
	uint64_t *place = map_put(t->plans, &class, sizeof(void *), NULL);

	if (place && !*place)
		*place = (uintptr_t)make_plan(t, class);
	return place ? (struct plan *)(uintptr_t)*place : NULL;
}

struct plan *plan_below(struct plan_table *t, struct plan_field *f)
{
	if (!f->plan && f->class && f->kind == PLAN_STRUCT)
		f->plan = plan_of(t, f->class);
	return f->plan;
}
