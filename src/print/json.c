/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON form: one object {"recording": {"events": [...]}}. Texts are ASCII; what is not
 * finite is null.
 */
#include "print/form.h"
#include "base/text/utf8.h"

#include <math.h>
#include <stdio.h>

#define STEP 2
#define EVENT_INDENT 6

static void json_put_value(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n,
			   size_t indent);

static void put_unit(struct sink *s, uint32_t unit)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = {
		'\\',          'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
		hex[unit & 15]};

	sink_put(s, text, sizeof(text));
}

static void json_put_special(struct sink *s, uint32_t c)
{
	static const char names[] = "btnvfr"; /* from 8; there is no \v */

	if (c == '"' || c == '\\' || c == '/') {
		sink_char(s, '\\');
		sink_char(s, (char)c);
	} else if (c >= 8 && c <= 13 && c != 11) {
		sink_char(s, '\\');
		sink_char(s, names[c - 8]);
	} else if (c == 0x7F) {
		sink_char(s, (char)c);
	} else if (c > 0xFFFF) {
		put_unit(s, 0xD800 + ((c - 0x10000) >> 10));
		put_unit(s, 0xDC00 + ((c - 0x10000) & 0x3FF));
	} else {
		put_unit(s, c);
	}
}

static int json_is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '/';
}

static void json_put_string(struct sink *s, const char *data, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)data, *end = at + bytes;

	sink_char(s, '"');
	while (at < end) {
		const unsigned char *run = at;

		while (at < end && json_is_plain(*at))
			at++;
		sink_put(s, (const char *)run, (size_t)(at - run));
		if (at < end)
			json_put_special(s, utf8_next(&at, end));
	}
	sink_char(s, '"');
}

static void json_put_key(struct sink *s, const char *name)
{
	json_put_string(s, name, strlen(name));
	sink_text(s, ": ");
}

static void json_put_number(struct walk *w, const struct plan_field *f,
			    const struct weft_jfr_node *n)
{
	char text[TIMES_ROOM];
	size_t bytes;

	if (n->shape == WEFT_JFR_V_NUMBER && f->kind == PLAN_CHAR) {
		uint32_t unit = (uint32_t)n->number & 0xFFFF;

		sink_char(w->s, '"');
		if (unit < 0x7F && json_is_plain((unsigned char)unit))
			sink_char(w->s, (char)unit);
		else
			json_put_special(w->s, unit);
		sink_char(w->s, '"');
		return;
	}
	bytes = n->shape == WEFT_JFR_V_NUMBER ? walk_iso(w, f, n->number, text) : 0;
	if (bytes)
		json_put_string(w->s, text, bytes);
	else if (n->shape == WEFT_JFR_V_REAL && !isfinite(n->real))
		sink_text(w->s, "null");
	else
		walk_number(w, f, n);
}

static void json_put_object(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n,
			    size_t indent)
{
	struct plan *p = walk_plan(w, f, n);

	sink_put(w->s, "{\n", 2);
	for (size_t i = 0; p && i < p->count && i < n->many.count; i++) {
		if (i)
			sink_put(w->s, ", \n", 3);
		sink_spaces(w->s, indent + STEP);
		sink_put(w->s, p->fields[i].key, p->fields[i].key_bytes);
		json_put_value(w, &p->fields[i], &n->many.item[i], indent + STEP);
	}
	sink_char(w->s, '\n');
	sink_spaces(w->s, indent);
	sink_char(w->s, '}');
}

static void json_put_array(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n,
			   size_t indent)
{
	size_t shown = walk_shown(w, f, n);

	sink_char(w->s, '[');
	for (size_t i = 0; i < shown && w->budget; i++) {
		if (i)
			sink_put(w->s, ", ", 2);
		json_put_value(w, f, &n->many.item[i], indent);
	}
	w->is_cut |= shown && !w->budget;
	sink_char(w->s, ']');
}

static void json_put_value(struct walk *w, struct plan_field *f, const struct weft_jfr_node *n,
			   size_t indent)
{
	if (!walk_spend(w) || n->shape == WEFT_JFR_V_NULL)
		sink_text(w->s, "null");
	else if (n->shape == WEFT_JFR_V_STRUCT)
		json_put_object(w, f, n, indent);
	else if (n->shape == WEFT_JFR_V_ARRAY)
		json_put_array(w, f, n, indent);
	else if (n->shape == WEFT_JFR_V_STRING)
		json_put_string(w->s, n->string.data, n->string.bytes);
	else
		json_put_number(w, f, n);
}

/* "type" and "values" of an event, or of the contextual fields of one. */
static void put_body(struct walk *w, struct plan *p, const struct weft_jfr_event_view *e,
		     int contextual_only, size_t indent)
{
	const char *name = weft_jfr_class_name(p->class);
	int count = 0;

	sink_spaces(w->s, indent);
	sink_text(w->s, "\"type\": ");
	json_put_string(w->s, name, strlen(name));
	sink_put(w->s, ", \n", 3);
	sink_spaces(w->s, indent);
	sink_text(w->s, "\"values\": {\n");
	for (size_t i = 0; i < p->count && i < e->field_count; i++) {
		if (contextual_only && !p->fields[i].is_contextual)
			continue;
		if (count++)
			sink_put(w->s, ", \n", 3);
		sink_spaces(w->s, indent + STEP);
		sink_put(w->s, p->fields[i].key, p->fields[i].key_bytes);
		json_put_value(w, &p->fields[i], &e->fields[i], indent + STEP);
	}
	sink_char(w->s, '\n');
	sink_spaces(w->s, indent);
	sink_char(w->s, '}');
}

static void put_contexts(struct sink *s, const struct form_event *e)
{
	sink_text(s, ", \n      \"context\": [");
	for (size_t i = 0; i < e->context_count; i++) {
		if (i)
			sink_put(s, ", ", 2);
		sink_put(s, e->contexts[i].text, e->contexts[i].bytes);
	}
	sink_char(s, ']');
}

static void json_event(struct walk *w, const struct form_event *e)
{
	sink_text(w->s, e->is_first ? "{\n" : ", {\n");
	put_body(w, e->plan, e->view, 0, EVENT_INDENT);
	if (e->contexts)
		put_contexts(w->s, e);
	sink_text(w->s, "\n    }");
}

static void json_context(struct walk *w, struct plan *p, const struct weft_jfr_event_view *e)
{
	sink_text(w->s, "{\n");
	put_body(w, p, e, 1, EVENT_INDENT + STEP);
	sink_text(w->s, "\n      }");
}

const struct form form_json = {
	.key = json_put_key,
	.begin = "{\n  \"recording\": {\n    \"events\": [",
	.end = "]\n  }\n}",
	.event = json_event,
	.context = json_context,
};
