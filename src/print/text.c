/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text form, for eyes: values rounded and with units, threads, classes and frames in a line
 * each, thread and stack last. Control characters are shown as \u001b; line feed and tab stay.
 */
#include "print/form.h"

#include "base/text/utf8.h"
#include "print/decimal.h"
#include "print/text_java.h"

#include <math.h>
#include <stdio.h>

#define STEP 2

static void text_put_value(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n,
			   size_t indent, const char *after);

static void text_put_key(struct sink *s, const char *name)
{
	text_clean(s, name, strlen(name));
	sink_put(s, " = ", 3);
}

/* ---------------------------------------------------------------- numbers */

static int is_none(const struct plan_field *f, const struct weft_jfr_node *n)
{
	if (n->shape == WEFT_JFR_V_REAL)
		return isnan(n->real) || (isinf(n->real) && n->real < 0);
	if (f->meaning == PLAN_SPAN || f->meaning == PLAN_POINT)
		return 0;
	return (f->kind == PLAN_LONG && n->number == INT64_MIN) ||
	       (f->kind == PLAN_INT && n->number == INT32_MIN);
}

static void put_time(struct walk *w, const struct plan_field *f, int64_t number)
{
	char text[TIMES_ROOM];
	size_t bytes;

	if (f->meaning == PLAN_SPAN)
		bytes = times_put_span(text, times_span(&w->chunk, number, f->unit));
	else
		bytes = times_put_clock(text, times_point(&w->chunk, number, f->unit),
					w->chunk.gmt_offset_s);
	sink_put(w->s, text, bytes);
}

static void put_percentage(struct walk *w, const struct weft_jfr_node *n)
{
	double value = n->shape == WEFT_JFR_V_REAL ? n->real : (double)n->number;
	char text[DECIMAL_ROOM];

	sink_put(w->s, text, decimal_fixed(text, value * 100, 2));
	sink_char(w->s, '%');
}

static int64_t text_whole(const struct weft_jfr_node *n)
{
	return n->shape == WEFT_JFR_V_NUMBER ? n->number : decimal_cast(n->real);
}

static void put_char(struct sink *s, uint32_t unit)
{
	char text[4];

	if (unit >= 0xD800 && unit < 0xE000)
		unit = '?'; /* half of a pair */
	text_clean(s, text, (size_t)(utf8_put(text, unit) - text));
}

static void text_put_number(struct walk *w, const struct plan_field *f,
			    const struct weft_jfr_node *n)
{
	char text[TIMES_ROOM];

	if (is_none(f, n)) {
		sink_text(w->s, "N/A");
		return;
	}
	switch (f->meaning) {
	case PLAN_SPAN:
	case PLAN_POINT:
		if (n->shape == WEFT_JFR_V_REAL)
			break;
		put_time(w, f, n->number);
		return;
	case PLAN_PERCENTAGE:
		put_percentage(w, n);
		return;
	case PLAN_AMOUNT:
		sink_put(w->s, text, times_put_amount(text, text_whole(n), f->amount));
		return;
	case PLAN_ADDRESS:
		sink_put(w->s, text,
			 (size_t)snprintf(text, sizeof(text), "0x%08llX",
					  (unsigned long long)text_whole(n)));
		return;
	case PLAN_HERTZ:
		walk_number(w, f, n);
		sink_text(w->s, " Hz");
		return;
	case PLAN_PLAIN:
		break;
	}
	if (n->shape == WEFT_JFR_V_NUMBER && f->kind == PLAN_CHAR)
		put_char(w->s, (uint32_t)n->number & 0xFFFF);
	else
		walk_number(w, f, n);
}

/* ---------------------------------------------------------------- structures */

static void put_fields(struct walk *w, struct plan *p, const struct weft_jfr_node *n, size_t indent)
{
	for (size_t i = 0; i < p->count && i < n->many.count; i++) {
		sink_spaces(w->s, indent);
		sink_put(w->s, p->fields[i].key, p->fields[i].key_bytes);
		text_put_value(w, &p->fields[i], &n->many.item[i], indent, "");
	}
}

static void text_put_struct(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n,
			    size_t indent, const char *after)
{
	static void (*const in_a_line[])(struct sink * s, const struct weft_jfr_node *n) = {
		[PLAN_THREAD] = text_thread, [PLAN_CLASS] = text_class, [PLAN_LOADER] = text_loader,
		[PLAN_METHOD] = text_method, [PLAN_FRAME] = text_frame,
	};
	struct plan *p = walk_plan(w, f, n);

	if (!p)
		return;
	if (p->known == PLAN_OLD_OBJECT) {
		text_old_object(w, n, indent);
		return;
	}
	if (p->known == PLAN_OBJECT) {
		sink_text(w->s, "{\n");
		put_fields(w, p, n, indent + STEP);
		sink_spaces(w->s, indent);
		sink_char(w->s, '}');
	} else {
		in_a_line[p->known](w->s, n);
	}
	sink_text(w->s, after);
	sink_char(w->s, '\n');
}

