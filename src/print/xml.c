/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XML form. Texts are ASCII; characters that XML 1.0 has not (control characters, halves of
 * surrogate pairs) become U+FFFD, or nothing could read it.
 */
#include "base/text/utf8.h"
#include "print/form.h"

#include <stdio.h>

#define STEP 2
#define EVENT_INDENT 4

static void xml_put_value(struct walk *w, struct plan_field *f, size_t index,
			  const struct weft_jfr_node *n, size_t indent);

static void xml_put_special(struct sink *s, uint32_t c)
{
	static const char specials[] = "<>&\"'";
	static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
	const char *at = c && c < 0x80 ? strchr(specials, (int)c) : NULL;
	char text[16];

	if (at) {
		sink_text(s, names[at - specials]);
		return;
	}
	if ((c < 0x20 && c != '\r') || (c >= 0xD800 && c < 0xE000) || c == 0xFFFE || c == 0xFFFF)
		c = UTF8_REPLACEMENT;
	sink_put(s, text, (size_t)snprintf(text, sizeof(text), "&#%u;", c));
}

static int xml_is_plain(unsigned char c)
{
	if (c < 0x20)
		return c == '\n' || c == '\t';
	return c < 0x80 && !strchr("<>&\"'", c);
}

static void xml_put_string(struct sink *s, const char *data, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)data, *end = at + bytes;

	while (at < end) {
		const unsigned char *run = at;

		while (at < end && xml_is_plain(*at))
			at++;
		sink_put(s, (const char *)run, (size_t)(at - run));
		if (at < end)
			xml_put_special(s, utf8_next(&at, end));
	}
}

static void xml_put_key(struct sink *s, const char *name)
{
	sink_text(s, " name=\"");
	xml_put_string(s, name, strlen(name));
	sink_char(s, '"');
}

/* "<struct", and which one: a field, or an element of an array (@index, else SIZE_MAX). */
static void put_open(struct walk *w, const char *element, const struct plan_field *f, size_t index,
		     size_t indent)
{
	sink_spaces(w->s, indent);
	sink_char(w->s, '<');
	sink_text(w->s, element);
	if (index == SIZE_MAX) {
		sink_put(w->s, f->key, f->key_bytes);
		return;
	}
	sink_text(w->s, " index=\"");
	sink_number(w->s, (int64_t)index);
	sink_char(w->s, '"');
}

static void put_close(struct walk *w, const char *element, size_t indent)
{
	sink_spaces(w->s, indent);
	sink_text(w->s, "</");
	sink_text(w->s, element);
	sink_text(w->s, ">\n");
}

static void xml_put_number(struct walk *w, const struct plan_field *f,
			   const struct weft_jfr_node *n)
{
	char text[TIMES_ROOM];
	size_t bytes = n->shape == WEFT_JFR_V_NUMBER ? walk_iso(w, f, n->number, text) : 0;
	uint32_t unit = n->shape == WEFT_JFR_V_NUMBER ? (uint32_t)n->number & 0xFFFF : 0;

	if (bytes)
		sink_put(w->s, text, bytes);
	else if (n->shape == WEFT_JFR_V_REAL || f->kind != PLAN_CHAR)
		walk_number(w, f, n);
	else if (unit < 0x80 && xml_is_plain((unsigned char)unit))
		sink_char(w->s, (char)unit);
	else
		xml_put_special(w->s, unit);
}

static void xml_put_struct(struct walk *w, struct plan_field *f, size_t index,
			   const struct weft_jfr_node *n, size_t indent)
{
	struct plan *p = walk_plan(w, f, n);

	put_open(w, "struct", f, index, indent);
	sink_text(w->s, ">\n");
	for (size_t i = 0; p && i < p->count && i < n->many.count; i++)
		xml_put_value(w, &p->fields[i], SIZE_MAX, &n->many.item[i], indent + STEP);
	put_close(w, "struct", indent);
}

/* The size is that of the array, though of a stack not all may be shown. */
static void xml_put_array(struct walk *w, struct plan_field *f, size_t index,
			  const struct weft_jfr_node *n, size_t indent)
{
	size_t shown = walk_shown(w, f, n);

	put_open(w, "array", f, index, indent);
	sink_text(w->s, " size=\"");
	sink_number(w->s, (int64_t)n->many.count);
	sink_text(w->s, "\">\n");
	for (size_t i = 0; i < shown && w->budget; i++)
		xml_put_value(w, f, i, &n->many.item[i], indent + STEP);
	w->is_cut |= shown && !w->budget;
	put_close(w, "array", indent);
}

static void xml_put_value(struct walk *w, struct plan_field *f, size_t index,
			  const struct weft_jfr_node *n, size_t indent)
{
	if (!walk_spend(w) || n->shape == WEFT_JFR_V_NULL) {
		put_open(w, f->kind == PLAN_STRUCT ? "struct" : "value", f, index, indent);
		sink_text(w->s, " xsi:nil=\"true\"/>\n");
	} else if (n->shape == WEFT_JFR_V_STRUCT) {
		xml_put_struct(w, f, index, n, indent);
	} else if (n->shape == WEFT_JFR_V_ARRAY) {
		xml_put_array(w, f, index, n, indent);
	} else {
		put_open(w, "value", f, index, indent);
		sink_char(w->s, '>');
		if (n->shape == WEFT_JFR_V_STRING)
			xml_put_string(w->s, n->string.data, n->string.bytes);
		else
			xml_put_number(w, f, n);
		sink_text(w->s, "</value>\n");
	}
}

static void open_typed(struct walk *w, const char *element, const struct plan *p, size_t indent)
{
	const char *name = weft_jfr_class_name(p->class);

	sink_spaces(w->s, indent);
	sink_char(w->s, '<');
	sink_text(w->s, element);
	sink_text(w->s, " type=\"");
	xml_put_string(w->s, name, strlen(name));
	sink_text(w->s, "\">\n");
}

static void xml_event(struct walk *w, const struct form_event *e)
{
	open_typed(w, "event", e->plan, EVENT_INDENT);
	for (size_t i = 0; i < e->plan->count && i < e->view->field_count; i++)
		xml_put_value(w, &e->plan->fields[i], SIZE_MAX, &e->view->fields[i],
			      EVENT_INDENT + STEP);
	for (size_t i = 0; i < e->context_count; i++)
		sink_put(w->s, e->contexts[i].text, e->contexts[i].bytes);
	put_close(w, "event", EVENT_INDENT);
	sink_char(w->s, '\n');
}

static void xml_context(struct walk *w, struct plan *p, const struct weft_jfr_event_view *e)
{
	open_typed(w, "context", p, EVENT_INDENT + STEP);
	for (size_t i = 0; i < p->count && i < e->field_count; i++)
		if (p->fields[i].is_contextual)
			xml_put_value(w, &p->fields[i], SIZE_MAX, &e->fields[i],
				      EVENT_INDENT + 2 * (size_t)STEP);
	put_close(w, "context", EVENT_INDENT + STEP);
}

const struct form form_xml = {
	.key = xml_put_key,
	.begin = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<recording xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\n"
		 "  <events>\n",
	.end = "  </events>\n</recording>\n",
	.event = xml_event,
	.context = xml_context,
};
