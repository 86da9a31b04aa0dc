/* SPDX-License-Identifier: Apache-2.0 */
/* hrtimers by perf's cpu-clock: see clock.h. */
#include "runtime/sample/clock.h"

#include <poll.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/core/sys.h"
#include "runtime/sample/clock_gaps.h"
#include "runtime/sample/clock_rest.h"
#include "runtime/sample/kernel_time.h"
#include "runtime/sample/sample.h"

#define GAP_DENSE_MIN_NS 100000 /* a signal costs a third of it */
#define PAGE_BYTES 4096
#define FIRED 1            /* si_code of a signal by F_SETSIG: POLL_IN */
#define RUSH_NS (1u << 27) /* an eighth of a second, in which so many threads .. */
#define RUSH_THREADS 16    /* .. get their clock at once; of those after them one in .. */
#define QUIET_PERIODS 32
#define OPENING_MAX_NS 100000

static uint32_t handlers_late_ns = 30000; /* after the event has fired; both are learned */
static uint32_t opening_ns = 30000;       /* from then until it counts again, opened anew */
static int is_short;  /* the last one failed: no descriptor, or no lockable memory */
static uint64_t rush; /* number of the eighth of a second << 16 | threads begun in it */

static uint64_t *generator(struct weft_slot *slot)
{
	struct weft_clock *clock = weft_clock_of(slot);

	if (!clock->random)
		clock->random =
			hash_mix(clock_monotonic_ns() ^ (uint64_t)slot->thread.tid << 40) | 1;
	return &clock->random;
}

uint64_t weft_clock_random_below(struct weft_slot *slot, uint64_t below)
{
	return weft_random_below(generator(slot), below);
}

/* This thread's mean gap: shorter by the number of threads that it stands for. */
static uint64_t own_gap_ns(const struct weft_clock *clock)
{
	uint64_t period_ns = weft_clock_gap_ns();
	uint64_t dense_ns = period_ns / (clock->gaps.share | !clock->gaps.share);
	uint64_t least_ns = period_ns < GAP_DENSE_MIN_NS ? period_ns : GAP_DENSE_MIN_NS;

	return dense_ns < least_ns ? least_ns : dense_ns;
}

/* Time between a gap and a late one belongs to the late one as well: until the handler began all
 * threads that it stands for have run on; the handler's own time counts once. */
uint64_t weft_clock_weight_ns(struct weft_slot *slot)
{
	const struct weft_clock *clock = weft_clock_of(slot);
	uint64_t ns = own_gap_ns(clock), own_ns = 0;

	if (UNLIKELY(weft_rt_is_careful()) && clock->gaps.gap_ns) { /* the only one from now on */
		ns = clock->gaps.gap_ns;
	} else if (clock->gaps.is_late) {
		ns += load_relaxed(&handlers_late_ns);
		own_ns = load_relaxed(&opening_ns);
	}
	return (clock->gaps.share > 1 ? ns * clock->gaps.share : ns) + own_ns;
}

/* ---- the event */

/* The first version of struct perf_event_attr: not every libc comes with the kernel's headers. */
struct event_attr {
	uint32_t type, size;
	uint64_t config, sample_period, sample_type, read_format, flags;
	uint32_t wakeup_events, bp_type;
	uint64_t bp_addr;
};
_Static_assert(sizeof(struct event_attr) == 64, "PERF_ATTR_SIZE_VER0");
#define EVENT_SOFTWARE 1
#define EVENT_CPU_CLOCK 0
#define EVENT_DISABLED UINT64_C(1)
#define EVENT_IN_USER_MODE (UINT64_C(3) << 5) /* exclude_kernel, exclude_hv */
#define EVENT_CLOSE_ON_EXEC 8
#define EVENT_ENABLE 0x2400UL /* PERF_EVENT_IOC_ENABLE */
#define EVENT_ID 0x80082407UL /* PERF_EVENT_IOC_ID */

