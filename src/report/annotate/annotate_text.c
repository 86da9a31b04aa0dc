/* SPDX-License-Identifier: Apache-2.0 */
/* An annotated function as text: its lines, or its instructions, with their weights. */
#include "report/annotate/annotate.h"

#include "report/read/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT_LINES 3   /* shown around a line with weight */
#define WHOLE_LINES 60    /* so many are shown without gaps */
#define TIMES_COLUMNS 110 /* narrower terminals see shares and samples only */
#define ERROR_COLUMNS 90  /* narrower ones see shares without errors */
#define NUMBERS_COLUMNS 28
#define HOT_SHARE 0.10 /* of the function's own weight */
#define WARM_SHARE 0.02

struct printer {
	const struct annotate *a;
	const struct annotate_place *f;
	const struct annotate_view *v;
	const struct model *m;
	FILE *out;
};

static int has_times(const struct printer *p)
{
	return p->a->whole.ns && (!p->v->style.columns || p->v->style.columns >= TIMES_COLUMNS);
}

static int annotate_text_has_errors(const struct printer *p)
{
	return p->a->is_sampled && (!p->v->style.columns || p->v->style.columns >= ERROR_COLUMNS);
}

/* Columns before the number of a line. */
static int numbers_columns(const struct printer *p)
{
	return NUMBERS_COLUMNS + (has_times(p) ? 24 : 0) +
	       (annotate_text_has_errors(p) ? 2 * LAYOUT_ERROR : 0);
}

void annotate_print_function(const struct annotate *a, const struct annotate_place *f, FILE *out)
{
	const struct model *m = source_model(a->source);

	layout_name(out, names_text(&m->names, f->function), 0);
	if (f->module) {
		fputs(" in ", out);
		layout_name(out, names_text(&m->names, f->module), 0);
	}
}

static void head(const struct printer *p)
{
	const struct weight *w = &p->f->weight;
	const struct amount *whole = &p->a->whole;
	char time[LAYOUT_NUMBER], share[LAYOUT_NUMBER], self[LAYOUT_NUMBER];

	fputs(p->v->style.bold, p->out);
	annotate_print_function(p->a, p->f, p->out);
	fputs(p->v->style.plain, p->out);
	fprintf(p->out, ": %llu samples, ", (unsigned long long)w->total.samples);
	if (whole->ns)
		fprintf(p->out, "%s, ", layout_time(time, w->total.ns));
	fprintf(p->out, "%s of all; self %s\n",
		layout_share_error(share, &w->total, whole, p->a->is_sampled),
		layout_share_error(self, &w->self, whole, p->a->is_sampled));
}

static void titles(const struct printer *p, const char *what, const char *text)
{
	int wide = (annotate_text_has_errors(p) ? LAYOUT_ERROR : 0) + (has_times(p) ? 12 : 0);

	fprintf(p->out, "%s%8s%*s %8s%*s ", p->v->style.bold, "self", wide, "", "total", wide, "");
	fprintf(p->out, "%9s %8s  ", "samples", what);
	layout_name(p->out, text,
		    p->v->style.columns > 62 ? p->v->style.columns - 62 : p->v->style.columns);
	fprintf(p->out, "%s\n", p->v->style.plain);
}

static const char *colour(const struct printer *p, const struct weight *w)
{
	uint64_t own = amount_of(&p->f->weight.total, &p->a->whole);
	double share;

	if (!w || !own)
		return "";
	share = (double)amount_of(&w->total, &p->a->whole) / (double)own;
	return share >= HOT_SHARE ? p->v->style.hot : share >= WARM_SHARE ? p->v->style.warn : "";
}

static void annotate_text_put_share(const struct printer *p, const struct amount *part)
{
	char time[LAYOUT_NUMBER];

	layout_amount(p->out, part, &p->a->whole, annotate_text_has_errors(p));
	fputc(' ', p->out);
	if (has_times(p))
		fprintf(p->out, "%11s ", layout_time(time, part->ns));
}

/* Weights, a number, and a text cut to what is left of the line. @w NULL: nothing was there. */
static void annotate_text_row(const struct printer *p, const struct weight *w, const char *number,
			      const char *text)
{
	const char *paint = colour(p, w);
	int used = numbers_columns(p);

	fputs(paint, p->out);
	if (w) {
		annotate_text_put_share(p, &w->self);
		annotate_text_put_share(p, &w->total);
		fprintf(p->out, "%9llu ", (unsigned long long)w->total.samples);
	} else {
		fprintf(p->out, "%*s", used, "");
	}
	used += fprintf(p->out, "%8s  ", number);
	layout_name(p->out, text,
		    p->v->style.columns > used ? p->v->style.columns - used : p->v->style.columns);
	fprintf(p->out, "%s\n", *paint ? p->v->style.plain : "");
}

