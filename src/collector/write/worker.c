/* SPDX-License-Identifier: Apache-2.0 */
/* The worker thread: see worker.h. */
#include "collector/write/worker.h"

#include "base/clock.h"
#include "collector/session/session_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TICK_SLACK_NS UINT64_C(20000000) /* CPU timers count in ticks of the kernel */

static void note_memory(struct worker *w)
{
	if (!w->error)
		store_relaxed(&w->error, -ENOMEM);
}

/*
 * The thread of a batch. @renames: another name in the batch means that it was renamed; not where
 * the name comes from /proc, which cuts it short. While the name is one that is not wanted the
 * thread keeps the one that it had before, under which what waits for it is written.
 */
static struct process_thread *worker_thread_of(struct worker *w, const struct batch *b, int renames)
{
	int fresh, is_unused, wanted = recording_wants(w->recording, b->thread.name);
	struct process_thread *t =
		process_thread(b->process, b->thread.slot, b->thread.generation, &fresh);

	if (!t)
		return NULL;
	if (fresh) {
		process_thread_tell_tid(b->process, t, b->thread.tid);
		if (b->thread.claimed_ns >= b->process->opened_ns)
			t->previous_ns = b->thread.claimed_ns;
	}
	if (!wanted)
		return t;
	is_unused = !t->taken_ns && !t->timeline && !t->switched; /* nothing of it is in the file */
	if (!t->key || ((renames || is_unused) && strcmp(t->name, b->thread.name) != 0)) {
		memcpy(t->name, b->thread.name, sizeof(t->name));
		t->named = 0;
	}
	if (!t->named && (is_unused || !t->timeline) &&
	    recording_thread(w->recording, b->process, t))
		return NULL;
	return t->key ? t : NULL;
}

/* No thread can have used more CPU time than has passed: else a target could fill the disk with one
 * sample. */
static uint32_t worker_weight_of(const struct worker *w, const struct process_thread *t,
				 const struct process *p, const struct weft_sample_record *sample)
{
	uint64_t since = t->taken_ns ? t->taken_ns : p->opened_ns;
	uint64_t passed = sample->time_ns > since ? sample->time_ns - since : 0;
	uint64_t most = (passed + TICK_SLACK_NS) / w->period_ns + 1;

	return sample->weight < most ? sample->weight : (uint32_t)most;
}

static void count_walk(struct process *p, const struct walked_stack *walked)
{
	if (walked->cut)
		p->work->own.counter[walked->cut - 1]++;
	if (walked->check)
		p->work->own.counter[walked->check - 1]++;
	p->work->own.counter[WEFT_COUNTER_FP_SCANNED] += walked->scanned;
}

static struct recorded_sample worker_sample_of(const struct weft_sample_record *record,
					       uint32_t labels, uint32_t weight)
{
	struct recorded_sample s = {
		.time_ns = record->time_ns,
		.weight = weight,
		.in_contextual_event = (record->flags & WEFT_SAMPLE_IN_CONTEXT) != 0,
	};

	s.has_key = (uint8_t)context_of_sample(record, labels, &s.key);
	return s;
}

static void worker_put(struct worker *w, const struct batch *b, struct process_thread *t,
		       struct timeline_item *item)
{
	if (timeline_put(&w->timelines, b->process, t, item))
		note_memory(w);
}

static void take_sample(struct worker *w, const struct batch *b, struct process_thread *t,
			const struct walked_stack *walked, const struct recorded_sample *sample,
			const struct wall_word *word)
{
	struct recording_trace trace = naming_stack(&w->naming, b->process, walked);

	count_walk(b->process, walked);
	recording_thread_begin(w->recording, b->process, t, b->thread.claimed_ns);
	if (!w->wall_period_ns && !b->process->work->classes)
		recording_sample(w->recording, b->process, t, sample, &trace);
	else
		worker_put(w, b, t, timeline_item_new(sample, &trace, word));
}

