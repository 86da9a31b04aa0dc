/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nobody else cleans up in a session, a few slots at a time:
 *   - a LIVE slot whose thread is gone without a word (a raw clone, a raw exit) is set DEAD.
 *     Its tid was read after its generation was, and is not in /proc any more, or has begun at
 *     another time: no thread of that generation can store anything. The compare-and-swap
 *     carries that generation, so a slot that got another owner meanwhile is left alone.
 *     model: REAP (tests/models/slot.pml)
 *   - a slot that was FREE twice in a row when looked at gives back its control page, too.
 *     model: TIDY
 */
#include "collector/session_private.h"

#include "base/session_layout.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#define PAUSE_NS UINT64_C(100000000)
#define SLOTS_AT_A_TIME 1024
#define THREADS_AT_A_TIME 2 /* that live: a few system calls each; of those gone, all */
#define PUNCHES_AT_A_TIME 256
#define WARM_SLOTS 64 /* keep their control page */

struct tidying {
	struct session *session;
	uint32_t threads, punches; /* that may still be looked at, or punched */
};

/* What is not there is gone only if nothing else keeps us from seeing it. */
static int sees_threads(const struct session *s)
{
	struct stat ours, its;

	return s->process->inside_pid == s->process->pid && stat("/proc/self/ns/pid", &ours) == 0 &&
	       fstatat(s->process->proc_fd, "ns/pid", &its, 0) == 0 && ours.st_ino == its.st_ino &&
	       ours.st_dev == its.st_dev &&
	       session_thread_start(s->process, (int32_t)s->process->pid) != 0;
}

/* A process that shares this one's memory, but is none of its threads, may have the slot. */
static int is_nobody(int32_t tid)
{
	return kill(tid, 0) != 0 && errno == ESRCH;
}

/* Of the thread that has the slot, nothing is left. Not to be able to look says nothing. */
static int is_gone(const struct session *s, struct slot_reader *reader)
{
	uint64_t start = session_thread_start(s->process, reader->tid);

	if (!start)
		return (errno == ENOENT || errno == ESRCH) && is_nobody(reader->tid) &&
		       sees_threads(s);
	if (!reader->tid_start)
		reader->tid_start = start;
	return start != reader->tid_start && sees_threads(s);
}

static void reap(struct tidying *t, uint32_t index, uint64_t seen)
{
	struct session *s = t->session;
	struct slot_reader *reader = &s->readers[index];
	struct weft_session_header *h = s->base;

	if (reader->generation != WEFT_GENERATION_OF(seen) || reader->tid <= 0 || !t->threads)
		return;
	if (!is_gone(s, reader)) {
		t->threads--;
		return;
	}
	if (!session_state_changes(s, index, seen,
				   WEFT_STATE_WORD(reader->generation, WEFT_SLOT_DEAD)))
		return;
	reader->reaped = 1;
	s->reaped++;
	__atomic_sub_fetch(&h->slots_used, 1, __ATOMIC_RELAXED);
}

/* Its books are zero, as fresh memory is. A timer that was left is remembered there. */
static void give_back(struct tidying *t, uint32_t index, uint64_t seen)
{
	struct session *s = t->session;
	struct slot_reader *reader = &s->readers[index];
	const struct weft_slot *slot = weft_session_slot(s->base, &s->layout, index);
	uint64_t draining = WEFT_STATE_WORD(WEFT_GENERATION_OF(seen), WEFT_SLOT_DRAINING);

	if (index < WARM_SLOTS || !reader->closed_generation ||
	    reader->closed_generation != WEFT_GENERATION_OF(seen) || reader->idle == 2 ||
	    !t->punches)
		return;
	if (reader->idle++ == 0 || slot->thread.timer_id >= 0)
		return;
	if (!session_state_changes(s, index, seen, draining))
		return;
	t->punches--;
	session_punch(s, index, 0);
	session_free_slot(s, index, draining);
}

static void tidy_slot(struct tidying *t, uint32_t index)
{
	struct session *s = t->session;
	uint64_t seen =
		__atomic_load_n(&weft_session_states(s->base, &s->layout)[index], __ATOMIC_ACQUIRE);

	if (WEFT_STATE_OF(seen) == WEFT_SLOT_FREE) {
		give_back(t, index, seen);
		return;
	}
	s->readers[index].idle = 0;
	if (WEFT_STATE_OF(seen) == WEFT_SLOT_LIVE && !WEFT_STATE_IS_HELD(seen))
		reap(t, index, seen);
}

void session_tidy(struct session *s, uint64_t now_ns)
{
	struct tidying t = {s, THREADS_AT_A_TIME, PUNCHES_AT_A_TIME};
	uint32_t high = session_slots_high(s);

	if (now_ns - s->tidied_ns < PAUSE_NS)
		return;
	s->tidied_ns = now_ns;
	for (uint32_t i = 0; i < SLOTS_AT_A_TIME && i < high && t.threads && t.punches; i++) {
		s->tidy_next = s->tidy_next < high ? s->tidy_next : 0;
		tidy_slot(&t, s->tidy_next++);
	}
}