static long clock_open_event(int32_t tid, uint64_t gap_ns)
{
	const struct event_attr attr = {
		.type = EVENT_SOFTWARE,
		.size = sizeof(attr),
		.config = EVENT_CPU_CLOCK,
		.sample_period = gap_ns,
		.flags = EVENT_DISABLED | EVENT_IN_USER_MODE,
	};

	return sys_call5(SYS_perf_event_open, &attr, tid, -1, -1, EVENT_CLOSE_ON_EXEC);
}

/* Not every libc defines this structure. */
struct owner {
	int32_t type, tid;
};
#define OWNER_IS_THREAD 0
#define SET_OWNER_EX 15
#define SET_SIGNAL 10
#define GET_SIGNAL 11

static long aim(long fd, int32_t tid)
{
	struct owner owner = {OWNER_IS_THREAD, tid};
	long failed = sys_call3(SYS_fcntl, fd, SET_OWNER_EX, &owner);

	if (!failed)
		failed = sys_call3(SYS_fcntl, fd, SET_SIGNAL, SIGURG);
	return failed ? failed : sys_call3(SYS_fcntl, fd, F_SETFL, O_RDWR | O_ASYNC);
}

/* The control page's first words. */
struct page_head {
	uint32_t version, compat_version;
	uint64_t lock_to_running[4];
	uint64_t capabilities;
};
#define CAPABILITIES_FORM 3 /* bit 0 is never set, bit 1 always (since Linux 3.12) */
#define CAPABILITIES_EVENT 2

/* Asked of the kernel, by a call that reads there and then fails, as there is no such timer. (Of
 * this page process_vm_readv reads nothing, on newer kernels.) */
static int can_be_read(uint64_t page)
{
	return sys_call4(SYS_timer_settime, -1, 0, page, NULL) != -EFAULT;
}

/*
 * Is the event's page there still? A program that unmaps what it does not know has ended the event
 * with it, and may have something of its own there by now. 1 also where nothing may be asked.
 */
static int has_page_of_event(uint64_t page)
{
	const volatile struct page_head *head = (const volatile struct page_head *)page;

	if (weft_rt_is_careful())
		return 1;
	return can_be_read(page) && !head->version && !head->compat_version &&
	       (head->capabilities & CAPABILITIES_FORM) == CAPABILITIES_EVENT;
}

static void clock_unmap(uint64_t page)
{
	if (page > WEFT_CLOCK_OPENING)
		sys_call2(SYS_munmap, page, PAGE_BYTES);
}

/* Refused for good: threads that begin later do not try. */
static void note_refusal(long error)
{
	if (weft_rt_is_unbegun_child())
		return;
	if (error == -EACCES || error == -EPERM || error == -ENOSYS || error == -EINVAL ||
	    error == -ENOENT || error == -EOPNOTSUPP || error == -EADDRINUSE)
		store_relaxed(&weft_rt.header->clock_error, (int32_t)error);
}

/* CPU time of a thread of this process, modulo, as clocks keep it. Only asked when needed: it costs
 * a running thread its time slice, see clock.h. */
static uint32_t cpu_us_of(int32_t tid)
{
	return weft_usage_modulo(sys_clock_ns(SYS_CPU_CLOCK(tid)) / 1000 + 1);
}

/* Returns the address of the event's control page, and its descriptor number in *clock; or -errno.
 * The event counts from the end of this function on, so that its calls are no part of a gap. */
