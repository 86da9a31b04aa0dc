/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the ticks of a process with random looks at it (lockstep.h), and sums up what threads'
 * own CPU clocks say between two ticks. Ticks count only while the thread may be looked at, too.
 */
#include "collector/write/recording_private.h"

#include "base/array.h"
#include "base/hash.h"
#include "collector/look/lockstep.h"
#include "collector/look/looks.h"

#include <stdio.h>
#include <stdlib.h>

#define KEYS_MAX (2 + WEFT_CONTEXT_V1_TAGS + WEFT_SAMPLE_LABELS_MAX)

/* The thread of a slot. */
struct ticked {
	uint64_t generation, since_ns; /* its ticks count from then on */
	uint64_t clocked;              /* generation of the one with the clock below */
	uint32_t clock_us;             /* its CPU clock at the newest tick, modulo 2^32; 0 = none */
};

struct process_lockstep {
	struct lockstep *judge;
	uint64_t tick_ns;
	uint64_t rest_ns, go_ns; /* between them ticks do not count */
	struct ticked *thread;   /* by slot */
	size_t count, room;
	uint64_t clock_ns;  /* CPU time between ticks, by threads' own clocks, */
	uint64_t ticked_ns; /* and what those ticks stand for */
	struct lockstep_verdict verdict;
	char text[2 * LOCKSTEP_TEXT]; /* of whose share */
};

static struct process_lockstep *lockstep_of(struct process *p)
{
	struct process_lockstep *l = p->work->lockstep;

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->tick_ns = clock_tick_ns();
	l->rest_ns = l->go_ns = UINT64_MAX;
	l->judge = lockstep_new(l->tick_ns);
	if (!l->judge) {
		free(l);
		return NULL;
	}
	p->work->lockstep = l;
	return l;
}

void recording_lockstep_free(struct process *p)
{
	if (!p->work->lockstep)
		return;
	lockstep_free(p->work->lockstep->judge);
	free(p->work->lockstep->thread);
	free(p->work->lockstep);
	p->work->lockstep = NULL;
}

/* ---- what is in a context */

static size_t add_labels(const struct recording *r, uint32_t number, struct lockstep_key *out)
{
	const struct label_set *set = number ? label_sets_get(r->labels, number) : NULL;
	size_t count = 0;

	for (size_t i = 0; set && i < set->count && count < WEFT_SAMPLE_LABELS_MAX; i++) {
		const struct label_item *item = &set->item[i];
		uint64_t salt = hash_bytes(item->key, item->key_bytes, 1);

		out[count++] = (struct lockstep_key){
			.kind = LOCKSTEP_LABEL,
			.value = hash_bytes(item->value, item->value_bytes, salt),
			.name = item->key,
			.text = item->value};
	}
	return count;
}

static size_t recording_lockstep_keys_of(const struct recording *r,
					 const struct weft_context_snapshot *s, uint32_t labels,
					 struct lockstep_key out[KEYS_MAX])
{
	size_t count = 0;

	for (uint32_t i = 0; i < WEFT_CONTEXT_V1_TAGS; i++)
		if (s->tags[i])
			out[count++] = (struct lockstep_key){
				.kind = LOCKSTEP_TAG, .number = i, .value = s->tags[i]};
	if (s->span_id)
		out[count++] = (struct lockstep_key){.kind = LOCKSTEP_SPAN, .value = s->span_id};
	if (s->root_span_id)
		out[count++] =
			(struct lockstep_key){.kind = LOCKSTEP_ROOT, .value = s->root_span_id};
	return count + add_labels(r, labels, out + count);
}

/* ---- ticks */

static struct ticked *recording_lockstep_thread_of(struct process_lockstep *l, uint32_t slot)
{
	struct ticked *all;

	if (slot >= WEFT_SESSION_SLOTS_MAX)
		return NULL;
	if (slot < l->count)
		return &l->thread[slot];
	all = array_grown(l->thread, slot + 1u, &l->room, sizeof(*all));
	if (!all)
		return NULL;
	l->thread = all;
	memset(all + l->count, 0, (slot + 1u - l->count) * sizeof(*all));
	l->count = slot + 1u;
	return &all[slot];
}

static int is_compared(const struct process_lockstep *l, const struct ticked *t,
		       uint64_t generation, uint64_t time_ns)
{
	if (t->generation != generation || time_ns < t->since_ns)
		return 0;
	return time_ns < l->rest_ns || time_ns >= l->go_ns;
}

static void add_clock(struct process_lockstep *l, struct ticked *t, uint64_t generation,
		      uint32_t clock_us, uint64_t weight_ns)
{
	uint32_t passed_us = clock_us - t->clock_us;

	if (!clock_us)
		return;
	if (t->clocked == generation && t->clock_us && passed_us < UINT32_MAX / 2) {
		l->clock_ns += (uint64_t)passed_us * 1000;
		l->ticked_ns += weight_ns;
	}
	t->clocked = generation;
	t->clock_us = clock_us;
}

