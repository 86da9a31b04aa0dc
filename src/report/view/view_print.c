/* SPDX-License-Identifier: Apache-2.0 */
/* A view as text: what it is of, then its table; or as one JSON object. */
#include "report/show/json_value.h"
#include "report/show/layout.h"
#include "report/view/view.h"

#include <errno.h>

static int has_shown(const struct view_run *v)
{
	return table_rows(&v->table) > 0;
}

static const char *title_of(const struct view_run *v)
{
	return v->view ? v->view->name : v->query->type;
}

int view_text(const struct view_run *v, const struct text_style *style, FILE *out)
{
	char time[LAYOUT_NUMBER];

	fputs(style->bold, out);
	layout_name(out, v->query->path, 0);
	fprintf(out, "%s: %s, %s", style->plain, title_of(v),
		layout_time(time, facts_duration(source_facts(v->source))));
	if (v->query->where_count)
		fprintf(out, ", %llu of %llu events", (unsigned long long)v->number,
			(unsigned long long)v->read);
	fputc('\n', out);
	for (size_t i = 0; i < v->query->where_count; i++)
		layout_where(out, i ? "            " : "where       ", &v->query->wheres[i]);
	if (!has_shown(v))
		return 0;
	fputc('\n', out);
	return table_print(&v->table, style, out);
}

int view_json(const struct view_run *v, uint64_t top, FILE *out)
{
	const struct facts *f = source_facts(v->source);
	json_t *rows = table_json(&v->table, top);
	json_t *o = rows ? json_pack("{s:s,s:o,s:I,s:I,s:o}", "view", title_of(v), "file",
				     json_text(v->query->path), "duration_ns",
				     (json_int_t)(f->end_ns - f->start_ns), "events",
				     (json_int_t)v->number, "rows", rows)
			 : NULL;

	if (!o)
		return -ENOMEM;
	if (*f->damage)
		json_object_set_new(o, "damage", json_text(f->damage));
	return json_emit(o, out, JSON_PRETTY);
}
