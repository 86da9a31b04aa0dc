/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one type as a table, a column for each field. The columns are the fields of the
 * first event's class; an event of another class of the same name has its fields found by name.
 * Annotations and type of a field give the form of its cells.
 */
#include "report/view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum field_form {
	FORM_PLAIN,
	FORM_MOMENT,   /* startTime */
	FORM_DURATION, /* duration */
	FORM_TIMESPAN,
	FORM_ADDRESS,
	FORM_PERCENTAGE,
	FORM_BOOLEAN,
	FORM_THREAD,
	FORM_STACK,
	FORM_CLASS,
};

struct events {
	struct table_column *column; /* its titles are ours */
	enum field_form *form;
	size_t columns;
};

static int type_is(const struct weft_jfr_field_view *f, const char *name)
{
	return f->type && strcmp(weft_jfr_class_name(f->type), name) == 0;
}

static enum field_form form_of(const struct weft_jfr_class *c, const struct weft_jfr_field_view *f)
{
	static const struct {
		const char *name; /* of an annotation, or of the field's type */
		enum field_form form;
	} forms[] = {
		{"jdk.jfr.Timespan", FORM_TIMESPAN},
		{"jdk.jfr.MemoryAddress", FORM_ADDRESS},
		{"jdk.jfr.Percentage", FORM_PERCENTAGE},
		{"java.lang.Thread", FORM_THREAD},
		{"jdk.types.StackTrace", FORM_STACK},
		{"java.lang.Class", FORM_CLASS},
		{"boolean", FORM_BOOLEAN},
	};

	if (strcmp(f->name, "startTime") == 0)
		return FORM_MOMENT;
	if (strcmp(f->name, "duration") == 0)
		return FORM_DURATION;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (weft_jfr_class_annotated(c, f->name, forms[i].name) ||
		    type_is(f, forms[i].name))
			return forms[i].form;
	return FORM_PLAIN;
}

static int view_events_is_text(enum field_form form, const struct weft_jfr_field_view *f)
{
	static const char *const numbers[] = {"byte", "char",  "short", "int",
					      "long", "float", "double"};

	if (form != FORM_PLAIN)
		return form != FORM_DURATION && form != FORM_TIMESPAN && form != FORM_PERCENTAGE;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (type_is(f, numbers[i]) && !f->is_array)
			return 0;
	return 1;
}

static int set_column(struct events *ev, size_t index, const struct weft_jfr_class *c)
{
	struct weft_jfr_field_view f;
	const char *name;
	int rc = weft_jfr_class_field_view(c, index, &f);

	if (rc)
		return rc;
	name = strdup(f.name);
	if (!name)
		return -ENOMEM;
	ev->form[index] = form_of(c, &f);
	ev->column[index] = (struct table_column){
		.title = name, .json = name, .is_text = view_events_is_text(ev->form[index], &f)};
	return 0;
}

static int view_events_make_columns(struct view_run *v, const struct weft_jfr_class *c)
{
	struct events *ev = calloc(1, sizeof(*ev));
	size_t count = weft_jfr_class_fields(c);
	int rc = 0;

	v->state = ev;
	if (!ev)
		return -ENOMEM;
	ev->columns = count;
	ev->column = calloc(count + 1, sizeof(*ev->column));
	ev->form = calloc(count + 1, sizeof(*ev->form));
	if (!ev->column || !ev->form)
		return -ENOMEM;
	for (size_t i = 0; i < count && !rc; i++)
		rc = set_column(ev, i, c);
	table_init(&v->table, ev->column, count);
	return rc;
}

void view_events_free(struct view_run *v)
{
	struct events *ev = v->state;

	if (!ev)
		return;
	for (size_t i = 0; ev->column && i < ev->columns; i++)
		free((void *)(uintptr_t)ev->column[i].title);
	free(ev->column);
	free(ev->form);
	free(ev);
	v->state = NULL;
}

/* ---- cells */