/* ---- lines */

int annotate_next_file(const struct annotate *a, const struct annotate_place *f,
		       struct annotate_lines *lines)
{
	const struct annotate_place *end = a->lines.item + a->lines.count;
	const struct annotate_place *at = lines->count ? lines->line + lines->count : a->lines.item;

	while (at < end && !annotate_is_of(at, f))
		at++;
	*lines = (struct annotate_lines){.line = at};
	for (; at < end && annotate_is_of(at, f) && at->file == lines->line->file; at++)
		lines->count++;
	return lines->count > 0;
}

/* The weight of a line, or NULL; line 0 is what has no line. */
static const struct weight *weight_at(const struct annotate_lines *of, int64_t line)
{
	for (size_t i = 0; i < of->count; i++)
		if (of->line[i].line == line)
			return &of->line[i].weight;
	return NULL;
}

/* Is a line with weight within CONTEXT_LINES of @line? */
static int is_near(const struct annotate_lines *of, int64_t line)
{
	for (size_t i = 0; i < of->count; i++)
		if (of->line[i].line && of->line[i].line >= line - CONTEXT_LINES &&
		    of->line[i].line <= line + CONTEXT_LINES)
			return 1;
	return 0;
}

/* None, with *last = 0, where no line is known. */
static void annotate_text_range_of(const struct annotate_lines *of, int64_t *first, int64_t *last)
{
	size_t i = of->count > 1 && !of->line->line;

	*first = of->line[i].line > CONTEXT_LINES ? of->line[i].line - CONTEXT_LINES : 1;
	*last = of->line[of->count - 1].line;
	*last += *last ? CONTEXT_LINES : 0;
}

static void annotate_text_print_line(const struct printer *p, const struct annotate_lines *of,
				     int64_t line, const char *text)
{
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long)line);
	annotate_text_row(p, weight_at(of, line), number, text);
}

static void unknown_line(const struct printer *p, const struct annotate_lines *of)
{
	const struct weight *w = weight_at(of, 0);

	if (w)
		annotate_text_row(p, w, "-", "(no line known)");
}

static void print_source(const struct printer *p, const struct annotate_lines *of,
			 const struct source_text *text)
{
	const struct facts *facts = source_facts(p->a->source);
	int64_t first, last;
	int gap = 0;

	annotate_text_range_of(of, &first, &last);
	if (text->modified_ns > facts->start_ns)
		fprintf(p->out,
			"%sThis file was changed after the recording began: lines may have "
			"moved.%s\n",
			p->v->style.warn, p->v->style.plain);
	titles(p, "line", text->path);
	unknown_line(p, of);
	if (last > (int64_t)text->count && !weight_at(of, (int64_t)text->count + 1))
		last = (int64_t)text->count > last - CONTEXT_LINES ? (int64_t)text->count : last;
	for (int64_t line = first; line <= last; line++) {
		if (last - first >= WHOLE_LINES && !is_near(of, line)) {
			gap = 1;
			continue;
		}
		if (gap)
			fprintf(p->out, "%s%*s...%s\n", p->v->style.dim, numbers_columns(p) + 5, "",
				p->v->style.plain);
		gap = 0;
		annotate_text_print_line(p, of, line, source_text_line(text, line));
	}
}

/* Without source text: the numbers of the lines that have weight. */
static void print_numbers(const struct printer *p, const struct annotate_lines *of)
{
	titles(p, "line", names_text(&p->m->names, of->line->file));
	unknown_line(p, of);
	for (size_t i = 0; i < of->count; i++)
		if (of->line[i].line)
			annotate_text_print_line(p, of, of->line[i].line, "");
}

/* ---- instructions */

static int same_place(const struct instruction *a, const struct instruction *b)
{
	return a->line == b->line && a->file && b->file && strcmp(a->file, b->file) == 0;
}