static long clock_make(struct weft_slot *slot, uint64_t gap_ns, struct weft_clock *clock)
{
	long fd = clock_open_event(slot->thread.tid, gap_ns), page;

	if (fd < 0) {
		note_refusal(fd);
		return fd;
	}
	page = aim(fd, slot->thread.tid);
	if (!page)
		page = sys_call6(SYS_mmap, 0, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	clock->since_us = clock->gaps.left ? 0 : cpu_us_of(slot->thread.tid);
	sys_call3(SYS_ioctl, fd, EVENT_ENABLE, 0);
	sys_call1(SYS_close, fd);
	clock->fd = (int32_t)fd;
	return page;
}

/* Counts threads, not attempts. */
static void note_lack(struct weft_slot *slot)
{
	uint32_t before;

	if (weft_rt_is_unbegun_child() || load_relaxed(&weft_rt.header->clock_error))
		return;
	before = __atomic_fetch_or(&slot->thread.flags, WEFT_SLOT_NO_CLOCK, __ATOMIC_RELAXED);
	if (!(before & WEFT_SLOT_NO_CLOCK))
		__atomic_fetch_add(&weft_rt.header->clock_lacked, 1, __ATOMIC_RELAXED);
}

/* The event is made between the two stores: if the clock is closed meanwhile, so is the event. */
static int make_for(struct weft_slot *slot, uint64_t gap_ns)
{
	struct weft_clock *clock = weft_clock_of(slot);
	uint64_t opening = WEFT_CLOCK_OPENING, found;
	long page;

	page = clock_make(slot, gap_ns, clock);
	found = sys_is_error(page) ? 0 : (uint64_t)page;
	store_relaxed(&is_short, !found);
	if (!found)
		note_lack(slot);
	if (!cas_acq_rel(&clock->page, &opening, found))
		clock_unmap(found);
	return found != 0;
}

/* The clock is OPENING, by this thread. The engine may be stopping on another one (engine.c). */
static int clock_start(struct weft_slot *slot, uint64_t gap_ns)
{
	int made = 0;

	if (weft_engine_enter()) {
		made = make_for(slot, gap_ns);
		if (weft_engine_leave())
			return made;
	}
	weft_clock_close(slot);
	return 0;
}

static int is_handled_by_program(void)
{
	if (LIKELY(!weft_disposition_has_handler(WEFT_KEPT_PRIME)))
		return 0;
	note_refusal(-EADDRINUSE);
	return 1;
}

int weft_clock_is_possible(uint64_t mask)
{
	const struct weft_session_header *h = weft_rt.header;

	return !(mask & SYS_SIGNAL_BIT(SIGURG)) && !weft_rt_is_careful() &&
	       load_relaxed(&h->clock) == WEFT_CLOCK_AUTO && !load_relaxed(&h->clock_error) &&
	       weft_prime_signal() == SIGURG && !is_handled_by_program();
}

static int begins_to_open(struct weft_clock *clock)
{
	uint64_t closed = 0;

	return cas_acq_rel(&clock->page, &closed, WEFT_CLOCK_OPENING);
}

/* Its address, or what else the word holds; of several who ask for it one gets it. */
static uint64_t clock_take_page(struct weft_slot *slot)
{
	uint64_t *page = &weft_clock_of(slot)->page;

	return load_relaxed(page) ? __atomic_exchange_n(page, 0, __ATOMIC_ACQ_REL) : 0;
}

void weft_clock_close(struct weft_slot *slot)
{
	uint64_t page = clock_take_page(slot);

	if (page > WEFT_CLOCK_OPENING && has_page_of_event(page))
		clock_unmap(page);
}

void weft_clock_yield(void)
{
	if (!weft_rt_has_session())
		return;
	note_refusal(-EADDRINUSE);
	weft_clock_close(weft_slot_private());
	for (uint32_t i = 0; i < weft_rt_slots_high(); i++)
		weft_clock_close(weft_rt_slot(i));
}

/* Does the program have a descriptor that sends SIGURG by F_SETSIG? (Another thread may be opening
 * its event under that number.) */
static int is_descriptor_of_program(int32_t fd)
{
	uint64_t id; /* an event has one */

	return sys_call2(SYS_fcntl, fd, GET_SIGNAL) == SIGURG &&
	       sys_call3(SYS_ioctl, fd, EVENT_ID, &id) &&
	       sys_call2(SYS_fcntl, fd, GET_SIGNAL) == SIGURG;
}

static int clock_is_readable(int32_t fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN | POLLPRI};
	const struct timespec now = {0};

	return sys_call5(SYS_ppoll, &one, 1, &now, NULL, 0) > 0;
}

