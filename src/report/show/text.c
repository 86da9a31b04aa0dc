/* SPDX-License-Identifier: Apache-2.0 */
/* A report as text: a head that says what the recording is, then the tables. */
#include "report/show/text.h"

#include "report/show/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_COLUMNS 13 /* with the blanks around it */
#define SAMPLE_COLUMNS 11
#define NAME_COLUMNS_LEFT 24 /* errors are left out where less would be left of a name */
#define PROCESSES_SHOWN 5
#define RESOURCE_SHOWN 3 /* attributes of one process */

/* ---- head */

static void head_file(const struct report *r, const struct text_style *s, FILE *out)
{
	char time[LAYOUT_NUMBER], weight[LAYOUT_NUMBER], text[LAYOUT_TEXT];

	fputs(s->bold, out);
	layout_name(out, r->path, 0);
	fprintf(out, "%s: %s, %llu samples", s->plain, layout_time(time, facts_duration(r->facts)),
		(unsigned long long)r->whole.samples);
	if (r->whole.ns)
		fprintf(out, ", %s", layout_time(weight, r->whole.ns));
	if (r->where_count)
		fprintf(out, " (of %llu samples)", (unsigned long long)r->read);
	fputc('\n', out);
	for (size_t i = 0; i < r->where_count; i++)
		layout_where(out, i ? "            " : "where       ", &r->wheres[i]);
	if (*r->facts->damage)
		fprintf(out, "%sdamaged%s     %s\n", s->warn, s->plain,
			layout_clean(text, r->facts->damage));
}

static void head_weight(const struct fact_type *t, FILE *out)
{
	char period[LAYOUT_NUMBER];

	if (t->period_ns)
		fprintf(out, " of %s", layout_time(period, t->period_ns));
	else
		fputs(t->lasts ? ", each as long as it lasted" : " of unknown weight", out);
}

static void head_types(const struct report *r, FILE *out)
{
	char name[LAYOUT_TEXT];
	const char *title = "samples";

	for (uint32_t i = 0; i < r->facts->type_count; i++) {
		const struct fact_type *t = &r->facts->types[i];

		if (!t->events)
			continue;
		fprintf(out, "%-12s%llu %s", title, (unsigned long long)t->events,
			layout_clean(name, facts_name(r->facts, t->name)));
		if (!r->counts)
			head_weight(t, out);
		fputs(t->counted ? "\n" : ", not counted (see --event)\n", out);
		title = "";
	}
}

/* Time that passed: running, waiting for a CPU, and blocked. */
static void head_time(const struct report *r, FILE *out)
{
	char all[LAYOUT_NUMBER], part[FACT_PLACES][LAYOUT_NUMBER];

	if (!r->has_states || !r->whole.ns)
		return;
	fprintf(out, "%-12s%s = %s running + %s waiting for a CPU + %s blocked\n", "time",
		layout_time(all, r->whole.ns),
		layout_time(part[FACT_RUNNING], r->state_ns[FACT_RUNNING]),
		layout_time(part[FACT_WAITING], r->state_ns[FACT_WAITING]),
		layout_time(part[FACT_BLOCKED], r->state_ns[FACT_BLOCKED]));
}

static void head_processes(const struct report *r, const struct text_style *s, FILE *out)
{
	char name[LAYOUT_TEXT], end[LAYOUT_TEXT];

	for (uint32_t i = 0; i < r->facts->process_count; i++) {
		const struct fact_process *p = &r->facts->processes[i];

		if (i == PROCESSES_SHOWN && r->facts->process_count > i + 1 && !s->counters) {
			fprintf(out, "%-12s... and %u more (--by process)\n", "",
				r->facts->process_count - i);
			return;
		}
		fprintf(out, "%-12s%s, %s: ", i ? "" : "processes",
			layout_clean(name, facts_name(r->facts, p->name)),
			layout_clean(end, facts_name(r->facts, p->end)));
		layout_name(out, facts_name(r->facts, p->command_line), 60);
		fputc('\n', out);
	}
}

/* Those that tell most come first. */
static int resource_rank(const char *key)
{
	static const char *const first[] = {"service.name", "service.version",
					    "deployment.environment.name"};
	int i = 0;

	while (i < (int)(sizeof(first) / sizeof(first[0])) && strcmp(key, first[i]) != 0)
		i++;
	return i;
}

static void head_attribute(const struct model *m, const struct resource_attribute *a, FILE *out)
{
	layout_name(out, names_text(&m->resources.keys, a->key), 40);
	fputc('=', out);
	layout_name(out, names_text(&m->names, resources_newest(&m->resources, a)), 40);
}

/* What a process says of itself, at most so many attributes: how many it has. */
static uint32_t head_attributes(const struct model *m, uint32_t process, uint32_t most, FILE *out)
{
	const struct resources *all = &m->resources;
	uint32_t count = 0;

	for (int rank = 0; rank <= resource_rank(""); rank++) {
		const struct resource_attribute *a = NULL;

		while ((a = resources_next(all, process, a))) {
			if (resource_rank(names_text(&all->keys, a->key)) != rank ||
			    count++ >= most)
				continue;
			fputs(count > 1 ? ", " : ": ", out);
			head_attribute(m, a, out);
		}
	}
	return count;
}