static void print_code(const struct printer *p, const struct disassembly *d)
{
	const struct instruction *before = NULL;
	struct source_text *text = NULL;
	const char *file = NULL;

	if (!d->is_certain)
		fprintf(p->out,
			"%sThe program has no build-id: this may be another build of "
			"it.%s\n",
			p->v->style.warn, p->v->style.plain);
	titles(p, "address", d->path);
	for (size_t n = 0; n < d->count; n++) {
		const struct instruction *i = &d->item[n];
		struct weight w;
		char address[24];

		if (before && !i->offset) {
			fputc('\n', p->out);
			before = NULL;
		}
		if (i->file && i->line && (!before || !same_place(before, i))) {
			if (!file || strcmp(file, i->file) != 0) {
				source_text_free(text);
				text = NULL;
				if (source_text_open(&text, i->file, &p->v->places))
					text = NULL;
				file = i->file;
			}
			fprintf(p->out, "%s%*s", p->v->style.dim, numbers_columns(p) + 1, "");
			layout_name(p->out, key_base_name(i->file), 0);
			fprintf(p->out, ":%d  ", i->line);
			layout_name(p->out, text ? source_text_line(text, i->line) : "",
				    p->v->style.columns ? p->v->style.columns - 45 : 0);
			fprintf(p->out, "%s\n", p->v->style.plain);
		}
		before = i;
		snprintf(address, sizeof(address), "%llx", (unsigned long long)i->address);
		annotate_text_row(p, disassembly_weight(d, p->a, i, &w) ? &w : NULL, address,
				  i->text);
	}
	source_text_free(text);
}

/* ---- the whole */

static int annotate_text_open(const struct printer *p, uint32_t file, struct source_text **out)
{
	return file ? source_text_open(out, names_text(&p->m->names, file), &p->v->places)
		    : -ENOENT;
}

/* Prints the lines of all files of the function. 0 or -ENOMEM. */
static int print_files(const struct printer *p)
{
	struct annotate_lines of = {.count = 0};
	struct source_text *text;

	while (annotate_next_file(p->a, p->f, &of)) {
		int rc = annotate_text_open(p, of.line->file, &text);

		if (rc == -ENOMEM)
			return rc;
		fputc('\n', p->out);
		if (rc) {
			print_numbers(p, &of);
			continue;
		}
		print_source(p, &of, text);
		source_text_free(text);
	}
	return 0;
}

/* Is the source of any file there? *file: the first file that is known; 0 = none. */
static int has_source(const struct printer *p, uint32_t *file)
{
	struct annotate_lines of = {.count = 0};
	struct source_text *text;

	*file = 0;
	while (annotate_next_file(p->a, p->f, &of)) {
		*file = *file ? *file : of.line->file;
		if (annotate_text_open(p, of.line->file, &text))
			continue;
		source_text_free(text);
		return 1;
	}
	return 0;
}

static void annotate_text_no_code(FILE *out, const char *why)
{
	fputs("No code: ", out);
	layout_name(out, why, 0);
	fputc('\n', out);
}

static void advise(const struct printer *p, uint32_t file, const char *why)
{
	fputc('\n', p->out);
	if (file) {
		fputs("No source at ", p->out);
		layout_name(p->out, names_text(&p->m->names, file), 0);
		fputs(": --path OLD=NEW or --source-dir DIR says where it is.\n", p->out);
	} else {
		fputs("No lines: the program has no debug information. Compile it with -g, or "
		      "install its debug symbols (Debian: the package's -dbgsym), and record "
		      "again.\n",
		      p->out);
	}
	annotate_text_no_code(p->out, why);
}

int annotate_text(const struct annotate *a, const struct annotate_place *f,
		  const struct annotate_view *view, FILE *out)
{
	struct printer p = {a, f, view, source_model(a->source), out};
	struct disassembly *d = NULL;
	char why[DISASSEMBLY_WHY] = "";
	uint32_t file;
	int source = has_source(&p, &file), code = -ENOENT, rc = 0;

	if (view->disassemble || !source)
		code = disassembly_open(&d, a, f, &view->places, why);
	if (code == -ENOMEM)
		return code;
	head(&p);
	if (code)
		rc = print_files(&p);
	if (!code) {
		fputc('\n', out);
		print_code(&p, d);
	} else if (!source) {
		advise(&p, file, why);
	} else if (view->disassemble) {
		fputc('\n', out);
		annotate_text_no_code(out, why);
	}
	disassembly_free(d);
	if (rc < 0)
		return rc;
	return !code || (source && !view->disassemble) ? 0 : -ENOENT;
}
