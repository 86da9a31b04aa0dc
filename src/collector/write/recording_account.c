/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of weft.ThreadCPU (meaning: docs/recording.md): CPU time by the kernel's account, beside
 * what was sampled. Each row is the difference to the one before.
 *
 * A thread has an entry from its first reading until a few seconds after its end. Readings come
 * from outside and, at a slot's end, from the thread itself, in any order: so the largest counts,
 * and an entry stays for a while, so that a late reading does not count twice. A smaller reading of
 * a thread that has ended is another thread's, which has got the same number.
 *
 * A thread without samples that used little has no row. Its time is part of the rest: the process's
 * CPU time without that of all threads with rows. The process and its threads are not read at the
 * same moment, so a rest gets its row at the end of the next chunk, if it is still there then.
 *
 * A target may write what it likes: no reading counts that cannot be true.
 */
#include "collector/look/account.h"
#include "collector/write/recording_private.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/recording.h"

#include <stdlib.h>
#include <unistd.h>

#define LINGER_NS UINT64_C(4000000000) /* longer than a slot may wait to be drained */
#define LATE_NS UINT64_C(200000000)    /* that a reading may be, after its thread's end */
#define SWEEP_NS UINT64_C(1000000000)
#define SLACK_NS UINT64_C(1000000000) /* CPU time above the time that has passed */
#define LEAST_PERIODS 4               /* of CPU time, for a row of a thread without samples */

struct account_row {
	uint64_t key; /* 0 = of no thread */
	uint64_t used_ns, seen_ns, samples;
	const char *source;
};

struct account_entry {
	uint64_t number;  /* its tid */
	uint64_t from_ns; /* what it had used before it was recorded */
	uint64_t cpu_ns;  /* by its newest reading */
	uint64_t put_ns;  /* of that, up to which rows tell it */
	uint64_t over_ns; /* when its end was heard of; 0 = it lives */
	uint64_t key;     /* of the thread pool; 0 = none yet */
	uint8_t is_own;   /* the newest is its own reading */
	uint8_t is_gone;  /* it was missing from outside */
	char name[16];
};

/* ---- entries */

/* How many come before the next tid. */
static size_t entries_upto(const struct process_account *a, int32_t tid)
{
	return array_upto(a->entry, a->count, sizeof(*a->entry),
			  offsetof(struct account_entry, number), (uint32_t)tid);
}

static struct account_entry *entry_of(const struct process_account *a, int32_t tid)
{
	size_t at = entries_upto(a, tid);

	return at && a->entry[at - 1].number == (uint32_t)tid ? &a->entry[at - 1] : NULL;
}

static struct account_entry *recording_account_add_entry(struct process_account *a, int32_t tid,
							 uint64_t from_ns)
{
	struct account_entry *e = array_grown(a->entry, a->count + 1, &a->room, sizeof(*e));
	size_t at;

	if (!e)
		return NULL; /* it is part of the rest then */
	a->entry = e;
	at = entries_upto(a, tid);
	e += at;
	memmove(e + 1, e, (a->count++ - at) * sizeof(*e));
	*e = (struct account_entry){
		.number = (uint32_t)tid, .from_ns = from_ns, .cpu_ns = from_ns, .put_ns = from_ns};
	return e;
}

void recording_account_free(struct process *p)
{
	struct process_account *a = &p->work->account;

	free(a->entry);
	a->entry = NULL;
	a->count = a->room = 0;
}

void recording_account_keys(const struct process *p, struct buf *out)
{
	const struct process_account *a = &p->work->account;

	for (size_t i = 0; i < a->count; i++)
		if (a->entry[i].key)
			buf_put(out, &a->entry[i].key, sizeof(a->entry[i].key));
}

/* ---- rows */

static void recording_account_put_row(struct recording *r, const struct process *p,
				      const struct account_row *row)
{
	struct weft_jfr_value v[] = {
		{.number = (int64_t)recording_now(r)}, {.number = (int64_t)row->key},
		{.string = text_value(p->group)},      {.number = (int64_t)row->used_ns},
		{.number = (int64_t)row->seen_ns},     {.number = (int64_t)row->samples},
		{.string = text_value(row->source)},
	};

	if (!row->used_ns && !row->seen_ns)
		return;
	recording_put(r, r->type[TYPE_THREAD_CPU], v, 7);
	r->used_ns += row->used_ns;
	r->seen_ns += row->seen_ns;
}

static int recording_account_make_key(struct recording *r, const struct process *p,
				      struct account_entry *e)
{
	struct weft_jfr_thread thread = {
		.os_id = (int32_t)e->number, .name = e->name, .group = p->group};

	if (!e->key)
		e->key = weft_jfr_thread(r->writer, &thread, 1);
	return e->key != 0;
}

static const char *source_of(const struct account_entry *e)
{
	return e && e->is_own ? RECORDING_ACCOUNT_THREAD : RECORDING_ACCOUNT_SCHEDSTAT;
}

