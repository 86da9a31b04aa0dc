/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs and waits of coroutines in the file. Each has its context in its own fields and needs no
 * span. The two types are declared with the first of them, so that other recordings do not have
 * them.
 */
#include "collector/write/recording_private.h"

#include "base/recording.h"
#include "collector/walk/walking.h"

#include <errno.h>

static struct context_key recording_switch_key_of(struct recording *r,
						  const struct walked_switch *placed)
{
	const struct weft_switch_record *record = &placed->record;
	struct context_key key = {.span_id = record->span_id, .root_span_id = record->root_span_id};

	memcpy(key.trace_id, record->trace_id, sizeof(key.trace_id));
	memcpy(key.tags, placed->tags, sizeof(key.tags));
	key.labels = recording_label_set(r, walked_switch_labels(placed), record->record.rsv);
	return key;
}

static int64_t delay_of(const struct weft_switch_record *record)
{
	return record->record.flags & WEFT_SWITCH_WOKEN
		       ? (int64_t)(record->end_ns - record->woken_ns)
		       : INT64_MIN;
}

/* Fills the ids, which are the last three of @fixed values, and the columns behind them, but for
 * the coroutine's: the types have a field for that. Returns how many values there are then. */
static size_t fill_columns(struct recording *r, struct process *p, const struct context_key *key,
			   struct context_texts *texts, struct weft_jfr_value *v, size_t fixed)
{
	size_t but = r->tags.coroutine, count = r->columns;

	recording_fill_context(r, p, key, texts, v + fixed - 3);
	if (!but || but > count)
		return fixed + count;
	memmove(&v[fixed + but - 1], &v[fixed + but], (count - but) * sizeof(*v));
	return fixed + count - 1;
}

static int recording_switch_declare(struct recording *r)
{
	if (r->type[TYPE_RUN] && r->type[TYPE_WAIT])
		return 0;
	for (enum recording_type i = TYPE_RUN; i <= TYPE_WAIT; i++) {
		if (!r->type[i])
			r->type[i] = declare_type(r->writer, i, &r->tags);
		if (!r->type[i])
			return -ENOMEM;
	}
	recording_put_switch_settings(r);
	return 0;
}

/* Decides by the settings of its type, and counts what is left out. */
static int recording_switch_is_wanted(struct process *p, const struct weft_switch_record *record,
				      const struct context_key *key, const struct event_settings *s)
{
	static const uint8_t no_trace[16];

	if (!s->enabled)
		return 0;
	if (s->select == SELECT_IF_CONTEXT && !key->span_id && !key->root_span_id && !key->labels &&
	    memcmp(key->trace_id, no_trace, sizeof(no_trace)) == 0) {
		p->work->own.counter[WEFT_COUNTER_EVENTS_UNSELECTED]++;
		return 0;
	}
	if (record->end_ns - record->begin_ns >= s->threshold_ns)
		return 1;
	p->work->own.counter[WEFT_COUNTER_EVENTS_SHORT]++;
	return 0;
}

void recording_switch(struct recording *r, struct process *p, const struct process_thread *t,
		      const struct walked_switch *placed, const struct recording_trace *site)
{
	const struct weft_switch_record *record = &placed->record;
	int is_run = (record->record.flags & WEFT_SWITCH_RUN) != 0;
	struct weft_jfr_value v[RECORDING_WAIT_FIXED_FIELDS + COLUMNS_MAX];
	struct context_key key = recording_switch_key_of(r, placed);
	struct context_texts texts;
	size_t fixed = is_run ? RECORDING_RUN_FIXED_FIELDS : RECORDING_WAIT_FIXED_FIELDS, count;
	uint16_t edge = is_run ? WEFT_SWITCH_LAST : WEFT_SWITCH_FIRST;

	if (!recording_switch_is_wanted(p, record, &key, &r->switch_settings[!is_run]))
		return;
	recording_meet_context(r, p, &key);
	if (recording_switch_declare(r)) {
		r->error = r->error ? r->error : -ENOMEM;
		return;
	}
	v[0] = (struct weft_jfr_value){.number = (int64_t)record->begin_ns};
	v[1] = (struct weft_jfr_value){.number = (int64_t)(record->end_ns - record->begin_ns)};
	v[2] = (struct weft_jfr_value){.number = (int64_t)t->key};
	v[3] = (struct weft_jfr_value){.number = recording_stack(r, site)};
	v[4] = (struct weft_jfr_value){.number = (int64_t)record->coroutine};
	v[5] = (struct weft_jfr_value){.number = (int64_t)record->addr};
	v[6] = (struct weft_jfr_value){.number = (record->record.flags & edge) != 0};
	if (!is_run) {
		v[7] = (struct weft_jfr_value){.number = delay_of(record)};
		v[8] = (struct weft_jfr_value){
			.number = (record->record.flags & WEFT_SWITCH_LAST) != 0};
	}
	count = fill_columns(r, p, &key, &texts, v, fixed);
	recording_put(r, r->type[is_run ? TYPE_RUN : TYPE_WAIT], v, count);
	r->chunk.switches++;
}