/* Drops a pending signal of @fd, unless the descriptor is the program's and ready. */
static void clock_take_pending(int32_t tid, int32_t fd)
{
	const uint64_t set = SYS_SIGNAL_BIT(SIGURG);
	const struct timespec now = {0};
	siginfo_t info = {.si_code = 0};

	if (sys_call4(SYS_rt_sigtimedwait, &set, &info, &now, sizeof(set)) != SIGURG)
		return;
	if (info.si_code != FIRED || info.si_fd != fd ||
	    (is_descriptor_of_program(fd) && clock_is_readable(fd)))
		sys_call4(SYS_rt_tgsigqueueinfo, weft_rt.pid, tid, SIGURG, &info);
}

/* The event has just fired, so that it is there, or is closed. Its old descriptor number may be the
 * program's by now. 0: the clock is closed. */
static int open_anew(struct weft_slot *slot, uint64_t gap_ns)
{
	struct weft_clock *clock = weft_clock_of(slot);
	int32_t fd = clock->fd;

	clock_unmap(clock_take_page(slot));
	if (!begins_to_open(clock) || !clock_start(slot, gap_ns))
		return 0;
	if (clock->fd != fd)
		clock_take_pending(slot->thread.tid, fd);
	return 1;
}

/* In the private slot: clears the forking thread's event, which the child does not have. */
static void forget_private(void)
{
	struct weft_clock *clock = weft_clock_of(weft_slot_private());

	memset(clock, 0, sizeof(*clock));
}

/* 0: there was no event, or the engine is stopping. */
static int clock_take_along(struct weft_slot *slot)
{
	struct weft_slot *private = weft_slot_private();
	int is_taken;

	if (slot == private || private->thread.tid != slot->thread.tid ||
	    !weft_clock_is_open(private) || !weft_engine_enter())
		return 0;
	memcpy(weft_clock_of(slot), weft_clock_of(private), sizeof(struct weft_clock));
	forget_private();
	is_taken = weft_engine_leave();
	if (!is_taken)
		weft_clock_close(slot);
	return is_taken;
}

int weft_clock_open(struct weft_slot *slot, uint64_t mask)
{
	struct weft_clock *clock = weft_clock_of(slot);

	if (weft_clock_rests(slot) || !weft_clock_is_possible(mask) || !begins_to_open(clock))
		return 0;
	weft_kernel_time_forget(slot);
	clock->told_us = 0;
	weft_gaps_first(&clock->gaps, generator(slot), own_gap_ns(clock));
	if (!clock_start(slot, clock->gaps.gap_ns))
		return 0;
	if (!weft_rt_is_unbegun_child())
		__atomic_fetch_add(&weft_rt.header->clock_opened, 1, __ATOMIC_RELAXED);
	return 1;
}

void weft_clock_after_fork(int is_wanted)
{
	struct weft_slot *slot = weft_slot_private();
	uint64_t mask;

	forget_private();
	if (!is_wanted)
		return;
	weft_period_keep();
	slot->thread.tid = sys_gettid();
	mask = sys_signals_block(SYS_SIGNALS_ALL);
	weft_clock_open(slot, mask);
	sys_signals_restore(mask);
}

void weft_clock_after_begin(struct weft_slot *slot)
{
	if (!slot)
		weft_clock_close(weft_slot_private());
	else if (clock_take_along(slot))
		__atomic_fetch_add(&weft_rt.header->clock_opened, 1, __ATOMIC_RELAXED);
}