/* A row of a thread with samples; @e NULL: there are no readings of it. */
static void recording_account_put_thread(struct recording *r, struct process *p,
					 struct process_thread *t, struct account_entry *e)
{
	struct account_row row = {.key = t->key,
				  .seen_ns = t->seen_ns,
				  .samples = t->signals,
				  .source = source_of(e)};

	if (!t->key)
		return;
	if (e) {
		row.used_ns = e->cpu_ns - e->put_ns;
		e->put_ns = e->cpu_ns;
		p->work->account.threads_ns += row.used_ns;
	}
	recording_account_put_row(r, p, &row);
	t->seen_ns = t->signals = 0;
}

/* A row of a thread without samples. */
static void put_entry(struct recording *r, struct process *p, struct account_entry *e)
{
	struct account_row row = {.used_ns = e->cpu_ns - e->put_ns, .source = source_of(e)};

	if (row.used_ns < LEAST_PERIODS * r->o.period_ns && !(e->key && row.used_ns))
		return;
	p->work->account.threads_ns += row.used_ns;
	e->put_ns = e->cpu_ns;
	if (!recording_wants(r, e->name) || !recording_account_make_key(r, p, e))
		return;
	row.key = e->key;
	recording_account_put_row(r, p, &row);
}

static struct process_thread *thread_of_entry(const struct process *p,
					      const struct account_entry *e)
{
	struct process_thread *t = process_thread_by_tid(p, (int32_t)e->number);

	return t && t->key ? t : NULL;
}

static void put_any(struct recording *r, struct process *p, struct account_entry *e)
{
	struct process_thread *t = thread_of_entry(p, e);

	if (t)
		recording_account_put_thread(r, p, t, e);
	else
		put_entry(r, p, e);
}

/* ---- readings */

static int recording_account_can_be(const struct recording *r, uint64_t used_ns, uint64_t now_ns)
{
	return used_ns <= (now_ns > r->start_ns ? now_ns - r->start_ns : 0) + SLACK_NS;
}

/* Another thread has got the number: puts the last row of the one before. */
static void begin_anew(struct recording *r, struct process *p, struct account_entry *e)
{
	put_any(r, p, e);
	*e = (struct account_entry){.number = e->number};
}

static void take_reading(const struct recording *r, struct account_entry *e, uint64_t cpu_ns,
			 int is_own, uint64_t now_ns)
{
	if (cpu_ns <= e->cpu_ns || !recording_account_can_be(r, cpu_ns - e->from_ns, now_ns))
		return;
	e->cpu_ns = cpu_ns;
	e->is_own = (uint8_t)is_own;
}

/* Is the reading another thread's? One from before the end may come a moment after it. */
static int is_anothers(const struct account_entry *e, const struct account_word *w, uint64_t now_ns)
{
	return e->is_gone || (e->over_ns && w->cpu_ns < e->cpu_ns && now_ns > e->over_ns + LATE_NS);
}

static uint64_t used_before(const struct process *p, const struct account_word *w)
{
	if (!(w->flags & ACCOUNT_OLDER))
		return 0;
	return w->cpu_ns < p->cpu_before_ns ? w->cpu_ns : p->cpu_before_ns;
}

static void recording_account_take_word(struct recording *r, struct process *p,
					const struct account_word *w, uint64_t now_ns)
{
	struct account_entry *e = entry_of(&p->work->account, w->tid);

	if (w->flags & ACCOUNT_GONE) {
		if (e && !e->over_ns)
			e->over_ns = now_ns;
		if (e)
			e->is_gone = 1;
		return;
	}
	if (w->flags & ACCOUNT_OWN && !e)
		return;
	if (!e)
		e = recording_account_add_entry(&p->work->account, w->tid, used_before(p, w));
	else if (!(w->flags & ACCOUNT_OWN) && is_anothers(e, w, now_ns))
		begin_anew(r, p, e);
	if (!e)
		return;
	if (w->flags & ACCOUNT_OWN)
		e->over_ns = e->over_ns ? e->over_ns : now_ns;
	else
		memcpy(e->name, w->name, sizeof(e->name) - 1);
	take_reading(r, e, w->cpu_ns, (w->flags & ACCOUNT_OWN) != 0, now_ns);
}

/* Threads that have ended leave the table, a few seconds later. */
static void recording_account_sweep(struct recording *r, struct process *p, uint64_t now_ns)
{
	struct process_account *a = &p->work->account;
	size_t kept = 0;

	if (now_ns < a->swept_ns + SWEEP_NS)
		return;
	a->swept_ns = now_ns;
	for (size_t i = 0; i < a->count; i++) {
		struct account_entry *e = &a->entry[i];

		if (!e->over_ns || now_ns < e->over_ns + LINGER_NS)
			a->entry[kept++] = *e;
		else
			put_any(r, p, e);
	}
	a->count = kept;
}