static void take_samples(struct worker *w, const struct batch *b)
{
	struct process_thread *t = worker_thread_of(w, b, 1);
	int wanted = recording_wants(w->recording, b->thread.name);
	size_t at = 0;

	if (!t) {
		note_memory(w);
		return;
	}
	while (at < b->bytes) {
		const struct walked_sample *walked = (const void *)(b->data + at);
		struct weft_sample_record record = walked->sample;
		uint32_t labels = recording_labels(w->recording, b->process, t, walked);
		struct recorded_sample sample;

		at += walked->bytes;
		if (!wanted) {
			b->process->work->own.counter[WEFT_COUNTER_SAMPLES_FILTERED]++;
			continue;
		}
		labels = recording_add_published(w->recording, b->process, walked, &record, labels);
		sample = worker_sample_of(&record, labels,
					  worker_weight_of(w, t, b->process, &record));
		t->taken_ns = record.time_ns;
		if (record.flags & WEFT_SAMPLE_TICK)
			recording_tick_sample(w->recording, b->process, &b->thread, &record,
					      &sample);
		take_sample(w, b, t, &walked->stack, &sample, NULL);
	}
}

static void take_switch(struct worker *w, const struct batch *b, struct process_thread *t,
			const struct walked_switch *placed)
{
	struct recording_trace site = naming_site(&w->naming, b->process, placed);

	recording_switch(w->recording, b->process, t, placed, &site);
}

static void worker_take_event(struct worker *w, const struct batch *b, struct process_thread *t,
			      const struct walked_event *event)
{
	const struct walked_stack *walked = walked_event_stack(event);
	struct recorded_event recorded = recording_event_of(w->recording, event);
	struct recording_trace trace = {0};

	if (walked)
		trace = naming_event_stack(&w->naming, b->process, walked);
	worker_put(w, b, t, timeline_item_of_event(&recorded, &trace));
}

static void take_events(struct worker *w, const struct batch *b)
{
	struct process_thread *t = worker_thread_of(w, b, 1);
	int wanted = recording_wants(w->recording, b->thread.name);
	const struct placed_head *head;

	if (!t) {
		note_memory(w);
		return;
	}
	for (size_t at = 0; at < b->bytes; at += head->bytes) {
		head = (const void *)(b->data + at);
		if (!wanted) {
			b->process->work->own.counter[WEFT_COUNTER_EVENTS_FILTERED]++;
			continue;
		}
		t->switched = 1;
		recording_thread_begin(w->recording, b->process, t, b->thread.claimed_ns);
		if (head->type == WEFT_RECORD_SWITCH)
			take_switch(w, b, t, (const void *)head);
		else
			worker_take_event(w, b, t, (const void *)head);
	}
}

static void worker_take_type(struct worker *w, const struct batch *b)
{
	struct type_word word;

	memcpy(&word, b->data, sizeof(word));
	recording_event_type(w->recording, b->process, &word, b->data + sizeof(word),
			     b->bytes - sizeof(word));
}

/* Ticks of the wall clock, as the outside thread told them. */
static void take_wall(struct worker *w, const struct batch *b)
{
	struct process_thread *t = w->wall_period_ns ? worker_thread_of(w, b, 0) : NULL;
	size_t at = 0;

	if (!t) {
		if (w->wall_period_ns)
			note_memory(w);
		return;
	}
	while (at + sizeof(struct wall_word) <= b->bytes) {
		const struct wall_word *word = (const void *)(b->data + at);
		const struct walked_sample *walked = (const void *)(word + 1);

		at += word->bytes;
		if (word->bytes > sizeof(*word)) {
			struct recorded_sample sample = worker_sample_of(
				&walked->sample,
				recording_labels(w->recording, b->process, t, walked),
				walked->sample.weight);

			take_sample(w, b, t, &walked->stack, &sample, word);
		} else {
			worker_put(w, b, t, timeline_item_new(NULL, NULL, word));
		}
	}
}

static void end_account(struct worker *w, const struct batch *b, struct process_thread *t)
{
	recording_thread_gone(w->recording, t, b->time_ns);
	t->ended_ns = b->thread.ended_ns;
	t->ended_cpu_ns = b->thread.cpu_ns;
	recording_account_end(w->recording, b->process, t, b->thread.claimed_ns, b->thread.cpu_ns,
			      b->time_ns);
}

