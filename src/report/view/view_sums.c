/* SPDX-License-Identifier: Apache-2.0 */
/* Views whose rows an event names by itself: hot-methods, latencies, labels, threads. */
#include "report/sum/aggregate.h"
#include "report/view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- hot-methods: the sums of weft report by function, or by another key */

static int begin_methods(struct view_run *v)
{
	struct aggregate *a = malloc(sizeof(*a));

	if (!a)
		return -ENOMEM;
	if (!v->query->by && key_parse(&v->by, "function"))
		abort();
	aggregate_init(a, &v->by);
	v->state = a;
	return 0;
}

static void view_sums_add(uint64_t value[MEASURES], struct draws drawn[TALLY_DRAWN],
			  const struct weight *w)
{
	value[MEASURE_SAMPLES] += w->total.samples;
	value[MEASURE_CPU] += w->total.ns;
	value[MEASURE_SELF_SAMPLES] += w->self.samples;
	value[MEASURE_SELF] += w->self.ns;
	draws_add(&drawn[DRAWN_SELF], &w->self.draws);
	draws_add(&drawn[DRAWN_CPU], &w->total.draws);
}

static int add_method(struct view_run *v, const struct sample *s)
{
	struct weight w = {.last = 0};

	weight_count(&w, s, 1, 1);
	view_sums_add(v->tally.whole, v->tally.drawn, &w);
	return aggregate_add(v->state, source_model(v->source), s);
}

/* "worker" out of "worker [123]": the same name in another recording. */
static void cut_number(char *text)
{
	char *bracket = strrchr(text, '[');
	size_t digits = bracket ? strspn(bracket + 1, "0123456789") : 0;

	if (digits && strcmp(bracket + 1 + digits, "]") == 0 && bracket > text + 1)
		bracket[-1] = '\0';
}

static char *view_sums_row_name(const struct view_run *v, const struct aggregate *a, uint32_t id)
{
	char *text = key_name(&a->key, source_model(v->source), id);

	if (text && v->query->bare_names &&
	    (a->key.kind == KEY_THREAD || a->key.kind == KEY_PROCESS))
		cut_number(text);
	return text;
}

static int finish_methods(struct view_run *v)
{
	struct model *m = source_model(v->source);
	struct aggregate *a = v->state;

	for (uint32_t i = 0; a && i < a->count; i++) {
		char *text = view_sums_row_name(v, a, a->rows[i].id);
		struct tally_row *r =
			text ? tally_row(&v->tally,
					 (const uint32_t[TALLY_NAMES]){names_id(&m->names, text)})
			     : NULL;

		free(text);
		if (!r)
			return -ENOMEM;
		view_sums_add(r->value, r->drawn, &a->rows[i].weight);
	}
	if (a)
		aggregate_free(a);
	free(a);
	v->state = NULL;
	return 0;
}

const struct view view_methods = {
	.name = "hot-methods",
	.help = "functions by the samples that they ran in themselves",
	.kinds = SAMPLE_COUNTED,
	.order = {MEASURE_SELF, MEASURE_SELF_SAMPLES, MEASURE_SAMPLES},
	.column = {{"self", "self_share", VIEW_SHARE, MEASURE_SELF, 0},
		   {"self time", "self_ns", VIEW_TIME, MEASURE_SELF, 0},
		   {"samples", "self_samples", VIEW_COUNT, MEASURE_SELF_SAMPLES, 0},
		   {"total", "total_share", VIEW_SHARE, MEASURE_CPU, 0},
		   {"total time", "total_ns", VIEW_TIME, MEASURE_CPU, 0},
		   {"samples", "samples", VIEW_COUNT, MEASURE_SAMPLES, 0}},
	.names = {"function"},
	.begin = begin_methods,
	.add = add_method,
	.finish = finish_methods,
};

/* ---- latencies: event types that last */

static int add_latency(struct view_run *v, const struct sample *s)
{
	struct tally_row *r;

	if (s->duration_ns <= 0)
		return 0;
	r = tally_row(&v->tally, (const uint32_t[TALLY_NAMES]){s->type});
	if (!r)
		return -ENOMEM;
	tally_time(&v->tally, r, (uint64_t)s->duration_ns);
	return 0;
}

