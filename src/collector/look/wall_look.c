/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at one thread, from outside: wall.h says in which order. All that is read was true
 * at one time, because the thread did not run between the first and the last read: it got on no
 * CPU (run count), and is in the same system call at the same place of its stack.
 *
 * Files of /proc are kept open while descriptors last (half of what the limit allows), for
 * opening one costs more than reading it.
 */
#include "collector/look/wall_private.h"

#include "base/context_snapshot.h"
#include "collector/look/published_merge.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>
#include <weft/publish.h>

#define TEXT_BYTES 4096
#define CALL_BYTES 256

#if defined(__x86_64__)
#define REGISTERS 17
#define SP_REGISTER 7
#define PC_REGISTER 16
#define BELOW_SP 128
#else
#define REGISTERS 33
#define SP_REGISTER 31
#define PC_REGISTER 32
#define BELOW_SP 0
#endif

/* Tests make this long, or take what they then find for true. */
#ifndef WALL_BETWEEN_READS
#define WALL_BETWEEN_READS() ((void)0)
#endif
#ifndef WALL_BELIEVES
#define WALL_BELIEVES 0
#endif

/* ---- descriptors */

static pthread_once_t limit_once = PTHREAD_ONCE_INIT;
static int64_t kept_limit, kept; /* of all processes; atomic */

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = {limit.rlim_max, limit.rlim_max};

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			limit = raised;
	}
	kept_limit = (int64_t)((limit.rlim_cur < 1 << 20 ? limit.rlim_cur : 1 << 20) / 2);
}

static int keeps_another(void)
{
	pthread_once(&limit_once, raise_limit);
	if (__atomic_add_fetch(&kept, 1, __ATOMIC_RELAXED) <= kept_limit)
		return 1;
	__atomic_sub_fetch(&kept, 1, __ATOMIC_RELAXED);
	return 0;
}

void wall_files_close(int *fd, int count)
{
	for (int i = 0; i < count; i++) {
		if (fd[i] < 0)
			continue;
		close(fd[i]);
		__atomic_sub_fetch(&kept, 1, __ATOMIC_RELAXED);
		fd[i] = -1;
	}
}

