/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk is read once for the times of its events (and its contextual events), its events are
 * sorted, and each is decoded again when its turn comes. With contexts the whole recording is read
 * before: for the times of each chunk's events, and the contexts that reach back before theirs.
 */
#include "print/print.h"

#include "base/array.h"
#include "base/output.h"
#include "jfr/common/arena.h"
#include "print/common_time.h"
#include "print/context.h"
#include "print/form.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_VALUES 1000000
#define MOST_ENTRIES ((size_t)4 << 20)
#define MOST_TEXTS ((size_t)64 << 20) /* bytes of printed contexts that are not written anew */
#define CLOCK_OFF_NS 1000000
#define MOST_CONTEXTS 256 /* open at once around one event; of more the innermost */

struct batch_entry {
	int64_t end_ticks;
	uint64_t offset;
};

/* Places of events, in the order in which they end; of equal ends, in that of the file. */
struct batch {
	struct batch_entry *entries;
	size_t count, room;
	int is_sorted; /* so far they came in order */
};

struct printer {
	const struct print_options *options;
	struct sink sink;
	struct print_totals totals;

	/* of the recording that is open */
	struct weft_jfr_reader *reader;
	struct plan_table *plans;
	struct walk walk;
	struct batch batch;
	struct contexts contexts;
	struct sink scratch; /* a context while it is written */
	struct arena texts;  /* contexts as written, of the chunk */
	uint64_t chunk;
	struct common_time clock;                    /* for the eye */
	const struct weft_jfr_class *const *classes; /* of the chunk that it is from */
	struct common_time common;                   /* for contexts */
	int64_t last_ticks;
	int is_open; /* events of the chunk were read already */
	char error[192];
};

struct printer *printer_new(const struct print_options *options, struct output *out)
{
	struct printer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->options = options;
	if (sink_open(&p->sink, out) || sink_open(&p->scratch, NULL)) {
		printer_free(p);
		return NULL;
	}
	p->scratch.limit = CONTEXT_BYTES;
	sink_text(&p->sink, options->form->begin);
	return p;
}

void printer_free(struct printer *p)
{
	if (!p)
		return;
	printer_close(p);
	free(p->batch.entries);
	sink_close(&p->sink);
	sink_close(&p->scratch);
	arena_free(&p->texts);
	free(p);
}

const char *printer_text(const struct printer *p, size_t *bytes)
{
	*bytes = p->sink.used;
	return p->sink.data;
}

static void note_error(struct printer *p)
{
	if (!p->error[0])
		snprintf(p->error, sizeof(p->error), "%s", weft_jfr_error(p->reader));
}

const char *printer_error(const struct printer *p)
{
	return p->error;
}

/* ---------------------------------------------------------------- a chunk */

/*
 * Each chunk has a clock of its own, started anew. The JDK's tool uses the clock of an earlier
 * chunk as long as the metadata is the same. So that times are equal to the nanosecond, so do we
 * if the clocks differ by less than a millisecond.
 */
static void set_clock(struct printer *p)
{
	struct weft_jfr_chunk_view *chunk = &p->walk.chunk;
	const struct weft_jfr_class *const *before = p->classes;

	weft_jfr_classes(p->reader, &p->classes);
	if (p->classes != before || !common_time_agrees(&p->clock, chunk, CLOCK_OFF_NS - 1, 0))
		common_time_set(&p->clock, chunk);
	chunk->start_ns = p->clock.start_ns;
	chunk->start_ticks = p->clock.start_ticks;
}

static int is_same_chunk(const struct printer *p, uint64_t chunk)
{
	return p->is_open && p->chunk == chunk;
}

static int print_enter_chunk(struct printer *p, uint64_t chunk)
{
	int rc = weft_jfr_chunk(p->reader, &p->walk.chunk);

	if (rc)
		return rc;
	if (!is_same_chunk(p, chunk))
		common_time_enter(&p->common, &p->walk.chunk);
	set_clock(p);
	p->chunk = chunk;
	p->is_open = 1;
	return 0;
}

static int start_chunk(struct printer *p, uint64_t chunk)
{
	int is_new = !is_same_chunk(p, chunk), rc = print_enter_chunk(p, chunk);

	if (rc || !is_new)
		return rc;
	p->last_ticks = INT64_MIN;
	arena_free(&p->texts);
	return contexts_enter(&p->contexts, chunk);
}

static int print_is_context(const struct plan *plan, const struct weft_jfr_event_view *e)
{
	return plan->is_contextual && e->fields && plan->thread >= 0 && e->start_ns != INT64_MIN;
}