static void text_put_array(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n,
			   size_t indent)
{
	size_t shown = walk_shown(w, f, n);

	sink_text(w->s, "[\n");
	for (size_t i = 0; i < shown && w->budget; i++) {
		sink_spaces(w->s, indent + STEP);
		text_put_value(w, f, &n->many.item[i], indent + STEP, i + 1 < shown ? ", " : "");
	}
	w->is_cut |= shown && !w->budget;
	sink_spaces(w->s, indent);
	sink_text(w->s, "]\n");
}

static void text_put_value(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n,
			   size_t indent, const char *after)
{
	if (!walk_spend(w) || n->shape == WEFT_JFR_V_NULL) {
		sink_text(w->s, "N/A");
	} else if (n->shape == WEFT_JFR_V_STRUCT) {
		text_put_struct(w, f, n, indent, after);
		return;
	} else if (n->shape == WEFT_JFR_V_ARRAY) {
		text_put_array(w, f, n, indent);
		return;
	} else if (n->shape == WEFT_JFR_V_STRING) {
		sink_char(w->s, '"');
		text_clean(w->s, n->string.data, n->string.bytes);
		sink_char(w->s, '"');
	} else {
		text_put_number(w, f, n);
	}
	sink_text(w->s, after);
	sink_char(w->s, '\n');
}

/* ---------------------------------------------------------------- events */

/* "..." stands where frames were left out, here or when they were recorded. */
static void text_put_stack(struct walk *w, const struct weft_jfr_node *stack)
{
	const struct weft_jfr_node *frames = weft_jfr_get(stack, "frames");
	const struct weft_jfr_node *truncated = weft_jfr_get(stack, "truncated");
	size_t count = frames && frames->shape == WEFT_JFR_V_ARRAY ? frames->many.count : 0;
	uint64_t shown = 0;
	size_t i = 0;

	sink_text(w->s, "  stackTrace = [\n");
	for (; i < count && shown < w->stack_depth && walk_spend(w); i++) {
		if (!text_frame_is_shown(&frames->many.item[i]))
			continue;
		sink_text(w->s, "    ");
		text_frame(w->s, &frames->many.item[i]);
		sink_char(w->s, '\n');
		shown++;
	}
	if ((truncated && truncated->shape == WEFT_JFR_V_NUMBER && truncated->number) ||
	    i == w->stack_depth)
		sink_text(w->s, "    ...\n");
	sink_text(w->s, "  ]\n");
}

static int is_passed_over(struct walk *w, const struct plan *p, size_t index,
			  const struct weft_jfr_node *n)
{
	const struct plan_field *f = &p->fields[index];

	if ((int)index == p->thread || (int)index == p->stack)
		return 1;
	return f->meaning == PLAN_SPAN && n->shape == WEFT_JFR_V_NUMBER &&
	       !strcmp(f->name, "duration") && times_span(&w->chunk, n->number, f->unit).ns == 0;
}

static int64_t elements_of(const struct plan *p, const struct weft_jfr_node *fields)
{
	if (p->elements < 0 || fields[p->elements].shape != WEFT_JFR_V_NUMBER)
		return 0;
	return fields[p->elements].number;
}

static void text_event(struct walk *w, const struct form_event *e)
{
	const struct weft_jfr_node *fields = e->view->fields;
	struct plan *p = e->plan;
	const char *name = weft_jfr_class_name(p->class);

	w->array_elements = elements_of(p, fields);
	text_clean(w->s, name, strlen(name));
	sink_text(w->s, " {\n");
	for (size_t i = 0; i < e->context_count; i++)
		sink_put(w->s, e->contexts[i].text, e->contexts[i].bytes);
	for (size_t i = 0; i < p->count && i < e->view->field_count; i++) {
		if (is_passed_over(w, p, i, &fields[i]))
			continue;
		sink_spaces(w->s, STEP);
		sink_put(w->s, p->fields[i].key, p->fields[i].key_bytes);
		text_put_value(w, &p->fields[i], &fields[i], STEP, "");
	}
	if (p->thread >= 0 && fields[p->thread].shape == WEFT_JFR_V_STRUCT) {
		sink_text(w->s, "  eventThread = ");
		text_put_value(w, &p->fields[p->thread], &fields[p->thread], STEP, "");
	}
	if (p->stack >= 0 && fields[p->stack].shape == WEFT_JFR_V_STRUCT)
		text_put_stack(w, &fields[p->stack]);
	sink_text(w->s, "}\n\n");
}

static void text_context(struct walk *w, struct plan *p, const struct weft_jfr_event_view *e)
{
	for (size_t i = 0; i < p->count && i < e->field_count; i++) {
		if (!p->fields[i].is_contextual)
			continue;
		sink_text(w->s, "  Context: ");
		text_clean(w->s, p->simple, strlen(p->simple));
		sink_char(w->s, '.');
		sink_put(w->s, p->fields[i].key, p->fields[i].key_bytes);
		text_put_value(w, &p->fields[i], &e->fields[i], STEP, "");
	}
}

const struct form form_text = {
	.key = text_put_key,
	.begin = "",
	.end = "",
	.event = text_event,
	.context = text_context,
};