static void recording_account_take_process(struct recording *r, struct process *p,
					   const struct account_head *head)
{
	uint64_t used_ns;

	if (head->process_ns <= p->work->account.process_ns || head->process_ns < p->cpu_before_ns)
		return;
	used_ns = head->process_ns - p->cpu_before_ns;
	if (!r->cpus)
		r->cpus = sysconf(_SC_NPROCESSORS_CONF) > 1
				  ? (uint64_t)sysconf(_SC_NPROCESSORS_CONF)
				  : 1;
	if (recording_account_can_be(r, used_ns / r->cpus, head->time_ns))
		p->work->account.process_ns = head->process_ns;
}

void recording_account(struct recording *r, struct process *p, const uint8_t *data, size_t bytes)
{
	struct account_head head;
	struct account_word word;

	memcpy(&head, data, sizeof(head));
	recording_time_is(r, head.time_ns);
	recording_account_take_process(r, p, &head);
	for (size_t at = sizeof(head); at + sizeof(word) <= bytes; at += sizeof(word)) {
		memcpy(&word, data + at, sizeof(word));
		recording_account_take_word(r, p, &word, head.time_ns);
	}
	recording_account_sweep(r, p, head.time_ns);
}

/* ---- threads with samples */

/* One that was known before its first sample goes on under the same key. */
uint64_t recording_account_key(const struct process *p, const struct process_thread *t)
{
	const struct account_entry *e = entry_of(&p->work->account, t->tid);

	return e && !e->over_ns && strcmp(e->name, t->name) == 0 ? e->key : 0;
}

/* What a thread without earlier readings had used before it was recorded. Of one that was there at
 * the beginning nobody knows, and all is taken for that. */
static uint64_t before_own_word(const struct process *p, const struct process_thread *t,
				uint64_t claimed_ns, uint64_t cpu_ns)
{
	if (t->tid == p->inside_pid)
		return p->cpu_before_ns < cpu_ns ? p->cpu_before_ns : cpu_ns;
	return claimed_ns <= p->opened_ns && p->cpu_before_ns ? cpu_ns : 0;
}

void recording_account_end(struct recording *r, struct process *p, const struct process_thread *t,
			   uint64_t claimed_ns, uint64_t cpu_ns, uint64_t now_ns)
{
	struct account_entry *e = entry_of(&p->work->account, t->tid);

	if (!cpu_ns)
		return;
	if (!e)
		e = recording_account_add_entry(&p->work->account, t->tid,
						before_own_word(p, t, claimed_ns, cpu_ns));
	if (!e)
		return;
	e->over_ns = e->over_ns ? e->over_ns : now_ns;
	take_reading(r, e, cpu_ns, 1, now_ns);
}

void recording_account_thread(struct recording *r, struct process *p, struct process_thread *t)
{
	recording_account_put_thread(r, p, t, entry_of(&p->work->account, t->tid));
}

/* ---- the ends of chunks */

/* With --threads there is no row: nobody knows whether wanted threads used the rest. */
static void put_rest(struct recording *r, struct process *p)
{
	struct process_account *a = &p->work->account;
	uint64_t used_ns = a->process_ns > p->cpu_before_ns ? a->process_ns - p->cpu_before_ns : 0;
	uint64_t told_ns = a->threads_ns + a->rest_ns;
	uint64_t rest_ns = used_ns > told_ns ? used_ns - told_ns : 0;
	struct account_row row = {.used_ns = rest_ns, .source = RECORDING_ACCOUNT_PROCESS};

	if (!p->work->end && !r->is_closing && a->held_ns < rest_ns)
		row.used_ns = a->held_ns;
	a->held_ns = rest_ns - row.used_ns;
	a->rest_ns += row.used_ns;
	if (!r->o.threads)
		recording_account_put_row(r, p, &row);
}

static void recording_account_put_threads(struct recording *r, struct process *p)
{
	struct process_account *a = &p->work->account;
	struct process_thread *t;
	size_t cursor = 0;

	for (size_t i = 0; i < a->count; i++)
		put_any(r, p, &a->entry[i]);
	while ((t = process_thread_next(p, &cursor)))
		if (t->seen_ns)
			recording_account_put_thread(r, p, t, NULL);
}

void recording_account_rows(struct recording *r, struct process *p)
{
	recording_account_put_threads(r, p);
	put_rest(r, p);
}

void recording_account_close(struct recording *r, struct process *p)
{
	recording_account_put_threads(r, p);
	recording_account_free(p);
}

void recording_account_process(struct recording *r, pid_t pid, uint64_t process_ns, uint64_t now_ns)
{
	struct account_head head = {.process_ns = process_ns, .time_ns = now_ns};
	struct process *newest = NULL;

	for (struct process *p = r->first; p; p = p->work->next)
		if (p->pid == pid && (!newest || p->opened_ns > newest->opened_ns))
			newest = p;
	if (newest)
		recording_account_take_process(r, newest, &head);
}
