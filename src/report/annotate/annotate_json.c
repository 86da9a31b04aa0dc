/* SPDX-License-Identifier: Apache-2.0 */
/* An annotated function as one JSON object; members in the order of docs/annotate.md. */
#include "report/annotate/annotate.h"

#include "report/show/json_account.h"
#include "report/show/json_value.h"

#include <errno.h>
#include <string.h>

struct maker {
	const struct annotate *a;
	const struct annotate_place *f;
	const struct annotate_view *v;
	const struct model *m;
};

static json_t *weights(const struct maker *k, const struct weight *w)
{
	json_t *o = json_pack("{s:o,s:o,s:o,s:o}", "samples", json_number(w->total.samples),
			      "self_samples", json_number(w->self.samples), "self_ns",
			      json_number(w->self.ns), "total_ns", json_number(w->total.ns));

	json_set_share(o, "self_share", &w->self, &k->a->whole, k->a->is_sampled);
	json_set_share(o, "total_share", &w->total, &k->a->whole, k->a->is_sampled);
	return o;
}

static json_t *lines(const struct maker *k, const struct annotate_lines *of,
		     const struct source_text *source)
{
	json_t *all = json_array();

	for (size_t i = 0; i < of->count; i++) {
		int32_t line = of->line[i].line;
		json_t *o = json_pack("{s:o}", "line", line ? json_integer(line) : json_null());

		json_object_update_new(o, weights(k, &of->line[i].weight));
		if (source && line)
			json_object_set_new(o, "text", json_text(source_text_line(source, line)));
		json_array_append_new(all, o);
	}
	return all;
}

static json_t *sources(const struct maker *k)
{
	struct annotate_lines of = {.count = 0};
	json_t *all = json_array();

	while (annotate_next_file(k->a, k->f, &of)) {
		uint32_t file = of.line->file;
		const char *name = names_text(&k->m->names, file);
		struct source_text *source;

		if (!file || source_text_open(&source, name, &k->v->places))
			source = NULL;
		json_array_append_new(all, json_pack("{s:o,s:o,s:o}", "file",
						     file ? json_text(name) : json_null(), "path",
						     source ? json_text(source->path) : json_null(),
						     "lines", lines(k, &of, source)));
		source_text_free(source);
	}
	return all;
}

static json_t *instruction(const struct maker *k, const struct disassembly *d,
			   const struct instruction *i)
{
	struct weight sum;
	json_t *o;

	disassembly_weight(d, k->a, i, &sum);
	o = json_pack("{s:o,s:i,s:o,s:o,s:o}", "address", json_number(i->address), "offset",
		      (int)i->offset, "text", json_text(i->text), "file",
		      i->file ? json_text(i->file) : json_null(), "line",
		      i->line ? json_integer(i->line) : json_null());
	json_object_update_new(o, weights(k, &sum));
	return o;
}

/* 0; -ENOENT: why not is in the object. */
static int set_code(const struct maker *k, json_t *o)
{
	char why[DISASSEMBLY_WHY] = "";
	struct disassembly *d;
	json_t *all;
	int rc = disassembly_open(&d, k->a, k->f, &k->v->places, why);

	if (rc) {
		json_object_set_new(o, "no_instructions", json_text(why));
		return rc;
	}
	all = json_array();
	for (size_t i = 0; i < d->count; i++)
		json_array_append_new(all, instruction(k, d, &d->item[i]));
	json_object_set_new(o, "module_path", json_text(d->path));
	json_object_set_new(o, "instructions", all);
	disassembly_free(d);
	return 0;
}

static int has_text(const json_t *all)
{
	for (size_t i = 0; i < json_array_size(all); i++)
		if (json_is_string(json_object_get(json_array_get(all, i), "path")))
			return 1;
	return 0;
}

int annotate_json(const struct annotate *a, const struct annotate_place *f,
		  const struct annotate_view *view, FILE *out)
{
	struct maker k = {a, f, view, source_model(a->source)};
	json_t *o = json_pack(
		"{s:o,s:o,s:o,s:o,s:o}", "file", json_text(a->path), "function",
		json_text(names_text(&k.m->names, f->function)), "module",
		f->module ? json_text(names_text(&k.m->names, f->module)) : json_null(),
		"all_samples", json_number(a->whole.samples), "all_ns", json_number(a->whole.ns));
	int source, code = -ENOENT, rc;

	if (!o)
		return -ENOMEM;
	json_object_update_new(o, weights(&k, &f->weight));
	json_object_set_new(o, "sources", sources(&k));
	source = has_text(json_object_get(o, "sources"));
	if (view->disassemble || !source)
		code = set_code(&k, o);
	if (code == -ENOMEM) {
		json_decref(o);
		return code;
	}
	rc = json_emit(o, out, JSON_PRETTY);
	if (rc)
		return rc;
	return !code || (source && !view->disassemble) ? 0 : -ENOENT;
}
