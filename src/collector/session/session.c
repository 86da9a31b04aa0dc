/* SPDX-License-Identifier: Apache-2.0 */
/* The making and steering of a session: see session.h; draining is in session_drain.c. */
#include "collector/session/session_private.h"

#include "base/clock.h"
#include "collector/process/published_context.h"
#include "proc/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t limit_of(pid_t pid, __rlimit_resource_t which)
{
	struct rlimit limit;

	if (prlimit(pid, which, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	return limit.rlim_cur;
}

/* How many bytes a session may take of the process's address space: a sixteenth of what is left, as
 * the tables may take as much again; 0 = there is no limit. */
static uint64_t address_space(const struct process *p)
{
	uint64_t limit = limit_of(p->pid, RLIMIT_AS);
	uint64_t bytes;
	char pages[128];

	if (!limit)
		return 0;
	proc_read(p->proc_fd, "statm", pages, sizeof(pages));
	bytes = strtoull(pages, NULL, 10) * 4096;
	return limit > bytes ? (limit - bytes) / 16 + 1 : 1;
}

static int sealed_memfd(uint64_t bytes)
{
	int fd = memfd_create("weft-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int session_map(struct session *s)
{
	void *base = mmap(NULL, s->process->layout.total_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE, s->memfd, 0);
	void *readers;

	if (base == MAP_FAILED)
		return -ENOMEM;
	madvise(base, s->process->layout.total_bytes, MADV_DONTDUMP);
	madvise(base, s->process->layout.total_bytes, MADV_NOHUGEPAGE);
	s->readers_bytes = s->process->layout.slot_count * sizeof(struct slot_reader);
	readers = mmap(NULL, s->readers_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (readers == MAP_FAILED) {
		munmap(base, s->process->layout.total_bytes);
		return -ENOMEM;
	}
	s->process->base = base;
	s->readers = readers;
	return 0;
}

static int map_memfd(struct session *s)
{
	int rc;

	s->memfd = sealed_memfd(s->process->layout.total_bytes);
	if (s->memfd < 0)
		return s->memfd;
	rc = session_map(s);
	if (rc) {
		close(s->memfd);
		s->memfd = -1;
	}
	return rc;
}

/* The largest session that fits: fewer slots first, then smaller rings. */
static int make_memory(struct session *s, const struct process *p, uint32_t ring_bytes)
{
	uint64_t space = address_space(p);
	uint32_t rings = ring_bytes ? ring_bytes : WEFT_RING_BYTES_DEFAULT;
	uint32_t slots = weft_session_slots_for(space, rings, rings);
	int rc;

	for (;;) {
		memset(&s->process->layout, 0, sizeof(s->process->layout));
		rc = weft_session_layout(&s->process->layout, slots, rings, rings);
		if (rc)
			return rc;
		rc = space && s->process->layout.total_bytes > space ? -ENOMEM : map_memfd(s);
		if (rc == 0)
			return 0;
		if (slots > WEFT_SESSION_BLOCK_SLOTS)
			slots /= 2;
		else if (rings > WEFT_RING_BYTES_MIN)
			rings /= 2;
		else
			return rc;
	}
}

static void session_take_anchor(struct weft_session_header *h)
{
	struct tsc_anchor anchor = {.tsc = 0};

	if (tsc_anchor_take(&anchor))
		anchor.mono_ns = clock_mono_ns();
	h->mono_anchor_ns = anchor.mono_ns;
	h->tsc_anchor = anchor.tsc;
	h->real_anchor_ns = clock_ns(CLOCK_REALTIME) - (clock_mono_ns() - anchor.mono_ns);
}

void session_write_settings(struct session *s, const struct session_settings *settings)
{
	struct weft_session_header *h = s->process->base;

	session_take_anchor(h);
	store_relaxed(&h->time_shift_ns, process_time_shift(s->process->proc_fd));
	h->stack_copy_bytes = settings->stack_copy_bytes;
	h->frames_max = WEFT_FRAMES_MAX;
	h->tables_bytes = settings->tables_bytes;
	memset(h->socket_path, 0, sizeof(h->socket_path));
	if (settings->socket)
		snprintf(h->socket_path, sizeof(h->socket_path), "%s", settings->socket);
	h->tell_children = settings->tell_children != 0;
	store_relaxed(&h->period_ns, settings->period_ns);
	store_relaxed(&h->engines, settings->engines ? settings->engines : WEFT_ENGINE_CPU);
	store_relaxed(&h->prime_signal, settings->prime_signal);
	store_relaxed(&h->tick_signal, settings->tick_signal);
	store_relaxed(&h->clock, settings->clock);
	if (settings->clock_error)
		store_relaxed(&h->clock_error, settings->clock_error);
	store_relaxed(&h->stack_mode, settings->stack_mode);
	process_tell_variables(s->process, &(struct weft_published){0}); /* found anew */
}

static void session_fill_header(struct session *s, const struct process *p,
				const struct session_settings *settings)
{
	struct weft_session_header *h = s->process->base;
	uint64_t *bits = weft_session_free_bits(s->process->base, &s->process->layout);

	memcpy(h, &s->process->layout, sizeof(*h));
	h->pid = p->inside_pid;
	h->parent_pid = p->parent;
	h->pid_start = p->start_ticks;
	h->session_id = p->session_id;
	session_write_settings(s, settings);
	h->drained_ns = h->mono_anchor_ns;
	h->collector_pid = getpid();
	h->cookie = random_number() & 0xFFFFFF;
	h->run_state = WEFT_RUN_RECORDING;
	for (uint32_t i = 0; i < s->process->layout.slot_count / WEFT_SESSION_BLOCK_SLOTS; i++)
		bits[i] = UINT64_MAX;
}

struct session *session_of(struct process *p)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->process = p;
	s->memfd = s->pidfd = -1;
	s->pass_ns = SESSION_PASS_NS;
	return s;
}

int session_new(struct session **out, struct process *p, const struct session_settings *settings)
{
	struct session *s = session_of(p);
	int rc;

	if (!s)
		return -ENOMEM;
	rc = make_memory(s, p, settings->ring_bytes);
	if (rc == 0) {
		session_fill_header(s, p, settings);
		rc = session_events_begin(s, &settings->events);
	}
	if (rc) {
		session_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (s->memfd >= 0)
		close(s->memfd);
	if (s->pidfd >= 0)
		close(s->pidfd);
	if (s->readers)
		munmap(s->readers, s->readers_bytes);
	session_events_free(s);
	account_words_free(&s->ended);
	free(s);
}

void session_stop(struct session *s)
{
	session_events_off(s);
	store_release(&s->process->base->run_state, WEFT_RUN_STOPPED);
}

void session_leave(struct session *s)
{
	store_release(&s->process->base->run_state, WEFT_RUN_CLOSED);
}

void session_done_at(struct weft_session_header *h)
{
	store_release(&h->collector_done, 1);
	syscall(SYS_futex, &h->collector_done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

int session_is_dead(const struct session *s)
{
	struct pollfd fd = {.fd = s->pidfd, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

int session_is_exiting(const struct session *s)
{
	return load_acquire(&s->process->base->target_state) == WEFT_TARGET_EXITING;
}

int session_has_map(const struct session *s)
{
	return load_relaxed(&s->process->base->map_number) != 0;
}

void session_set_budget(struct session *s, uint32_t timers)
{
	store_relaxed(&s->process->base->timer_budget, timers);
}

uint32_t session_timers(const struct session *s)
{
	uint32_t armed = load_relaxed(&s->process->base->timers_armed);

	return armed < s->process->layout.slot_count ? armed : s->process->layout.slot_count;
}
