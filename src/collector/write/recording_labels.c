/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels in the file: which a sample has, their columns, their values.
 *
 * A thread's handler writes its labels into the first sample after a change; later ones have only
 * the generation of that set. When the sample with the labels was lost, those of its generation
 * have labels that nobody knows: labels_unrecorded counts them. A sample from outside has its
 * labels with it.
 */
#include "collector/walk/walking.h"
#include "collector/write/recording_private.h"
#include "collector/write/timeline.h"

uint32_t recording_label_set(struct recording *r, const uint8_t *labels, uint32_t bytes)
{
	int64_t number = bytes ? label_sets_put(r->labels, labels, bytes) : 0;

	recording_note_error(r, number < 0 ? (int)number : 0);
	return number > 0 ? (uint32_t)number : 0;
}

uint32_t recording_labels(struct recording *r, struct process *p, struct process_thread *t,
			  const struct walked_sample *walked)
{
	const struct weft_sample_record *sample = &walked->sample;
	int is_own = !(sample->flags & WEFT_SAMPLE_OUTSIDE);
	uint32_t number;

	if (sample->label_bytes) {
		number = recording_label_set(r, walked_labels(walked), sample->label_bytes);
		if (is_own) {
			t->labels_told = sample->label_generation;
			t->labels = number;
		}
		return number;
	}
	if (!is_own || !sample->label_generation)
		return 0;
	if (sample->label_generation == t->labels_told)
		return t->labels;
	p->work->own.counter[WEFT_COUNTER_LABELS_UNRECORDED]++;
	return 0;
}

void recording_learn_labels(struct recording *r, struct process *p, uint32_t number)
{
	struct label_set *set = label_sets_get(r->labels, number);

	if (!set)
		return;
	for (size_t i = 0; i < set->count && !set->has_columns; i++) {
		set->item[i].column = label_columns_find(&r->tags, set->item[i].key);
		set->left_out += set->item[i].column < 0;
	}
	set->has_columns = 1;
	p->work->own.counter[WEFT_COUNTER_LABELS_LEFT_OUT] += set->left_out;
}

void recording_fill_labels(const struct recording *r, uint32_t number, struct weft_jfr_value *v)
{
	const struct label_set *set = label_sets_get(r->labels, number);

	for (size_t i = 0; set && i < set->count; i++) {
		const struct label_item *item = &set->item[i];

		if (item->column >= 0 && (size_t)item->column < r->columns)
			v[item->column].string =
				(struct weft_jfr_string){item->value, item->value_bytes};
	}
}

static void mark_item(struct recording *r, const struct timeline_item *item)
{
	if (!item)
		return;
	label_sets_mark(r->labels, item->kind == ITEM_EVENT ? item->event.key.labels
							    : item->sample.key.labels);
}

static void recording_labels_mark_thread(struct recording *r, const struct process_thread *t)
{
	const struct timeline *l = t->timeline;

	label_sets_mark(r->labels, t->labels);
	if (t->stretch.open)
		label_sets_mark(r->labels, t->stretch.key.labels);
	if (!l)
		return;
	for (const struct timeline_item *item = l->first; item; item = item->next)
		mark_item(r, item);
	mark_item(r, l->newest);
	mark_item(r, l->own);
	mark_item(r, l->stay.item);
}

void recording_forget_labels(struct recording *r)
{
	struct process_thread *t;

	for (struct process *p = r->first; p; p = p->work->next)
		for (size_t cursor = 0; (t = process_thread_next(p, &cursor));)
			recording_labels_mark_thread(r, t);
	label_sets_sweep(r->labels);
}