uint64_t weft_clock_open_late(struct weft_slot *slot, uint64_t mask, uint64_t weight_ns)
{
	struct weft_gaps *gaps = &weft_clock_of(slot)->gaps;
	int was_put_off = gaps->share > 1 && !gaps->gap_ns;

	gaps->share = 1;
	if (!weft_clock_open(slot, mask))
		return weight_ns;
	if (was_put_off)
		return 0;
	return weft_tick_ns() / 2;
}

void weft_clock_first_tick(struct weft_slot *slot)
{
	struct weft_clock *clock = weft_clock_of(slot);

	if (clock->gaps.share <= 1 || weft_rt_is_careful())
		return;
	clock->gaps.share = 1;
	weft_gaps_first(&clock->gaps, generator(slot), own_gap_ns(clock));
	weft_clock_close(slot);
	open_anew(slot, clock->gaps.gap_ns);
}

/*
 * One in how many of the threads that begin now gets its clock at once. The more threads begin, the
 * shorter they live, unless there are many CPUs; so what is saved costs no samples, because those
 * of a chosen thread are that much denser. Where opening a clock may fail, no thread can stand for
 * others.
 */
static uint16_t share_of_now(const struct weft_slot *slot)
{
	uint64_t now = slot->thread.claimed_ns / RUSH_NS;
	uint64_t seen = load_relaxed(&rush);
	uint64_t threads = seen >> 16 == now ? seen & 0xFFFF : 0;

	if (threads < 0xFFFF)
		store_relaxed(&rush, now << 16 | (threads + 1));
	if (threads < RUSH_THREADS || load_relaxed(&is_short))
		return 1;
	return threads < 4 * RUSH_THREADS ? 4 : 8;
}

/* A clock that is postponed is opened by a tick, so there must be ticks. */
static int has_ticks(const struct weft_slot *slot, uint64_t mask)
{
	return slot->thread.timer_id >= 0 && !(mask & SYS_SIGNAL_BIT(weft_tick_signal()));
}

void weft_clock_begin(struct weft_slot *slot, uint64_t mask)
{
	struct weft_gaps *gaps = &weft_clock_of(slot)->gaps;

	if (weft_clock_is_open(weft_slot_private()))
		weft_clock_after_begin(slot);
	if (weft_clock_is_open(slot) || !weft_clock_is_possible(mask))
		return;
	gaps->share = has_ticks(slot, mask) ? share_of_now(slot) : 1;
	if (weft_random_below(generator(slot), gaps->share) == 0)
		weft_clock_open(slot, mask);
}

static struct weft_slot *open_of_mine(void)
{
	struct weft_slot *slot = weft_slot_mine();

	return slot && weft_guard_holds() && weft_clock_is_open(slot) && !weft_rt_is_careful()
		       ? slot
		       : NULL;
}

void weft_clock_before_mask(void)
{
	struct weft_slot *slot = open_of_mine();

	if (slot)
		weft_clock_close(slot);
}

void weft_clock_after_mask(void)
{
	struct weft_slot *slot = open_of_mine();

	if (!slot)
		return;
	weft_clock_close(slot);
	clock_take_pending(slot->thread.tid, weft_clock_of(slot)->fd);
}

/*
 * The event may have fired long before, while all was blocked: it may be closed by now, and its
 * slot released. A descriptor of the program's own that sends such a signal is still open.
 */
int weft_clock_sent(const siginfo_t *info)
{
	struct weft_slot *slot = weft_slot_mine(), *private = weft_slot_private();

	if (info->si_code != FIRED)
		return 0;
	if (weft_clock_is_open(private) && weft_clock_of(private)->fd == info->si_fd)
		return 1;
	if (!weft_rt_has_session() || !load_relaxed(&weft_rt.header->clock_opened))
		return 0;
	if (slot && slot != private && weft_clock_is_open(slot) &&
	    info->si_fd == weft_clock_of(slot)->fd)
		return 1;
	return weft_rt_is_careful() || !is_descriptor_of_program(info->si_fd);
}