const struct view view_latencies = {
	.name = "latencies",
	.help = "event types by how long their events took",
	.kinds = SAMPLE_TIMED,
	.events = "all",
	.order = {MEASURE_TIME, MEASURE_COUNT, MEASURE_SAMPLES},
	.column = {{"count", "count", VIEW_COUNT, MEASURE_COUNT, 0},
		   {"total", "total_ns", VIEW_TIME, MEASURE_TIME, 0},
		   {"p50", "p50_ns", VIEW_QUANTILE, MEASURE_TIME, 500},
		   {"p90", "p90_ns", VIEW_QUANTILE, MEASURE_TIME, 900},
		   {"p99", "p99_ns", VIEW_QUANTILE, MEASURE_TIME, 990},
		   {"max", "max_ns", VIEW_QUANTILE, MEASURE_TIME, 1000}},
	.names = {"event"},
	.add = add_latency,
};

/* ---- labels: what samples and waits were for */

static int add_label(struct view_run *v, const struct sample *s)
{
	const struct model *m = source_model(v->source);

	tally_sample(v->tally.whole, v->tally.drawn, s);
	for (uint32_t i = 0; i < s->context.count; i++) {
		const struct context_item *c = &s->context.item[i];
		const char *key = names_text(&m->keys, c->key);
		struct names *names = &source_model(v->source)->names;
		struct tally_row *r;
		uint32_t name[TALLY_NAMES] = {0};

		if (c->key < CONTEXT_TAGS)
			continue;
		name[0] = names_id_format(names, "%s%s", key_prefix(key), key);
		name[1] = c->value;
		r = tally_row(&v->tally, name);
		if (!r)
			return -ENOMEM;
		if (tally_once(r, v->number))
			tally_sample(r->value, r->drawn, s);
	}
	return 0;
}

const struct view view_labels = {
	.name = "labels",
	.help = "values of labels and tags, with the samples and waits that had them",
	.kinds = SAMPLE_COUNTED | SAMPLE_WAITED,
	.events = "all",
	.order = {MEASURE_CPU, MEASURE_SAMPLES, MEASURE_WAITED},
	.column = {{"cpu", "cpu_share", VIEW_SHARE, MEASURE_CPU, 0},
		   {"cpu time", "cpu_ns", VIEW_TIME, MEASURE_CPU, 0},
		   {"samples", "samples", VIEW_COUNT, MEASURE_SAMPLES, 0},
		   {"wall time", "wall_ns", VIEW_TIME, MEASURE_WALL, 0},
		   {"waits", "waits", VIEW_COUNT, MEASURE_WAITS, 0},
		   {"waited", "waited_ns", VIEW_TIME, MEASURE_WAITED, 0}},
	.names = {"key", "value"},
	.add = add_label,
};

/* ---- threads */

static int view_sums_add_thread(struct view_run *v, const struct sample *s)
{
	const struct thread *t = model_thread_at(source_model(v->source), s->thread);
	struct tally_row *r;

	if (!s->thread)
		return 0;
	r = tally_row(&v->tally, (const uint32_t[TALLY_NAMES]){t->key, t->process});
	if (!r)
		return -ENOMEM;
	tally_sample(v->tally.whole, v->tally.drawn, s);
	tally_sample(r->value, r->drawn, s);
	r->value[MEASURE_EVENTS]++;
	return 0;
}

const struct view view_threads = {
	.name = "threads",
	.help = "threads: CPU time, waits, events",
	.kinds = SAMPLE_OF_THREAD | SAMPLE_COUNTED,
	.events = "all",
	.order = {MEASURE_CPU, MEASURE_SAMPLES, MEASURE_EVENTS},
	.column = {{"cpu", "cpu_share", VIEW_SHARE, MEASURE_CPU, 0},
		   {"cpu time", "cpu_ns", VIEW_TIME, MEASURE_CPU, 0},
		   {"samples", "samples", VIEW_COUNT, MEASURE_SAMPLES, 0},
		   {"wall time", "wall_ns", VIEW_TIME, MEASURE_WALL, 0},
		   {"waits", "waits", VIEW_COUNT, MEASURE_WAITS, 0},
		   {"waited", "waited_ns", VIEW_TIME, MEASURE_WAITED, 0},
		   {"events", "events", VIEW_COUNT, MEASURE_EVENTS, 0}},
	.names = {"thread", "process"},
	.add = view_sums_add_thread,
};
