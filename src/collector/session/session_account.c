/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last reading that a thread took of its CPU clock, passed on when its slot is closed: in
 * BATCH_THREAD_END if the worker has heard of the thread, else in BATCH_ACCOUNT, as the thread may
 * have been seen from outside. The target may have stored anything; the worker checks it.
 */
#include "collector/look/account.h"
#include "collector/session/session_private.h"

#include "base/clock.h"
#include "proc/thread_stat.h"

#include <fcntl.h>
#include <unistd.h>

struct slot_words session_last_words(const struct session *s, uint32_t index)
{
	const struct weft_slot *slot = process_slot(s->process, index);
	struct slot_words words = {.generation = s->readers[index].who.generation};

	if (slot->thread.generation == words.generation) {
		words.ended_ns = load_relaxed(&slot->thread.ended_ns);
		words.cpu_ns = load_relaxed(&slot->events.cpu_ns);
	}
	return words;
}

void session_account_end(struct session *s, int32_t tid, uint64_t cpu_ns)
{
	struct account_word word = {.tid = tid, .flags = ACCOUNT_OWN, .cpu_ns = cpu_ns};

	if (cpu_ns)
		account_words_add(&s->ended, &word);
}

void session_account_tell(struct session *s, struct queue *q, uint64_t now_ns)
{
	struct account_head head = {.time_ns = now_ns};

	if (s->ended.count)
		queue_push(q, account_words_batch(&s->ended, s->process, &head));
}

/* A process that has ended keeps its clock until its parent has waited for it. After that the pid
 * may be another's, and nothing can be opened in its directory any more. */
void session_account_last(struct session *s, struct queue *q)
{
	struct account_head head = {.time_ns = clock_mono_ns()};
	uint64_t own_ns = load_relaxed(&s->process->base->exit_cpu_ns);

	if (process_cpu_read(s->process->pid, &head.process_ns) ||
	    faccessat(s->process->proc_fd, "stat", F_OK, 0))
		head.process_ns = 0;
	if (own_ns > head.process_ns)
		head.process_ns = own_ns;
	queue_push(q, account_words_batch(&s->ended, s->process, &head));
}