void recording_tick_sample(struct recording *r, struct process *p,
			   const struct batch_thread *thread,
			   const struct weft_sample_record *record,
			   const struct recorded_sample *sample)
{
	const struct weft_context_snapshot *s = (const void *)&record->span_id;
	/* Who asks no CPU clock has an hrtimer beside it, or filters its system calls. */
	struct process_lockstep *l = record->record.rsv ? lockstep_of(p) : p->work->lockstep;
	struct ticked *t = l ? recording_lockstep_thread_of(l, thread->slot) : NULL;
	struct lockstep_key key[KEYS_MAX];

	if (!t)
		return;
	add_clock(l, t, thread->generation, record->record.rsv, sample->weight * r->o.period_ns);
	if (!is_compared(l, t, thread->generation, sample->time_ns) ||
	    record->context == WEFT_CONTEXT_BUSY || record->context == WEFT_CONTEXT_BAD)
		return;
	lockstep_add(l->judge, LOCKSTEP_TICKS, sample->time_ns, sample->weight, key,
		     recording_lockstep_keys_of(r, s, sample->key.labels, key));
}

/* ---- looks */

static void recording_lockstep_take_look(const struct recording *r, struct process_lockstep *l,
					 const struct look_word *word)
{
	const uint8_t *labels = (const uint8_t *)(word + 1);
	struct lockstep_key key[KEYS_MAX];
	int64_t set = 0;

	if (word->label_bytes && label_bytes_are_sound(labels, word->label_bytes))
		set = label_sets_put(r->labels, labels, word->label_bytes);
	lockstep_add_runs(l->judge, word->runs, word->cpu_ns);
	lockstep_add_gap(l->judge, word->took_ns);
	lockstep_add(
		l->judge, LOCKSTEP_LOOKS, word->time_ns, word->weight, key,
		recording_lockstep_keys_of(r, &word->snapshot, set > 0 ? (uint32_t)set : 0, key));
}

static void recording_lockstep_take_word(const struct recording *r, struct process_lockstep *l,
					 const struct look_word *word)
{
	struct ticked *t;

	switch (word->kind) {
	case LOOK_SEEN:
		recording_lockstep_take_look(r, l, word);
		break;
	case LOOK_THREAD:
		t = recording_lockstep_thread_of(l, word->slot);
		if (t) {
			t->generation = word->generation;
			t->since_ns = word->time_ns;
		}
		break;
	case LOOK_REST:
		l->rest_ns = word->time_ns;
		l->go_ns = UINT64_MAX;
		break;
	case LOOK_GO:
		l->go_ns = word->time_ns;
		break;
	}
}

void recording_looks(struct recording *r, struct process *p, const uint8_t *data, size_t bytes)
{
	struct process_lockstep *l = lockstep_of(p);

	for (size_t at = 0; l && at + sizeof(struct look_word) <= bytes;) {
		const struct look_word *word = (const void *)(data + at);

		recording_lockstep_take_word(r, l, word);
		at += word->bytes;
	}
}

/* ---- the verdict */

static void name_key(const struct process *p, const struct lockstep_key *key, char *out,
		     size_t room)
{
	const char *name, *value;

	switch (key->kind) {
	case LOCKSTEP_TAG:
		name = dictionary_tag_name(p->work->dictionary, key->number);
		value = dictionary_string(p->work->dictionary, (uint32_t)key->value);
		snprintf(out, room, "%s=%s", name ? name : "tag", value ? value : "?");
		break;
	case LOCKSTEP_LABEL:
		snprintf(out, room, "%s=%s", key->name, key->text);
		break;
	default:
		snprintf(out, room, "%s %016llx", key->kind == LOCKSTEP_SPAN ? "span" : "root span",
			 (unsigned long long)key->value);
	}
}

static size_t processes_of(const struct recording *r)
{
	size_t count = 0;

	for (const struct process *p = r->first; p; p = p->work->next)
		count++;
	return count;
}

void recording_judge(const struct recording *r, struct process *p)
{
	struct process_lockstep *l = p->work->lockstep;

	if (!l || !p->work->dictionary)
		return;
	lockstep_judge(l->judge, processes_of(r) - 1, &l->verdict);
	if (l->verdict.is_known)
		name_key(p, &l->verdict.key, l->text, sizeof(l->text));
}

void recording_warn_of_lockstep(struct recording *r, const struct process *p)
{
	const struct process_lockstep *l = p->work->lockstep;
	char text[512];

	if (!l || !l->verdict.is_misjudged)
		return;
	snprintf(text, sizeof(text),
		 "clock: ticks of %.4g ms: samples of %s bunch at one phase of %s (chance %.1g): "
		 "its share is misjudged, %.1f %% by ticks and %.1f %% by random looks",
		 (double)l->tick_ns / 1e6, p->group, l->text, l->verdict.chance,
		 100 * l->verdict.tick_share, 100 * l->verdict.look_share);
	recording_put_warning(r, text);
}

void recording_fill_verdict(const struct process *p, int is_ticks, struct weft_jfr_value v[])
{
	static const struct process_lockstep none;
	const struct process_lockstep *l =
		is_ticks && p->work->lockstep ? p->work->lockstep : &none;

	v[0].number = (int64_t)l->verdict.looks;
	if (l->verdict.is_misjudged)
		v[1].string = text_value(l->text);
	v[2].real = l->verdict.tick_share;
	v[3].real = l->verdict.look_share;
	v[4].real = l->verdict.is_known ? l->verdict.chance : 1;
	v[5].number = (int64_t)l->clock_ns;
	v[6].number = (int64_t)l->ticked_ns;
}