static void head_resources(const struct report *r, const struct text_style *s, FILE *out)
{
	uint32_t lines = 0, most = s->counters ? UINT32_MAX : RESOURCE_SHOWN;
	char name[LAYOUT_TEXT];

	for (uint32_t i = 0; i < r->facts->process_count; i++) {
		uint32_t process = r->facts->processes[i].name, count;

		if (!resources_next(&r->model->resources, process, NULL))
			continue;
		fprintf(out, "%-12s", lines++ ? "" : "resource");
		if (lines > PROCESSES_SHOWN && !s->counters) {
			fputs("... and more (--by resource:KEY)\n", out);
			return;
		}
		fputs(layout_clean(name, facts_name(r->facts, process)), out);
		count = head_attributes(r->model, process, most, out);
		if (count > most)
			fprintf(out, ", and %u more", count - most);
		fputc('\n', out);
	}
}

static void head_context(const struct report *r, FILE *out)
{
	/* Of samples, even where their time is known. */
	struct amount part = r->with_context, whole = r->whole;
	char share[LAYOUT_NUMBER];

	part.ns = whole.ns = 0;
	fprintf(out, "%-12s%llu samples with context (%s)", "context",
		(unsigned long long)part.samples,
		layout_share_error(share, &part, &whole, r->is_sampled));
	if (r->context_cut)
		fprintf(out, ", %llu values left out", (unsigned long long)r->context_cut);
	fputc('\n', out);
}

/* Keys of labels, for --by and --where; tags have their tables. */
static void head_labels(const struct report *r, FILE *out)
{
	const char *title = "labels      ";
	char name[LAYOUT_TEXT];

	for (uint32_t i = CONTEXT_TAGS; i < r->key_count; i++) {
		const char *key = names_text(&r->model->keys, i);

		if (*key_prefix(key))
			continue;
		fprintf(out, "%s%s", title, layout_clean(name, key_bare(key)));
		title = ", ";
	}
	if (*title == ',')
		fputc('\n', out);
}

/* ---- tables */

/* Context that a row's samples share, as "trace=... route=/checkout". */
static void details(const struct report *r, const struct aggregate *a, const struct row *row,
		    char *text, size_t room)
{
	size_t used = 0;

	*text = 0;
	for (uint32_t i = row->common_count; i-- > 0 && used < room;) {
		const struct context_item *c = &row->common[i];
		const char *key = context_key_name(r->model, c->key);
		int bytes;

		if (c->value == row->id || (c->key == CONTEXT_SPAN && a->key.kind != KEY_SPAN))
			continue;
		bytes = snprintf(text + used, room - used, "  %s=%s", key,
				 names_text(&r->model->names, c->value));
		used += bytes > 0 ? (size_t)bytes : 0;
	}
}

static int has_details(const struct aggregate *a)
{
	return a->key.kind == KEY_SPAN || a->key.kind == KEY_ROOT || a->key.kind == KEY_TRACE;
}

/* Is there a row that looks the same, for a line of another file of the same name? */
static int has_double(const struct report *r, const struct aggregate *a, const struct row *row)
{
	const struct source_line *one = row->id ? model_line_at(r->model, row->id) : NULL;

	for (uint32_t i = 0; i < a->count && one; i++) {
		const struct source_line *other =
			a->rows[i].id ? model_line_at(r->model, a->rows[i].id) : NULL;

		if (other && other->line == one->line && other->function == one->function &&
		    other->file != one->file &&
		    strcmp(key_base_name(names_text(&r->model->names, other->file)),
			   key_base_name(names_text(&r->model->names, one->file))) == 0)
			return 1;
	}
	return 0;
}

static char *text_row_name(const struct report *r, const struct aggregate *a, const struct row *row)
{
	if (a->key.kind == KEY_LINE && has_double(r, a, row))
		return key_line_name(r->model, model_line_at(r->model, row->id), 1);
	return key_name(&a->key, r->model, row->id);
}

static void print_name(const struct report *r, const struct aggregate *a, const struct row *row,
		       int columns, FILE *out)
{
	char *name = text_row_name(r, a, row);
	char more[512] = "", *line = NULL;

	if (has_details(a))
		details(r, a, row, more, sizeof(more));
	if (asprintf(&line, "%s%s", name ? name : "", more) < 0)
		line = NULL;
	layout_name(out, line ? line : "", columns);
	free(line);
	free(name);
	fputc('\n', out);
}

/* "-" where no weight is known at all. */
static const char *text_weight(char out[LAYOUT_NUMBER], const struct report *r, uint64_t ns)
{
	return r->whole.ns ? layout_time(out, ns) : "-";
}

int text_has_errors(const struct report *r, const struct text_style *s, int used)
{
	return r->is_sampled && r->whole.samples &&
	       (!s->columns || s->columns >= used + NAME_COLUMNS_LEFT);
}

