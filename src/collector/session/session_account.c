/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's own last reading of its CPU clock, as its slot is closed: with the thread's end for
 * one that the worker has heard of, else as a word for whoever has seen it from outside. Anybody
 * may have written it: the worker believes what can be.
 */
#include "collector/look/account.h"
#include "collector/session/session_private.h"

#include "base/session_layout.h"
#include "collector/process/clock.h"
#include "proc/thread_stat.h"

#include <fcntl.h>
#include <unistd.h>

/* A slot that has another owner by now tells that one's. */
uint64_t session_cpu_of(const struct session *s, uint32_t index)
{
	const struct weft_slot *slot = weft_session_slot(s->base, &s->layout, index);

	if (slot->thread.generation != s->readers[index].generation)
		return 0;
	return __atomic_load_n(&slot->events.cpu_ns, __ATOMIC_RELAXED);
}

uint64_t session_ended_of(const struct session *s, uint32_t index)
{
	const struct weft_slot *slot = weft_session_slot(s->base, &s->layout, index);

	if (slot->thread.generation != s->readers[index].generation)
		return 0;
	return __atomic_load_n(&slot->thread.ended_ns, __ATOMIC_RELAXED);
}

void session_account_end(struct session *s, uint32_t index)
{
	struct account_word word = {.tid = s->readers[index].tid,
				    .flags = ACCOUNT_OWN,
				    .cpu_ns = session_cpu_of(s, index)};

	if (word.cpu_ns)
		account_words_add(&s->ended, &word);
}

void session_account_tell(struct session *s, struct queue *q, uint64_t now_ns)
{
	struct account_head head = {.time_ns = now_ns};

	if (s->ended.count)
		queue_push(q, account_words_batch(&s->ended, s->process, &head));
}

/* One that has ended keeps its clock until its parent has asked for it. Who it was is known by its
 * directory, which is nobody's afterwards. */
void session_account_last(struct session *s, struct queue *q)
{
	const struct weft_session_header *h = s->base;
	struct account_head head = {.time_ns = clock_mono_ns()};
	uint64_t own_ns = __atomic_load_n(&h->exit_cpu_ns, __ATOMIC_RELAXED);

	if (process_cpu_read(s->pid, &head.process_ns) ||
	    faccessat(s->process->proc_fd, "stat", F_OK, 0))
		head.process_ns = 0;
	if (own_ns > head.process_ns)
		head.process_ns = own_ns;
	queue_push(q, account_words_batch(&s->ended, s->process, &head));
}
