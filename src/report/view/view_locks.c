/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of locks: waits with an address, of weft (weft.LockWait) and the JVM (monitors,
 * parked threads), by kind, lock and place. A lock's holder is the thread that events name
 * most often; spans are the innermost ones around the waits, each counted once in a row.
 */
#include "base/map.h"
#include "report/view/view.h"

#include <errno.h>
#include <string.h>

/* What a row has: a holder, which counts how often it was named, or a context. */
struct pair {
	uint32_t row;
	enum { PAIR_HOLDER, PAIR_SPAN } kind;
	uint32_t other; /* the holder's name, or the number of the context */
};

static int begin_locks(struct view_run *v)
{
	v->state = map_new();
	return v->state ? 0 : -ENOMEM;
}

static int finish_locks(struct view_run *v)
{
	map_free(v->state);
	v->state = NULL;
	return 0;
}

/* The first of these fields that the event has and that is not null. */
static const struct weft_jfr_node *any_field(const struct weft_jfr_event_view *e,
					     const char *const *names)
{
	for (; *names; names++) {
		const struct weft_jfr_node *n = weft_jfr_event_get(e, *names);

		if (n && n->shape != WEFT_JFR_V_NULL)
			return n;
	}
	return NULL;
}

/* "mutex", from the field of weft's events; else the simple name of the JVM's event type. */
static uint32_t view_locks_kind_of(struct view_run *v, const struct weft_jfr_event_view *e)
{
	static const char *const fields[] = {"kind", NULL};
	const char *type = weft_jfr_class_name(e->type), *dot = strrchr(type, '.');
	uint32_t kind = decode_text(source_decoder(v->source), any_field(e, fields));

	return kind ? kind : names_id(&source_model(v->source)->names, dot ? dot + 1 : type);
}

/* "java.lang.Object 0x7f0012345678"; 0: nothing is known. */
static uint32_t lock_of(struct view_run *v, const struct weft_jfr_event_view *e)
{
	static const char *const fields[] = {"monitorClass", "parkedClass", NULL};
	struct names *names = &source_model(v->source)->names;
	uint32_t class = decode_class(source_decoder(v->source), any_field(e, fields));
	int64_t address = decode_number(weft_jfr_event_get(e, "address"), 0);

	if (!address || address == -1) /* what the JVM writes for none */
		return class;
	return names_id_format(names, "%s%s0x%llx", names_text(names, class), class ? " " : "",
			       (unsigned long long)address);
}

static int note_holder(struct view_run *v, struct tally_row *r, const struct weft_jfr_event_view *e)
{
	static const char *const fields[] = {"holder", "previousOwner", "notifier", NULL};
	uint32_t thread = decode_thread(source_decoder(v->source), any_field(e, fields));
	struct pair pair = {(uint32_t)(r - v->tally.row), PAIR_HOLDER,
			    model_thread_at(source_model(v->source), thread)->key};
	struct pair best = {pair.row, PAIR_HOLDER, r->note};
	uint64_t *count, *most;

	if (!pair.other)
		return 0;
	count = map_put(v->state, &pair, sizeof(pair), NULL);
	if (!count)
		return -ENOMEM;
	++*count;
	most = map_get(v->state, &best, sizeof(best));
	if (!most || *count > *most)
		r->note = pair.other;
	return 0;
}

static int count_span(struct view_run *v, struct tally_row *r, const struct sample *s)
{
	struct pair pair = {(uint32_t)(r - v->tally.row), PAIR_SPAN, 0};
	int fresh;

	if (!source_contexts(v->source, s, &pair.other, 1))
		return 0;
	if (!map_put(v->state, &pair, sizeof(pair), &fresh))
		return -ENOMEM;
	r->value[MEASURE_SPANS] += fresh != 0;
	return 0;
}

static int add_lock(struct view_run *v, const struct sample *s)
{
	const struct weft_jfr_event_view *e = source_event(v->source);
	uint32_t place = view_place(source_model(v->source), s->stack);
	struct tally_row *r;
	int rc;

	if (!weft_jfr_class_annotated(e->type, "address", "jdk.jfr.MemoryAddress"))
		return 0;
	r = tally_row(&v->tally, (const uint32_t[TALLY_NAMES]){view_locks_kind_of(v, e),
							       lock_of(v, e), place});
	if (!r)
		return -ENOMEM;
	tally_time(&v->tally, r, s->duration_ns > 0 ? (uint64_t)s->duration_ns : 0);
	rc = note_holder(v, r, e);
	return rc ? rc : count_span(v, r, s);
}

const struct view view_locks = {
	.name = "locks",
	.help = "locks that threads waited for, where, and for whom",
	.kinds = SAMPLE_WAITED,
	.events = "all",
	.order = {MEASURE_TIME, MEASURE_COUNT, MEASURE_SAMPLES},
	.column = {{"count", "count", VIEW_COUNT, MEASURE_COUNT, 0},
		   {"total", "total_ns", VIEW_TIME, MEASURE_TIME, 0},
		   {"p50", "p50_ns", VIEW_QUANTILE, MEASURE_TIME, 500},
		   {"p99", "p99_ns", VIEW_QUANTILE, MEASURE_TIME, 990},
		   {"max", "max_ns", VIEW_QUANTILE, MEASURE_TIME, 1000},
		   {"spans", "spans", VIEW_COUNT, MEASURE_SPANS, 0}},
	.names = {"kind", "lock", "at", "holder"},
	.begin = begin_locks,
	.add = add_lock,
	.finish = finish_locks,
};