int wall_file_read(const struct process *p, int32_t tid, int *kept_fd, const char *name, char *out,
		   size_t room)
{
	int fd = *kept_fd, rc;
	char path[64];
	ssize_t n;

	out[0] = 0;
	if (fd < 0) {
		snprintf(path, sizeof(path), "task/%d/%s", (int)tid, name);
		fd = openat(p->proc_fd, path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	n = pread(fd, out, room - 1, 0);
	rc = n < 0 ? -errno : n == 0 ? -ESRCH : (int)n;
	out[n > 0 ? n : 0] = 0;
	if (*kept_fd < 0 && keeps_another())
		*kept_fd = fd;
	if (*kept_fd < 0)
		close(fd);
	return rc;
}

static int wall_look_read_file(const struct wall *w, struct wall_thread *t, enum wall_file which,
			       const char *name, char *out, size_t room)
{
	return wall_file_read(w->process, t->watched->tid, &t->fd[which], name, out, room);
}

/* ---- what they say */

int wall_runs_read(struct wall *w, struct wall_thread *t, struct thread_sched *out)
{
	char text[TEXT_BYTES];
	int rc = -ENOENT;

	if (!t->no_schedstat) {
		rc = wall_look_read_file(w, t, WALL_FILE_RUNS, "schedstat", text, 128);
		if (rc >= 0)
			return thread_parse_schedstat(text, out);
		if (rc != -ENOENT || faccessat(w->process->proc_fd, "schedstat", F_OK, 0) == 0)
			return rc == -ENOENT ? -ESRCH : rc;
		t->no_schedstat = 1;
	}
	rc = wall_look_read_file(w, t, WALL_FILE_RUNS, "status", text, sizeof(text));
	if (rc >= 0)
		rc = thread_parse_status(text, out);
	return rc == -ENOENT ? -ESRCH : rc;
}

static uint8_t wall_look_state_of(char letter)
{
	if (letter == 'R')
		return WEFT_STATE_RUNNING;
	return letter == 'D' ? WEFT_STATE_UNINTERRUPTIBLE : WEFT_STATE_SLEEPING;
}

static int wall_look_read_stat(const struct wall *w, struct wall_thread *t, struct thread_stat *out)
{
	char text[TEXT_BYTES];
	int rc = wall_look_read_file(w, t, WALL_FILE_STAT, "stat", text, sizeof(text));

	return rc < 0 ? rc : thread_parse_stat(text, out);
}

int wall_read_state(struct wall *w, struct wall_thread *t)
{
	struct thread_stat stat;
	int ours = sched_getcpu();

	if (wall_look_read_stat(w, t, &stat) < 0 || stat.state == 'Z' || stat.state == 'X' ||
	    !process_has_stack(w->process, stat.stack_start)) {
		wall_count(w, WEFT_COUNTER_WALL_GONE, 1);
		return 0;
	}
	if (process_has_thread(w->process, t->watched->tid, stat.stack_start))
		memcpy(t->watched->name, stat.name, sizeof(stat.name)); /* by which it is judged */
	w->look.state = wall_look_state_of(stat.state);
	w->look.is_on_our_cpu = ours >= 0 && stat.cpu == ours;
	w->look.is_filtered = wall_is_off(w) || (w->options.pattern &&
						 fnmatch(w->options.pattern, stat.name, 0) != 0);
	return 1;
}

int wall_is_runnable(struct wall *w, struct wall_thread *t)
{
	struct thread_stat stat;

	return wall_look_read_stat(w, t, &stat) == 0 && stat.state == 'R';
}

int wall_is_on_cpu(struct wall *w, struct wall_thread *t)
{
	char text[TEXT_BYTES];
	struct thread_sched left;

	return wall_look_read_file(w, t, WALL_FILE_STATUS, "status", text, sizeof(text)) >= 0 &&
	       thread_parse_status(text, &left) == 0 && t->runs.count > left.count;
}

static int slot_is_its(const struct wall *w, const struct watched_thread *t)
{
	const struct weft_slot *slot = watched_slot(w->process, t);

	return slot && threads_slot_is_live(w->process, t->slot, t->generation) &&
	       slot->thread.tid == t->inside_tid;
}

/* Upper end of the known stack that holds @sp; 0: none does. Whoever wrote that may lie: more
 * than the limit is never read. */
static uint64_t stack_end(const struct weft_slot *slot, uint64_t sp)
{
	uint64_t low = load_relaxed(&slot->thread.stack_low);
	uint64_t high = load_relaxed(&slot->thread.stack_high);

	if (sp >= low && sp < high)
		return high;
	low = load_relaxed(&slot->events.coroutine_stack_low);
	high = load_relaxed(&slot->events.coroutine_stack_high);
	return sp >= low && sp < high ? high : 0;
}

int wall_shows_ids(const struct process *p)
{
	return (load_relaxed(&p->base->formats) & WEFT_FORMAT_V1) != 0;
}

/* Ids and labels of one moment, if there is one in a few tries. */
static enum weft_sample_context look_at_slot(struct wall *w, const struct watched_thread *t,
					     struct weft_context_snapshot *out)
{
	const struct weft_slot *slot = process_slot(w->process, t->slot);
	enum weft_sample_context found = WEFT_CONTEXT_BUSY;
	uint64_t seq;

	for (int i = 0; i < WEFT_SNAPSHOT_TRIES; i++) {
		seq = load_acquire(&slot->ext.seq);
		found = weft_context_snapshot_remote(slot, out);
		w->look.label_bytes =
			wall_labels_of_slot(w->process, t->slot, t->tid, w->look.labels);
		if (load_relaxed(&slot->ext.seq) == seq)
			break;
	}
	if (wall_shows_ids(w->process))
		return found;
	memset(out, 0, sizeof(*out));
	return WEFT_CONTEXT_NONE;
}

/* Who sleeps since its first moments may have got its slot after slots were looked for last, and
 * will be seen once: with it, or never. */
static void wall_look_find_slot(const struct wall *w, const struct watched_thread *t)
{
	if (t->slot == THREADS_NO_SLOT && w->process->base)
		threads_find_slots(w->threads);
}

/* As wall_take_context(), of the slot alone. */
static uint64_t wall_look_take_slot(struct wall *w, const struct watched_thread *t,
				    struct weft_sample_record *sample, uint64_t sp)
{
	struct weft_context_snapshot snapshot;
	const struct weft_slot *slot;
	enum weft_sample_context found;
	uint64_t end;

	w->look.label_bytes = 0;
	wall_look_find_slot(w, t);
	if (!slot_is_its(w, t))
		return 0;
	slot = process_slot(w->process, t->slot);
	found = look_at_slot(w, t, &snapshot);
	end = stack_end(slot, sp);
	if (!slot_is_its(w, t)) {
		w->look.label_bytes = 0;
		return 0;
	}
	sample->context = (uint8_t)found;
	sample->coroutine = load_relaxed(&slot->events.coroutine);
	if (load_relaxed(&slot->events.open_contexts))
		sample->flags |= WEFT_SAMPLE_IN_CONTEXT;
	memcpy(&sample->span_id, &snapshot, sizeof(snapshot));
	if (w->look.label_bytes < 0)
		wall_count(w, WEFT_COUNTER_LABELS_UNRECORDED, 1);
	return end;
}

/* A context that is being written, or labels that are not to be had: nobody else's are added. */
static void wall_look_add_published(struct wall *w, const struct watched_thread *t,
				    struct weft_sample_record *sample)
{
	struct wall_thread *thread = t->wall;

	if (!w->published || !thread)
		return;
	if (published_drops_own(w->options.from)) {
		published_drop_own(sample);
		w->look.label_bytes = 0;
	}
	if (w->look.label_bytes < 0 || sample->context == WEFT_CONTEXT_BUSY ||
	    sample->context == WEFT_CONTEXT_BAD)
		return;
	w->look.label_bytes = published_add(w->published, &thread->published, t->tid, sample,
					    w->look.labels, w->look.label_bytes);
}

uint64_t wall_take_context(struct wall *w, const struct watched_thread *t,
			   struct weft_sample_record *sample, uint64_t sp)
{
	uint64_t end = wall_look_take_slot(w, t, sample, sp);

	wall_look_add_published(w, t, sample);
	sample->label_generation = w->look.label_bytes > 0;
	return end;
}

int wall_has_no_context(const struct wall *w, const struct weft_sample_record *sample)
{
	return wall_wants_context(w) && w->look.label_bytes <= 0 &&
	       !(sample->flags & WEFT_SAMPLE_IN_CONTEXT) &&
	       (sample->context == WEFT_CONTEXT_NONE || sample->context == WEFT_CONTEXT_SLOTLESS);
}

/* Registers and stack behind the sample. */
static void wall_look_take_stack(struct wall *w, int32_t tid, const struct thread_call *call,
				 uint64_t end)
{
	struct weft_sample_record *sample = (void *)w->look.record;
	uint64_t registers[REGISTERS] = {0}, from = call->sp - BELOW_SP;
	uint8_t *at = (uint8_t *)(sample + 1) + sizeof(registers);
	size_t most =
		end > from && end - from < WALL_STACK_MAX ? (size_t)(end - from) : WALL_STACK_MAX;
	struct iovec to = {at, most}, there = {(void *)(uintptr_t)from, most};
	ssize_t n;

	registers[SP_REGISTER] = call->sp;
	registers[PC_REGISTER] = call->pc;
	memcpy(sample + 1, registers, sizeof(registers));
	sample->register_count = REGISTERS;
	n = process_vm_readv(tid, &to, 1, &there, 1, 0);
	if (n <= 0) {
		wall_count(w, WEFT_COUNTER_WALL_UNREADABLE, 1);
		sample->flags |= WEFT_SAMPLE_NO_STACK;
		n = 0;
	} else if ((size_t)n == WALL_STACK_MAX) {
		sample->flags |= WEFT_SAMPLE_CUT;
	}
	sample->copy_address = from;
	sample->copy_bytes = (uint32_t)n;
	w->look.bytes = (uint32_t)((sizeof(*sample) + sizeof(registers) + (size_t)n + 7) & ~7u);
}

/* Where /proc does not tell its registers: that it is blocked, and with which context. */
static void take_nothing(struct wall *w)
{
	struct weft_sample_record *sample = (void *)w->look.record;

	wall_count(w, WEFT_COUNTER_WALL_UNREADABLE, 1);
	sample->stack = WEFT_SAMPLE_FRAMES;
	sample->flags |= WEFT_SAMPLE_NO_STACK;
	sample->end = WEFT_END_NO_RULE;
	w->look.bytes = sizeof(*sample);
}

static void begin_sample(struct wall *w)
{
	struct weft_sample_record *sample = (void *)w->look.record;

	*sample = (struct weft_sample_record){.record = {.type = WEFT_RECORD_SAMPLE},
					      .weight = 1,
					      .engine = WEFT_ENGINE_WALL,
					      .flags = WEFT_SAMPLE_OUTSIDE,
					      .stack = WEFT_SAMPLE_RAW,
					      .state = w->look.state};
}

/* What lies between two looks at the same call. */
static void wall_look_take(struct wall *w, const struct watched_thread *t,
			   const struct thread_call *call)
{
	struct weft_sample_record *sample = (void *)w->look.record;
	uint64_t end;

	begin_sample(w);
	end = wall_take_context(w, t, sample, call ? call->sp : 0);
	if (wall_has_no_context(w, sample))
		w->look.is_filtered = 1;
	if (w->look.is_filtered)
		return;
	WALL_BETWEEN_READS();
	if (call)
		wall_look_take_stack(w, t->tid, call, end);
	else
		take_nothing(w);
	sample->record.bytes = w->look.bytes;
	wall_put_labels(sample, w->look.labels, w->look.label_bytes);
	sample->record.generation = (uint32_t)t->generation;
}

/* "running" is 0, for then it is not blocked. */
static int read_call(struct wall *w, struct wall_thread *t, char *text, struct thread_call *out)
{
	int rc = wall_look_read_file(w, t, WALL_FILE_CALL, "syscall", text, CALL_BYTES);

	if (rc < 0)
		return rc;
	rc = thread_parse_syscall(text, out);
	return rc == 0 ? 1 : rc == -EAGAIN ? 0 : rc;
}

static int has_not_moved(struct wall *w, struct wall_thread *t, const struct thread_sched *before,
			 const char *first)
{
	char text[CALL_BYTES];
	struct thread_call call;

	if (first && (read_call(w, t, text, &call) != 1 || strcmp(first, text) != 0))
		return 0;
	return wall_runs_read(w, t, &w->look.runs) == 0 && w->look.runs.count == before->count &&
	       !w->look.runs.is_running;
}

int wall_look(struct wall *w, struct wall_thread *t, const struct thread_sched *before)
{
	char text[CALL_BYTES];
	struct thread_call call;
	int rc;

	if (before->is_running || !wall_read_state(w, t) || w->look.state == WEFT_STATE_RUNNING)
		return 0;
	rc = read_call(w, t, text, &call);
	if (rc == 0)
		return 0;
	if (rc == -ESRCH ||
	    (rc == -ENOENT && faccessat(w->process->proc_fd, "syscall", F_OK, 0) == 0)) {
		wall_count(w, WEFT_COUNTER_WALL_GONE, 1);
		return 0;
	}
	wall_look_take(w, t->watched, rc == 1 ? &call : NULL);
	if (has_not_moved(w, t, before, rc == 1 ? text : NULL) || WALL_BELIEVES)
		return 1;
	wall_count(w, WEFT_COUNTER_WALL_MOVED, 1);
	return 0;
}