static void view_events_moment(struct table *t, int64_t epoch_ns)
{
	time_t seconds = (time_t)(epoch_ns / 1000000000);
	char text[64], whole[96];
	struct tm tm;

	if (epoch_ns < 0 || !gmtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm)) {
		table_none(t);
		return;
	}
	snprintf(whole, sizeof(whole), "%s.%09dZ", text, (int)(epoch_ns % 1000000000));
	table_text(t, whole);
}

/* Ticks, or the unit of the annotation; a negative time, or the largest, is none. */
static void view_events_timespan(struct view_run *v, const char *unit,
				 const struct weft_jfr_node *n)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {
		{"NANOSECONDS", 1},
		{"MICROSECONDS", 1000},
		{"MILLISECONDS", 1000000},
		{"SECONDS", 1000000000},
	};
	int64_t value = decode_number(n, -1),
		ns = weft_jfr_ticks_ns(source_reader(v->source), value);

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(unit, units[i].unit) == 0 &&
		    __builtin_mul_overflow(value, units[i].ns, &ns))
			ns = INT64_MAX;
	if (value < 0 || value == INT64_MAX)
		table_none(&v->table);
	else
		table_time(&v->table, (uint64_t)ns);
}

static void view_events_name(struct view_run *v, uint32_t id)
{
	table_text(&v->table, id ? names_text(&source_model(v->source)->names, id) : NULL);
}

static void view_events_plain(struct view_run *v, const struct weft_jfr_node *n)
{
	if (!n || n->shape == WEFT_JFR_V_NULL)
		table_none(&v->table);
	else if (n->shape == WEFT_JFR_V_NUMBER)
		table_number(&v->table, n->number);
	else if (n->shape == WEFT_JFR_V_REAL)
		table_real(&v->table, n->real);
	else if (n->shape == WEFT_JFR_V_STRING && !n->string.bytes)
		table_text(&v->table, "");
	else
		view_events_name(v, decode_text(source_decoder(v->source), n));
}

static void view_events_address(struct table *t, const struct weft_jfr_node *n)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)decode_number(n, 0));
	table_text(t, text);
}

static void view_events_put_cell(struct view_run *v, size_t index, const struct sample *s)
{
	const struct events *ev = v->state;
	const struct weft_jfr_event_view *e = source_event(v->source);
	const char *name = ev->column[index].title;
	const struct weft_jfr_node *n = weft_jfr_event_get(e, name);
	struct decoder *d = source_decoder(v->source);
	const struct model *m = source_model(v->source);

	switch (ev->form[index]) {
	case FORM_MOMENT:
		view_events_moment(&v->table, s->time_ns);
		break;
	case FORM_DURATION:
		table_time(&v->table, s->duration_ns > 0 ? (uint64_t)s->duration_ns : 0);
		break;
	case FORM_TIMESPAN:
		view_events_timespan(
			v, weft_jfr_class_annotation(e->type, name, "jdk.jfr.Timespan"), n);
		break;
	case FORM_ADDRESS:
		view_events_address(&v->table, n);
		break;
	case FORM_PERCENTAGE:
		table_fraction(&v->table, n && n->shape == WEFT_JFR_V_REAL ? n->real : -1);
		break;
	case FORM_BOOLEAN:
		table_text(&v->table, decode_number(n, 0) ? "true" : "false");
		break;
	case FORM_THREAD:
		view_events_name(v, model_thread_at(m, decode_thread(d, n))->key);
		break;
	case FORM_STACK:
		view_events_name(v, view_place(m, s->stack));
		break;
	case FORM_CLASS:
		view_events_name(v, decode_class(d, n));
		break;
	default:
		view_events_plain(v, n);
		break;
	}
}

int view_events_add(struct view_run *v, const struct sample *s)
{
	const struct weft_jfr_class *c = source_event(v->source)->type;
	const struct events *ev;
	int rc = v->state ? 0 : view_events_make_columns(v, c);

	if (rc)
		return rc;
	if (v->query->rows_max && v->number > v->query->rows_max) {
		v->table.more++;
		return 0;
	}
	ev = v->state;
	for (size_t i = 0; i < ev->columns; i++)
		view_events_put_cell(v, i, s);
	return v->table.failed ? -ENOMEM : 0;
}