/* Columns before a row's name. */
static int number_columns(const struct aggregate *a, int has_errors)
{
	int each = LAYOUT_SHARE + (has_errors ? LAYOUT_ERROR : 0) + TIME_COLUMNS;

	return (key_is_per_frame(&a->key) ? 2 : 1) * each + SAMPLE_COLUMNS;
}

static void text_print_row(const struct report *r, const struct aggregate *a, const struct row *row,
			   const struct text_style *s, int has_errors, FILE *out)
{
	const struct weight *w = &row->weight;
	char time[LAYOUT_NUMBER];

	if (key_is_per_frame(&a->key)) {
		layout_amount(out, &w->self, &r->whole, has_errors);
		fprintf(out, " %11s ", text_weight(time, r, w->self.ns));
	}
	layout_amount(out, &w->total, &r->whole, has_errors);
	fprintf(out, " %11s %9llu  ", text_weight(time, r, w->total.ns),
		(unsigned long long)w->total.samples);
	print_name(r, a, row, layout_rest(s->columns, number_columns(a, has_errors)), out);
}

void text_halving(const struct report *r, const struct amount *top, const struct text_style *s,
		  FILE *out)
{
	double times = interval_times_to_halve(&top->draws, &r->whole.draws);

	if (r->overview || times <= 1)
		return;
	fprintf(out,
		"%s" LAYOUT_PLUS_MINUS " is the 95 %% interval; %.0f more samples (%.1f times as "
		"many) would halve the first row's%s\n",
		s->dim, ceil((times - 1) * (double)r->whole.samples), times, s->plain);
}

static void print_sum(const struct report *r, const struct aggregate *a, const struct text_style *s,
		      FILE *out)
{
	uint32_t shown = s->top && s->top < a->count ? (uint32_t)s->top : a->count;
	int has_errors = text_has_errors(r, s, number_columns(a, 1));
	int wide = has_errors ? LAYOUT_ERROR : 0;
	const struct weight *top = &a->rows[0].weight;
	char key[LAYOUT_TEXT];

	layout_clean(key, a->key.text);

	fputc('\n', out);
	fputs(s->bold, out);
	if (key_is_per_frame(&a->key))
		fprintf(out, "%8s %*s ", "self", wide + 11, "");
	fprintf(out, "%8s %*s %9s  %s%s\n", key_is_per_frame(&a->key) ? "total" : "share",
		wide + 11, "", "samples", key, s->plain);
	for (uint32_t i = 0; i < shown; i++)
		text_print_row(r, a, &a->rows[i], s, has_errors, out);
	if (shown < a->count)
		fprintf(out, "%s... and %u more (--by %s --top 0)%s\n", s->dim, a->count - shown,
			key, s->plain);
	if (has_errors)
		text_halving(r, top->self.samples ? &top->self : &top->total, s, out);
}

/* Names the tables of tags that are not shown: nearly equal to another one, or too many. */
static void print_left_out(const struct report *r, const struct text_style *s, FILE *out)
{
	const char *title = "tables left out: ";
	char name[LAYOUT_TEXT], other[LAYOUT_TEXT];

	for (size_t i = r->first_tag; i < r->first_tag + r->tag_count; i++) {
		if (!r->like[i])
			continue;
		fprintf(out, "%s%s%s", *title == 't' ? "\n" : "", *title == 't' ? s->dim : "",
			title);
		fputs(layout_clean(name, r->sums[i].key.text), out);
		if (r->like[i] != REPORT_BEYOND)
			fprintf(out, " (nearly as %s)",
				layout_clean(other, r->sums[r->like[i] - 1].key.text));
		title = ", ";
	}
	if (r->tags_left)
		fprintf(out, "%s%s%s%u more tags and labels", *title == 't' ? "\n" : "",
			*title == 't' ? s->dim : "", title, r->tags_left);
	if (*title == ',' || r->tags_left)
		fprintf(out, "; --by KEY shows one%s\n", s->plain);
}

static void text_print_sums(const struct report *r, const struct text_style *s, FILE *out)
{
	for (size_t i = 0; i < r->sum_count; i++) {
		if (!r->like[i] && report_worth_showing(r, &r->sums[i]))
			print_sum(r, &r->sums[i], s, out);
		if (r->tag_count && i + 1 == r->first_tag + r->tag_count)
			print_left_out(r, s, out);
	}
}

int report_text(struct report *r, const struct text_style *style, FILE *out)
{
	int rc = 0;

	head_file(r, style, out);
	head_types(r, out);
	head_time(r, out);
	head_processes(r, style, out);
	head_resources(r, style, out);
	head_context(r, out);
	head_labels(r, out);
	text_account(r->facts, style, out);
	text_counters(r->facts, style, out);
	if (r->has_tree)
		rc = text_tree(r, style, out);
	else
		text_print_sums(r, style, out);
	if (style->counters)
		text_all_counters(r->facts, style, out);
	return rc;
}
