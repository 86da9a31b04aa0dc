/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of weft.ThreadTime (meaning: docs/recording.md): each thread's time by the kernel's account,
 * beside what its wall-clock samples stand for. Rows are differences, and each has both as they
 * were when an account came, so that they can be compared over any chunks.
 *
 * Samples are whole periods, taken at random. A report weighs them by these rows
 * (report/read/times.h), for which there must be a sample of each state that counts. So at a
 * thread's end samples with an unknown stack are written for what is missing, in two cases: of a
 * state that lasted for many periods less than half was sampled, which is no chance (the thread
 * blocks the signal that samples); or the state that it was in longest was not sampled at all.
 */
#include "collector/write/recording_private.h"
#include "collector/write/timeline.h"

#include "base/recording.h"

#define MANY_PERIODS RECORDING_TIME_PERIODS
#define LIFE_NS RECORDING_TIME_LIFE_NS

static const enum weft_thread_state states[TIME_PLACES] = {
	[TIME_RUNNING] = WEFT_STATE_RUNNING,
	[TIME_WAITING] = WEFT_STATE_WAITING_FOR_CPU,
	[TIME_BLOCKED] = WEFT_STATE_SLEEPING,
};

static uint64_t recording_time_sum_of(const uint64_t ns[TIME_PLACES])
{
	return ns[TIME_RUNNING] + ns[TIME_WAITING] + ns[TIME_BLOCKED];
}

/* With the part of the open stay that no event has yet. */
static void take_seen(const struct recording *r, const struct timeline *l,
		      uint64_t out[TIME_PLACES])
{
	memcpy(out, l->time.seen_ns, sizeof(l->time.seen_ns));
	if (l->stay.item)
		out[TIME_BLOCKED] += l->stay.samples * r->o.wall_period_ns;
}

/* The time that passed; then each place by the kernel; then each place by samples. */
#define FIELDS (1 + 2 * TIME_PLACES)

static void take_fields(const uint64_t due[TIME_PLACES], const uint64_t seen[TIME_PLACES],
			uint64_t out[FIELDS])
{
	out[0] = recording_time_sum_of(due);
	memcpy(out + 1, due, TIME_PLACES * sizeof(*due));
	memcpy(out + 1 + TIME_PLACES, seen, TIME_PLACES * sizeof(*seen));
}

static void recording_time_put_row(struct recording *r, const struct process *p,
				   const struct process_thread *t)
{
	struct thread_time *k = &t->timeline->time;
	uint64_t seen[TIME_PLACES], now[FIELDS], told[FIELDS];
	struct weft_jfr_value v[3 + FIELDS] = {{.number = (int64_t)recording_now(r)},
					       {.number = (int64_t)t->key},
					       {.string = text_value(p->group)}};

	take_seen(r, t->timeline, seen);
	take_fields(k->due_ns, seen, now);
	take_fields(k->due_told_ns, k->seen_told_ns, told);
	if (!t->key || !k->is_known || k->is_partial || !memcmp(now, told, sizeof(now)))
		return;
	for (int i = 0; i < FIELDS; i++)
		v[3 + i].number = (int64_t)(now[i] - told[i]);
	recording_put(r, r->type[TYPE_THREAD_TIME], v, 3 + FIELDS);
	memcpy(k->due_told_ns, k->due_ns, sizeof(k->due_ns));
	memcpy(k->seen_told_ns, seen, sizeof(seen));
}

/* A target may write what it likes: nothing is taken for more than the time that passed. */
static void take_account(struct thread_time *k, const struct wall_word *word)
{
	uint64_t passed_ns = word->to_ns > word->from_ns ? word->to_ns - word->from_ns : 0;
	uint64_t cpu_ns = word->cpu_ns < passed_ns ? word->cpu_ns : passed_ns;
	uint64_t rest_ns = passed_ns - cpu_ns;

	k->is_partial |= word->is_partial != 0;
	k->is_known = 1;
	k->account = *word;
	k->due_ns[TIME_RUNNING] = cpu_ns;
	k->due_ns[TIME_WAITING] = word->delay_ns < rest_ns ? word->delay_ns : rest_ns;
	k->due_ns[TIME_BLOCKED] = rest_ns - k->due_ns[TIME_WAITING];
}

void recording_time(struct recording *r, struct process *p, struct process_thread *t,
		    const struct wall_word *word)
{
	take_account(&t->timeline->time, word);
	recording_time_put_row(r, p, t);
}

/* From outside a thread's end is seen late, and its last moments are not: it told them itself. */
static void take_last_words(const struct process_thread *t, struct thread_time *k)
{
	struct wall_word word = k->account;
	uint64_t known_ns = word.cpu_before_ns + word.cpu_ns, ran_ns;

	if (t->ended_ns <= word.from_ns || t->ended_ns >= word.to_ns)
		return;
	ran_ns = t->ended_cpu_ns > known_ns ? t->ended_cpu_ns - known_ns : 0;
	word.to_ns = t->ended_ns;
	if (ran_ns <= k->due_ns[TIME_BLOCKED])
		word.cpu_ns += ran_ns;
	take_account(k, &word);
}

static int is_largest(const struct thread_time *k, int place)
{
	for (int i = 0; i < TIME_PLACES; i++)
		if (k->due_ns[i] > k->due_ns[place])
			return 0;
	return 1;
}

/* None of the states that it was in longest has a sample, by which it could be weighed. */
static int is_open(const struct thread_time *k)
{
	for (int i = 0; i < TIME_PLACES; i++)
		if (is_largest(k, i) && k->seen_ns[i])
			return 0;
	return 1;
}

static void put_unseen(struct recording *r, struct process *p, struct process_thread *t)
{
	const struct thread_time *k = &t->timeline->time;
	uint64_t period_ns = r->o.wall_period_ns;

	for (int i = 0; i < TIME_PLACES; i++) {
		uint64_t due_ns = k->due_ns[i], seen_ns = k->seen_ns[i];
		int is_blind = due_ns >= MANY_PERIODS * period_ns && seen_ns < due_ns / 2;

		if (is_blind || (is_largest(k, i) && !seen_ns && due_ns >= period_ns / 2))
			recording_put_unseen(r, p, t, states[i],
					     (due_ns - seen_ns + period_ns / 2) / period_ns);
	}
}

void recording_time_end(struct recording *r, struct process *p, struct process_thread *t)
{
	struct thread_time *k = &t->timeline->time;

	recording_put_stay(r, p, t);
	if (!t->key || !k->is_known || k->is_partial)
		return;
	take_last_words(t, k);
	if (recording_time_sum_of(k->due_ns) >= LIFE_NS) {
		put_unseen(r, p, t);
		r->times_off += (uint32_t)is_open(k);
	}
	recording_time_put_row(r, p, t);
}