static void end_thread(struct worker *w, const struct batch *b)
{
	struct process_thread *t =
		process_thread_find(b->process, b->thread.slot, b->thread.generation);

	if (!t)
		return;
	end_account(w, b, t);
	if (w->wall_period_ns || t->timeline) {
		timeline_end(&w->timelines, b->process, t, b->time_ns);
		return;
	}
	recording_thread_end(w->recording, b->process, t);
	recording_account_thread(w->recording, b->process, t);
	process_thread_drop(b->process, t);
}

/* Of a thread whose own handler has told something the end comes from inside, behind all of it. */
static void thread_gone(struct worker *w, const struct batch *b)
{
	struct process_thread *t =
		process_thread_find(b->process, b->thread.slot, b->thread.generation);

	if (t && !t->taken_ns && !t->switched)
		timeline_end(&w->timelines, b->process, t, b->time_ns);
}

static void close_process(struct worker *w, const struct batch *b)
{
	struct process *p = b->process;

	timelines_close(&w->timelines, p);
	memcpy(&p->work->counted, b->data, sizeof(p->work->counted));
	process_take_counts(p);
	session_counts_add(&w->total, &p->work->counted);
	session_counts_add(&w->total, &p->work->own);
	recording_process_end(w->recording, p, b->time_ns, b->end);
}

static void worker_publish(struct worker *w)
{
	struct recording_written written;

	recording_written(w->recording, &written);
	store_relaxed(&w->bytes, written.bytes);
	store_relaxed(&w->samples, written.in_file.samples);
	store_relaxed(&w->wall_samples, written.in_file.wall);
	if (written.error)
		store_relaxed(&w->error, written.error);
	store_relaxed(&w->roll_wanted, recording_is_full(w->recording) != 0);
}

/* Whoever sees that it was taken sees also whether another one is wanted. Pairs:
 * end_chunk_when_due() (src/collector/run/watch.c). */
static void worker_roll(struct worker *w, const struct batch *b)
{
	timelines_advance(&w->timelines, b->time_ns, 1);
	recording_roll(w->recording, b->time_ns);
	worker_publish(w);
	store_release(&w->rolls, w->rolls + 1);
}

static void tick(struct worker *w)
{
	uint64_t next_ns = recording_tick(w->recording, clock_mono_ns());

	store_relaxed(&w->tick_ns, next_ns);
}

static int dispatch(struct worker *w, const struct batch *b)
{
	switch (b->kind) {
	case BATCH_OPEN:
		recording_process_begin(w->recording, b->process);
		break;
	case BATCH_SAMPLES: /* of the walker */
	case BATCH_EVENTS:
	case BATCH_WALL:
		break;
	case BATCH_PLACED:
		take_events(w, b);
		break;
	case BATCH_TYPE:
		worker_take_type(w, b);
		break;
	case BATCH_SETTINGS:
		recording_set(w->recording, (const char *)b->data, b->bytes);
		break;
	case BATCH_WARNING:
		recording_put_warning(w->recording, (const char *)b->data);
		break;
	case BATCH_WALL_WALKED:
		take_wall(w, b);
		break;
	case BATCH_WALKED:
		take_samples(w, b);
		break;
	case BATCH_THREAD_END:
		end_thread(w, b);
		break;
	case BATCH_THREAD_GONE:
		thread_gone(w, b);
		break;
	case BATCH_ACCOUNT:
		recording_account(w->recording, b->process, b->data, b->bytes);
		break;
	case BATCH_LOOKS:
		recording_looks(w->recording, b->process, b->data, b->bytes);
		break;
	case BATCH_COUNTS:
		memcpy(&b->process->work->counted, b->data, sizeof(b->process->work->counted));
		break;
	case BATCH_CLOSE:
		close_process(w, b);
		break;
	case BATCH_TICK:
		tick(w);
		break;
	case BATCH_ROLL:
		worker_roll(w, b);
		break;
	case BATCH_FINISH:
		return 0;
	}
	return 1;
}

void *worker_run(void *arg)
{
	struct worker *w = arg;
	int more = 1;

	w->timelines.recording = w->recording;
	tick(w);
	while (more) {
		struct batch *b = queue_pop(w->queue);

		more = dispatch(w, b);
		timelines_advance(&w->timelines, 0, 0);
		if (more)
			recording_roll_early(w->recording); /* it keeps its error */
		worker_publish(w);
		free(b);
	}
	return NULL;
}