/* Does a context hold for events of chunks before its own? */
static int reaches_back(const struct printer *p, const struct weft_jfr_event_view *e)
{
	return common_time_start(&p->common, e) <= chunk_ends_before(&p->contexts.ends, e->chunk);
}

static int add_context(struct printer *p, const struct plan *plan,
		       const struct weft_jfr_event_view *e)
{
	return contexts_add(&p->contexts, e->fields[plan->thread].pool_key,
			    common_time_start(&p->common, e), common_time_end(&p->common, e),
			    e->offset);
}

static int batch_add(struct batch *b, int64_t end_ticks, uint64_t offset)
{
	struct batch_entry *e = array_add(&b->entries, &b->count, &b->room, sizeof(*e));

	if (!e)
		return -ENOMEM;
	if (b->count > 1 && end_ticks < e[-1].end_ticks)
		b->is_sorted = 0;
	*e = (struct batch_entry){end_ticks, offset};
	return 0;
}

static int batch_by_end(const void *left, const void *right)
{
	const struct batch_entry *a = left, *b = right;

	if (a->end_ticks != b->end_ticks)
		return a->end_ticks < b->end_ticks ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* A context of the chunk that the survey has not kept. One that it left out holds here alone. */
static int add_own_context(struct printer *p, const struct plan *plan,
			   const struct weft_jfr_event_view *e)
{
	struct contexts *c = &p->contexts;
	int is_back = reaches_back(p, e), rc;

	if (is_back && (c->left_at == c->left_count || c->left[c->left_at] != e->offset))
		return 0;
	rc = add_context(p, plan, e);
	if (!rc && is_back) {
		c->left_at++;
		c->printed[c->join.count - 1].state = CONTEXT_LEFT_OUT;
	}
	return rc;
}

/* An event without a time stays where it is: behind the one before it. */
static int print_add_event(struct printer *p, const struct weft_jfr_event_view *e)
{
	const struct plan *plan = plan_of(p->plans, e->type);
	int rc = 0;

	if (!plan)
		return -ENOMEM;
	if (e->start_ns != INT64_MIN)
		p->last_ticks = (int64_t)((uint64_t)e->start_ticks + (uint64_t)e->duration_ticks);
	if (print_is_context(plan, e))
		rc = add_own_context(p, plan, e);
	if (!rc && plan->is_wanted)
		rc = batch_add(&p->batch, p->last_ticks, e->offset);
	return rc;
}

/* The event in @e and those behind it, up to the chunk's end. What weft_jfr_next_here() gave. */
static int read_chunk(struct printer *p, struct weft_jfr_event_view *e)
{
	int rc = start_chunk(p, e->chunk);

	p->batch.count = 0;
	p->batch.is_sorted = 1;
	if (!rc)
		rc = print_add_event(p, e);
	while (!rc && p->batch.count < MOST_ENTRIES && (rc = weft_jfr_next_here(p->reader, e)) == 1)
		rc = print_add_event(p, e);
	if (!p->batch.is_sorted)
		qsort(p->batch.entries, p->batch.count, sizeof(*p->batch.entries), batch_by_end);
	return rc;
}

/* ---------------------------------------------------------------- contexts */

/* The text lies in p->scratch until the next one is written. */
static void print_write_context(struct printer *p, struct plan *plan,
				const struct weft_jfr_event_view *e, struct context_printed *i)
{
	struct walk w = p->walk;

	sink_clear(&p->scratch);
	w.s = &p->scratch;
	w.budget = CONTEXT_VALUES;
	p->options->form->context(&w, plan, e);
	i->is_huge = p->scratch.rc == -EFBIG;
	i->text = p->scratch.data;
	i->text_bytes = i->is_huge ? 0 : p->scratch.used;
}

static int keep_context(struct printer *p, struct context_printed *i)
{
	int rc = contexts_keep(&p->contexts, i);

	p->totals.contexts_left_out += rc == 0;
	return rc < 0 ? rc : 0;
}

static int survey_event(struct printer *p, const struct weft_jfr_event_view *e)
{
	struct contexts *c = &p->contexts;
	struct plan *plan = plan_of(p->plans, e->type);
	int rc = plan ? 0 : -ENOMEM;

	if (!rc && !is_same_chunk(p, e->chunk))
		rc = print_enter_chunk(p, e->chunk);
	if (!rc && e->start_ns != INT64_MIN)
		rc = chunk_ends_add(&c->ends, e->chunk, common_time_end(&p->common, e));
	if (rc || !print_is_context(plan, e) || !reaches_back(p, e))
		return rc;
	rc = add_context(p, plan, e);
	if (rc)
		return rc;
	print_write_context(p, plan, e, &c->printed[c->join.count - 1]);
	if (p->scratch.rc && p->scratch.rc != -EFBIG)
		return p->scratch.rc;
	rc = keep_context(p, &c->printed[c->join.count - 1]);
	if (!rc && c->printed[c->join.count - 1].state != CONTEXT_KEPT)
		rc = contexts_leave(c);
	return rc;
}

static int write_again(struct printer *p, struct context_printed *i)
{
	struct weft_jfr_event_view e;
	int rc = weft_jfr_again(p->reader, i->offset, &e);
	struct plan *plan;

	if (rc != 1)
		return rc;
	plan = plan_of(p->plans, e.type);
	if (!plan)
		return -ENOMEM;
	print_write_context(p, plan, &e, i);
	i->text = arena_text(&p->texts, i->text, i->text_bytes);
	return i->text && (!p->scratch.rc || i->is_huge) ? 0 : -ENOMEM;
}

/* Texts of the chunk's contexts are written anew when they are needed; kept ones cannot be. */
static void forget_texts(struct printer *p)
{
	for (size_t i = 0; i < p->contexts.join.count; i++)
		if (p->contexts.printed[i].state != CONTEXT_KEPT)
			p->contexts.printed[i].text = NULL;
	arena_free(&p->texts);
}

/* Keeps the chunk's contexts that hold for events of later chunks. */
static int keep_contexts(struct printer *p)
{
	struct contexts *c = &p->contexts;
	int64_t from_ns = chunk_ends_from(&c->ends, p->chunk + 1);
	int rc = 0;

	for (uint32_t i = 0; i < c->join.count && !rc; i++) {
		const struct join_interval *v = &c->join.intervals[i];
		struct context_printed *printed = &c->printed[v->payload];

		if (printed->state != CONTEXT_OF_CHUNK || v->last_ns < from_ns)
			continue;
		if (p->texts.total > MOST_TEXTS)
			forget_texts(p);
		if (!printed->text)
			rc = write_again(p, printed);
		if (!rc)
			rc = keep_context(p, printed);
	}
	return rc;
}

/* Finds the contexts around @e. If one has to be written first, @e is decoded again. */
static int find_contexts(struct printer *p, struct weft_jfr_event_view *e, const struct plan *plan,
			 struct context_text *texts, size_t *count)
{
	uint64_t offset = e->offset;
	struct context_printed *open[MOST_CONTEXTS];
	size_t all;
	int rc = 0, is_written = 0;

	*count = 0;
	if (plan->is_contextual || plan->thread < 0 || e->start_ns == INT64_MIN)
		return 0;
	if (p->texts.total > MOST_TEXTS)
		forget_texts(p);
	all = contexts_at(&p->contexts, e->fields[plan->thread].pool_key,
			  common_time_end(&p->common, e), open, MOST_CONTEXTS);
	for (size_t i = 0; i < all && !rc; i++) {
		if (!open[i]->text) {
			rc = write_again(p, open[i]);
			is_written = 1;
		}
		if (open[i]->text_bytes)
			texts[(*count)++] =
				(struct context_text){open[i]->text, open[i]->text_bytes};
		else
			p->totals.cut++;
	}
	if (!rc && is_written && weft_jfr_again(p->reader, offset, e) != 1)
		rc = -EBADMSG;
	return rc;
}

/* ---------------------------------------------------------------- an event */

static int show_event(struct printer *p, uint64_t offset)
{
	struct context_text texts[MOST_CONTEXTS];
	struct weft_jfr_event_view e;
	struct form_event event = {.view = &e, .is_first = !p->totals.events};
	int rc = weft_jfr_again(p->reader, offset, &e);

	if (rc != 1)
		return rc;
	event.plan = plan_of(p->plans, e.type);
	if (!event.plan)
		return -ENOMEM;
	if (p->options->with_context) {
		event.contexts = texts;
		rc = find_contexts(p, &e, event.plan, texts, &event.context_count);
		if (rc)
			return rc;
	}
	p->walk.budget = p->options->most_values ? p->options->most_values : MOST_VALUES;
	p->walk.is_cut = 0;
	p->options->form->event(&p->walk, &event);
	p->totals.events++;
	p->totals.cut += (uint64_t)p->walk.is_cut;
	if (p->options->most_bytes && !p->sink.out && p->sink.used > p->options->most_bytes)
		return -EFBIG;
	return p->sink.rc;
}

/* A damaged event does not keep the others from being shown. */
static int show_batch(struct printer *p)
{
	int rc = 0, damage = 0;

	join_seal(&p->contexts.join);
	for (size_t i = 0; i < p->batch.count && !rc; i++) {
		rc = show_event(p, p->batch.entries[i].offset);
		if (rc != -EBADMSG)
			continue;
		note_error(p);
		damage = rc;
		rc = 0;
	}
	return rc ? rc : damage;
}

/* Types without events count as selected, too. */
static void look_at_types(struct printer *p)
{
	const struct weft_jfr_class *const *types;
	size_t count = weft_jfr_event_types(p->reader, &types);

	for (size_t i = 0; i < count; i++)
		if (!plan_of(p->plans, types[i]))
			return;
}

/* ---------------------------------------------------------------- a recording */

static int print_is_selected(const struct weft_jfr_class *type, void *arg)
{
	struct printer *p = arg;

	if (!p->options->select || strcmp(weft_jfr_class_super(type), "jdk.jfr.Event") != 0)
		return 1;
	return select_matches(p->options->select, type);
}

/* While a chunk's events are sorted their fields are needed of contexts alone. */
static int needs_fields(const struct weft_jfr_class *type, void *arg)
{
	struct printer *p = arg;
	const struct plan *plan = p->options->with_context ? plan_of(p->plans, type) : NULL;

	return plan && plan->is_contextual;
}

static int start_reading(struct printer *p, struct weft_jfr_reader *r,
			 int (*is_wanted)(const struct weft_jfr_class *type, void *arg))
{
	p->reader = r;
	p->is_open = 0;
	p->clock = (struct common_time){0};
	p->classes = NULL;
	p->common = (struct common_time){0};
	plan_table_free(p->plans);
	p->plans = plan_table_new(p->options->form->key, is_wanted, p);
	p->walk = (struct walk){
		.s = &p->sink, .plans = p->plans, .stack_depth = p->options->stack_depth};
	weft_jfr_filter(r, needs_fields, p);
	return p->plans ? 0 : -ENOMEM;
}

/* The reading before the one that prints; damage ends both at the same place. */
static int print_survey(struct printer *p, struct weft_jfr_reader *r)
{
	struct weft_jfr_event_view e;
	int rc;

	if (!r)
		return -errno;
	rc = start_reading(p, r, NULL);
	while (!rc && weft_jfr_next(r, &e) == 1)
		rc = survey_event(p, &e);
	chunk_ends_seal(&p->contexts.ends);
	weft_jfr_reader_free(r);
	return rc;
}

int printer_open(struct printer *p, struct weft_jfr_reader *r,
		 struct weft_jfr_reader *(*open)(const void *arg), const void *arg)
{
	int rc = 0, rc_start;

	printer_close(p);
	p->error[0] = 0;
	if (p->options->with_context && open)
		rc = print_survey(p, open(arg));
	rc_start = start_reading(p, r, print_is_selected);
	return rc_start ? rc_start : rc;
}

void printer_close(struct printer *p)
{
	contexts_free(&p->contexts);
	plan_table_free(p->plans);
	p->plans = NULL;
	p->reader = NULL;
	p->is_open = 0;
}

int printer_step(struct printer *p)
{
	struct weft_jfr_event_view e;
	int rc;

	while ((rc = weft_jfr_next(p->reader, &e)) == 1) {
		int read = read_chunk(p, &e), shown = 0;

		if (read != -ENOMEM || p->batch.count)
			shown = show_batch(p);
		rc = shown ? shown : read < 0 ? read : keep_contexts(p);
		if (rc)
			break;
	}
	if (rc < 0 && rc != -EAGAIN && !p->sink.rc)
		note_error(p);
	if (rc != -EAGAIN)
		look_at_types(p);
	sink_flush(&p->sink);
	if (!p->sink.rc && rc == -EAGAIN && p->sink.out)
		p->sink.rc = output_flush(p->sink.out);
	return p->sink.rc ? p->sink.rc : rc;
}

int printer_end(struct printer *p)
{
	sink_text(&p->sink, p->options->form->end);
	return sink_flush(&p->sink);
}

void printer_totals(const struct printer *p, struct print_totals *out)
{
	*out = p->totals;
	out->output_rc = p->sink.rc;
}

void printer_types(const struct printer *p, void (*offer)(const char *name, void *arg), void *arg)
{
	const struct weft_jfr_class *const *types;
	size_t count = weft_jfr_event_types(p->reader, &types);

	for (size_t i = 0; i < count; i++)
		offer(weft_jfr_class_name(types[i]), arg);
}