int weft_clock_is_repeat(struct weft_slot *slot)
{
	struct weft_clock *clock = weft_clock_of(slot);
	uint32_t age_us, late = load_relaxed(&handlers_late_ns);
	int is_repeat;

	if (!weft_clock_is_open(slot) || clock->gaps.left || !clock->since_us ||
	    weft_rt_is_careful())
		return 0;
	age_us = cpu_us_of(slot->thread.tid) - clock->since_us;
	is_repeat = weft_gaps_is_repeat(&clock->gaps, generator(slot), own_gap_ns(clock),
					age_us * UINT64_C(1000), &late);
	store_relaxed(&handlers_late_ns, late);
	if (is_repeat)
		open_anew(slot, clock->gaps.gap_ns);
	return is_repeat;
}

/* Learns the time from the handler's beginning until the event counts again. */
static void learn_opening(uint64_t fired_ns)
{
	uint64_t ns = clock_monotonic_ns() - fired_ns;
	uint32_t before = load_relaxed(&opening_ns);

	if (ns < OPENING_MAX_NS) /* longer: the thread has waited for a CPU */
		store_relaxed(&opening_ns, before - before / 8 + (uint32_t)ns / 8);
}

int weft_clock_fired(struct weft_slot *slot, uint64_t fired_ns)
{
	struct weft_clock *clock = weft_clock_of(slot);

	clock->since_us = 0;
	if (is_handled_by_program()) {
		weft_clock_close(slot);
		return 0;
	}
	/* the event goes on with the gap that it has, and nobody can give it another */
	if (weft_rt_is_careful())
		return 1;
	if (weft_gaps_next(&clock->gaps, generator(slot), own_gap_ns(clock)))
		return 1;
	if (!open_anew(slot, clock->gaps.gap_ns))
		return 0;
	learn_opening(fired_ns);
	return 1;
}

/* Where a page was that the program has unmapped, another thread's may lie by now. */
static int is_page_of_another(const struct weft_slot *slot, uint64_t page)
{
	for (uint32_t i = 0; i < weft_rt_slots_high(); i++) {
		struct weft_slot *other = weft_rt_live_slot(i);

		if (other && other != slot && load_relaxed(&weft_clock_of(other)->page) == page)
			return 1;
	}
	return 0;
}

/* The next tick opens it anew. The word is OPENING meanwhile: who closes the clock at this moment
 * must not unmap what is read here. */
static void close_if_page_is_gone(struct weft_slot *slot)
{
	uint64_t *place = &weft_clock_of(slot)->page, page = load_relaxed(place);
	uint64_t opening = WEFT_CLOCK_OPENING;

	if (page <= WEFT_CLOCK_OPENING || !cas_acq_rel(place, &page, WEFT_CLOCK_OPENING))
		return;
	if (!has_page_of_event(page) || is_page_of_another(slot, page))
		page = 0;
	if (!cas_acq_rel(place, &opening, page))
		clock_unmap(page);
}

void weft_clock_is_quiet(struct weft_slot *slot, uint32_t cpu_us)
{
	struct weft_clock *clock = weft_clock_of(slot);

	if (!clock->since_us) {
		clock->since_us = cpu_us;
		return;
	}
	if ((int32_t)(cpu_us - clock->since_us) <
	    (int32_t)(QUIET_PERIODS * (weft_clock_gap_ns() / 1000)))
		return;
	clock->since_us = 0;
	if (weft_disposition_is_installed(WEFT_KEPT_PRIME)) {
		close_if_page_is_gone(slot);
		return;
	}
	weft_clock_close(slot);
	store_relaxed(&weft_rt.header->clock_error, -EBUSY);
}

int weft_clock_covers(struct weft_slot *slot, uint64_t mask)
{
	return weft_clock_is_open(slot) && !(mask & SYS_SIGNAL_BIT(SIGURG)) &&
	       weft_prime_signal() == SIGURG;
}
