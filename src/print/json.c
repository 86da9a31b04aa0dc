/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON form: one object {"recording": {"events": [...]}}. Texts are ASCII; what is not
 * finite is null.
 */
#include "print/form.h"

#include "base/text/json_write.h"

#include <math.h>

#define STEP 2
#define EVENT_INDENT 4

/* As the JDK sets them. */
static const struct json_shape json_fields = {
	.comma = ", ", .colon = ": ", .has_lines = 1, .opens_empty = 1};

static void json_put_value(struct walk *w, struct json_writer *j, struct plan_field *f,
			   const struct weft_jfr_node *n);

static void json_put_key(struct sink *s, const char *name)
{
	json_write_quoted(s, name, strlen(name));
	sink_text(s, json_fields.colon);
}

static void json_put_number(struct walk *w, struct json_writer *j, const struct plan_field *f,
			    const struct weft_jfr_node *n)
{
	char text[TIMES_ROOM];
	size_t bytes = 0;

	json_write_made(j, NULL, "", 0);
	if (n->shape == WEFT_JFR_V_NUMBER && f->kind == PLAN_CHAR) {
		sink_char(w->s, '"');
		json_write_character(w->s, (uint32_t)n->number & 0xFFFF);
		sink_char(w->s, '"');
		return;
	}
	if (n->shape == WEFT_JFR_V_NUMBER)
		bytes = walk_iso(w, f, n->number, text);
	if (bytes)
		json_write_quoted(w->s, text, bytes);
	else if (n->shape == WEFT_JFR_V_REAL && !isfinite(n->real))
		sink_text(w->s, "null");
	else
		walk_number(w, f, n);
}

static void json_put_object(struct walk *w, struct json_writer *j, struct plan_field *f,
			    const struct weft_jfr_node *n)
{
	struct plan *p = walk_plan(w, f, n);

	json_write_object(j, NULL);
	for (size_t i = 0; p && i < p->count && i < n->many.count; i++) {
		json_write_made_key(j, p->fields[i].key, p->fields[i].key_bytes);
		json_put_value(w, j, &p->fields[i], &n->many.item[i]);
	}
	json_write_object_end(j);
}

static void json_put_array(struct walk *w, struct json_writer *j, struct plan_field *f,
			   const struct weft_jfr_node *n)
{
	size_t shown = walk_shown(w, f, n);

	json_write_array(j, NULL);
	for (size_t i = 0; i < shown && w->budget; i++)
		json_put_value(w, j, f, &n->many.item[i]);
	w->is_cut |= shown && !w->budget;
	json_write_array_end(j);
}

static void json_put_value(struct walk *w, struct json_writer *j, struct plan_field *f,
			   const struct weft_jfr_node *n)
{
	if (!walk_spend(w) || n->shape == WEFT_JFR_V_NULL)
		json_write_null(j, NULL);
	else if (n->shape == WEFT_JFR_V_STRUCT)
		json_put_object(w, j, f, n);
	else if (n->shape == WEFT_JFR_V_ARRAY)
		json_put_array(w, j, f, n);
	else if (n->shape == WEFT_JFR_V_STRING)
		json_write_ascii(j, NULL, n->string.data, n->string.bytes);
	else
		json_put_number(w, j, f, n);
}

/* "type" and "values" of an event, or of the contextual fields of one. */
static void json_put_body(struct walk *w, struct json_writer *j, struct plan *p,
			  const struct weft_jfr_event_view *e, int contextual_only)
{
	const char *name = weft_jfr_class_name(p->class);

	json_write_ascii(j, "type", name, strlen(name));
	json_write_object(j, "values");
	for (size_t i = 0; i < p->count && i < e->field_count; i++) {
		if (contextual_only && !p->fields[i].is_contextual)
			continue;
		json_write_made_key(j, p->fields[i].key, p->fields[i].key_bytes);
		json_put_value(w, j, &p->fields[i], &e->fields[i]);
	}
	json_write_object_end(j);
}

static struct json_writer json_writer_at(struct walk *w, size_t indent)
{
	return (struct json_writer){.s = w->s,
				    .object = &json_fields,
				    .array = &json_shape_spaced,
				    .step = STEP,
				    .indent = indent};
}

static void json_event(struct walk *w, const struct form_event *e)
{
	struct json_writer j = json_writer_at(w, EVENT_INDENT);

	j.has_member = !e->is_first;
	json_write_object(&j, NULL);
	json_put_body(w, &j, e->plan, e->view, 0);
	if (e->contexts) {
		json_write_array(&j, "context");
		for (size_t i = 0; i < e->context_count; i++)
			json_write_made(&j, NULL, e->contexts[i].text, e->contexts[i].bytes);
		json_write_array_end(&j);
	}
	json_write_object_end(&j);
}

static void json_context(struct walk *w, struct plan *p, const struct weft_jfr_event_view *e)
{
	struct json_writer j = json_writer_at(w, EVENT_INDENT + STEP);

	json_write_root(&j);
	json_write_object(&j, NULL);
	json_put_body(w, &j, p, e, 1);
	json_write_object_end(&j);
}

const struct form form_json = {
	.key = json_put_key,
	.begin = "{\n  \"recording\": {\n    \"events\": [",
	.end = "]\n  }\n}",
	.event = json_event,
	.context = json_context,
};
