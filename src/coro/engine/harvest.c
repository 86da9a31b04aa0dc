/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See harvest.h. Which stations a sweep visits: those in groups whose dirty bit was set (the bit
 * is taken away before they are looked at), new ones, all that are no stations of ours (nothing
 * else tells of them), and in turn a share of the others, for a bit may be missed.
 */
#include "coro/engine/harvest.h"

#include "base/array.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/map.h"
#include "coro/engine/station.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SHARE_LEAST 64               /* stations of a sweep's share */
#define TURN_NS UINT64_C(4000000000) /* in which all had theirs */
#define VISIT_MOST 64    /* events of a station in one visit: others have their turn, too */
#define PRESSED_EVENTS 4 /* of a legacy station in one visit */

_Static_assert(CORO_CURSOR_BYTES == sizeof(struct cursor), "cursors lie in files");

struct coro_harvest {
	struct coro_shm *shm;
	struct cursor *cursors;
	uint64_t mapped_bytes; /* of our own cursors; 0 = the caller's */
	uint32_t known;        /* stations that were ever had */
	uint32_t seen;         /* stations below it were visited once */
	uint32_t turn;         /* of the share */
	uint64_t shared_ns;    /* when it was last looked at */
	uint32_t *listed;      /* stations that are looked at in every sweep */
	size_t listed_count, listed_room;
	int pressed, failed, tells_deaths;
	int is_cut;               /* for good: zeros stand there now */
	struct coro_batch *batch; /* of the call that runs */
	enum coro_sweep sweep;
	int64_t taken;
	struct map *pids; /* of events */
	uint32_t last_pid;
	struct coro_books books;
	uint64_t added; /* stations whose sums are in them */
	uint64_t sweeps, sweeping_ns, sweep_ns;
};

/* Never less than before: the header may be cut off with the rest of the file. */
static uint32_t allocated_of(struct coro_harvest *h)
{
	uint32_t now = coro_shm_allocated(h->shm);

	if (now > h->known)
		h->known = now;
	return h->known;
}

/* ---- its memory */

int coro_harvest_resume(struct coro_harvest **out, struct coro_shm *shm, void *cursors)
{
	struct coro_harvest *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->pids = map_new();
	if (!h->pids) {
		free(h);
		return -ENOMEM;
	}
	h->shm = shm;
	h->cursors = cursors;
	for (uint32_t i = 0; i < allocated_of(h); i++) {
		cursor_mend(&h->cursors[i]);
		h->cursors[i].is_listed = 0;
	}
	*out = h;
	return 0;
}

int coro_harvest_new(struct coro_harvest **out, struct coro_shm *shm)
{
	uint64_t bytes = (uint64_t)shm->count * sizeof(struct cursor);
	void *cursors = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int rc;

	if (cursors == MAP_FAILED)
		return -errno;
	rc = coro_harvest_resume(out, shm, cursors);
	if (rc)
		munmap(cursors, bytes ? bytes : 1);
	else
		(*out)->mapped_bytes = bytes ? bytes : 1;
	return rc;
}

void coro_harvest_free(struct coro_harvest *h)
{
	if (!h)
		return;
	if (h->mapped_bytes)
		munmap(h->cursors, h->mapped_bytes);
	free(h->listed);
	map_free(h->pids);
	free(h);
}

static void harvest_list(struct coro_harvest *h, uint32_t index)
{
	uint32_t *one;

	if (h->cursors[index].is_listed)
		return;
	one = array_add(&h->listed, &h->listed_count, &h->listed_room, sizeof(*one));
	if (!one) {
		h->failed = -ENOMEM;
		return;
	}
	*one = index;
	h->cursors[index].is_listed = 1;
}

/* ---- a visit */

void coro_batch_free(struct coro_batch *b)
{
	free(b->events);
	free(b->deaths);
	*b = (struct coro_batch){0};
}

/* A station whose writer is fast, or hostile, shows more events in a visit than were asked for. */
static void harvest_take(void *arg, const struct coro_event *event)
{
	struct coro_harvest *h = arg;
	struct coro_batch *b = h->batch;
	struct coro_event *one = array_add(&b->events, &b->count, &b->room, sizeof(*one));

	if (!one) {
		h->failed = -ENOMEM;
		coro_harvest_give_up(h, event, 1);
		return;
	}
	*one = *event;
	h->taken++;
	if (event->pid == h->last_pid || !event->pid)
		return;
	h->last_pid = event->pid;
	map_put(h->pids, &event->pid, sizeof(event->pid), NULL);
}

static void harvest_take_death(void *arg, const struct coro_death *death)
{
	struct coro_harvest *h = arg;
	struct coro_batch *b = h->batch;
	struct coro_batch_death *one =
		array_add(&b->deaths, &b->death_count, &b->death_room, sizeof(*one));

	if (one)
		*one = (struct coro_batch_death){b->count, *death};
	else
		h->failed = -ENOMEM;
}

void coro_harvest_tell_deaths(struct coro_harvest *h)
{
	h->tells_deaths = 1;
}

static void harvest_visit(struct coro_harvest *h, uint32_t index)
{
	struct station_reader r = {
		.station = &h->shm->stations[index],
		.cursor = &h->cursors[index],
		.index = index,
		.is_last = h->sweep == CORO_SWEEP_LAST,
		.is_thorough = h->sweep == CORO_SWEEP_ALL,
		.take = harvest_take,
		.died = h->tells_deaths ? harvest_take_death : NULL,
		.arg = h,
	};
	int64_t taken;

	if (h->failed)
		return; /* what cannot be taken stays for the next sweep */
	do
		taken = station_read(&r, VISIT_MOST);
	while (r.is_last && taken >= VISIT_MOST && !h->failed);
	if (r.cursor->dialect != CURSOR_M)
		harvest_list(h, index);
	if (taken > PRESSED_EVENTS && r.cursor->dialect != CURSOR_M)
		h->pressed = 1;
	assert(r.cursor->next - r.cursor->start == r.cursor->harvested + cursor_lost(r.cursor));
}

/* A station whose dialect was not known yet leaves the list when it turns out to be ours. */
static void visit_listed(struct coro_harvest *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->listed_count; i++) {
		uint32_t index = h->listed[i];

		harvest_visit(h, index);
		if (h->cursors[index].dialect == CURSOR_M)
			h->cursors[index].is_listed = 0;
		else
			h->listed[kept++] = index;
	}
	h->listed_count = kept;
}

static void visit_range(struct coro_harvest *h, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to && !h->failed; i++)
		if (!h->cursors[i].is_listed)
			harvest_visit(h, (uint32_t)i);
}

static void visit_new(struct coro_harvest *h, uint32_t allocated)
{
	uint32_t from = h->seen;

	if (allocated > h->seen)
		h->seen = allocated;
	visit_range(h, from, allocated);
}

static void visit_dirty(struct coro_harvest *h, uint32_t allocated)
{
	uint64_t *words = h->shm->header->dirty;
	uint32_t shift = h->shm->header->dirty_shift;

	if (!h->shm->is_extended || !h->shm->is_writable || shift > 31)
		return;
	for (uint32_t w = 0; w < WEFT_CTP_DIRTY_WORDS; w++) {
		uint64_t bits = load_relaxed(&words[w]);

		if (bits)
			bits = __atomic_exchange_n(&words[w], 0, __ATOMIC_ACQ_REL);
		for (; bits; bits &= bits - 1) {
			uint64_t from = (w * UINT64_C(64) + (uint64_t)__builtin_ctzll(bits))
					<< shift;
			uint64_t to = from + (UINT64_C(1) << shift);

			visit_range(h, from, to < allocated ? to : allocated);
		}
	}
}

/* As large as the time since the last one is long: what it costs a second is the same at any
 * period. */
static uint32_t next_share(struct coro_harvest *h, uint32_t allocated)
{
	uint64_t now = clock_mono_ns(), passed = now - h->shared_ns;

	h->shared_ns = now;
	if (passed > TURN_NS)
		return allocated;
	return (uint32_t)(allocated * passed / TURN_NS) + SHARE_LEAST;
}

static void visit_share(struct coro_harvest *h, uint32_t allocated)
{
	uint32_t share = next_share(h, allocated), to;

	if (h->turn >= allocated)
		h->turn = 0;
	to = allocated - h->turn < share ? allocated : h->turn + share;
	visit_range(h, h->turn, to);
	h->turn = to;
}

static int harvest_sweep(void *arg)
{
	struct coro_harvest *h = arg;
	uint32_t allocated = allocated_of(h);

	visit_listed(h);
	if (h->sweep == CORO_SWEEP_DIRTY) {
		visit_new(h, allocated);
		visit_dirty(h, allocated);
		visit_share(h, allocated);
	} else {
		h->seen = allocated;
		visit_range(h, 0, allocated);
	}
	return h->failed;
}

/* sweep_ns: the mean, in which each counts 1/16 less than the next. */
static void count_sweep(struct coro_harvest *h, uint64_t ns)
{
	h->sweeps++;
	h->sweeping_ns += ns;
	if (h->sweep != CORO_SWEEP_DIRTY)
		return;
	h->sweep_ns = h->sweep_ns ? h->sweep_ns - h->sweep_ns / 16 + ns / 16 : ns;
}

int64_t coro_harvest_take(struct coro_harvest *h, enum coro_sweep how, struct coro_batch *batch)
{
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc;

	h->batch = batch;
	h->sweep = how;
	h->taken = 0;
	h->pressed = 0;
	h->failed = 0;
	rc = coro_shm_guard(h->shm, harvest_sweep, h);
	h->is_cut |= rc == -EIO;
	count_sweep(h, clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
	return rc ? rc : h->taken;
}

int coro_harvest_is_pressed(const struct coro_harvest *h)
{
	return h->pressed;
}

void coro_harvest_give_up(struct coro_harvest *h, const struct coro_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		h->cursors[events[i].station].harvested--;
		h->cursors[events[i].station].unwritten++;
	}
}

static int skip_all(void *arg)
{
	struct coro_harvest *h = arg;

	h->seen = allocated_of(h);
	for (uint32_t i = 0; i < h->seen; i++)
		station_skip(&h->shm->stations[i], &h->cursors[i]);
	return 0;
}

int coro_harvest_skip(struct coro_harvest *h)
{
	return coro_shm_guard(h->shm, skip_all, h);
}

int coro_harvest_each_pid(struct coro_harvest *h, int (*each)(void *arg, uint32_t pid), void *arg)
{
	uint32_t allocated = allocated_of(h), last = 0;
	int rc = 0;

	for (uint32_t i = 0; i < allocated && !rc; i++) {
		const struct weft_ctp_station *s = &h->shm->stations[i];
		uint32_t pid = load_relaxed(&s->pid);

		if (pid == last || load_relaxed(&s->is_dead))
			continue;
		last = pid;
		rc = each(arg, pid);
	}
	return rc;
}

/* ---- the dead */

/* Onto the stack that nobody pops from (weft/abi/ctp.h); the probe's side is weft_probe_push(). */
static void harvest_give_back(const struct coro_shm *shm, uint32_t index)
{
	struct weft_ctp_header *header = shm->header;
	struct weft_ctp_station *s = &shm->stations[index];
	uint8_t dead = WEFT_CTP_DEAD;
	uint64_t *stack, head, top;

	if (!cas_acq_rel(&s->state, &dead, (uint8_t)WEFT_CTP_LISTED))
		return;
	do {
		uint32_t turn = load_relaxed(&header->recycle_turn);

		stack = &header->recycle[~turn & 1];
		head = load_relaxed(stack);
		store_relaxed(&s->next_dead, (uint32_t)head);
		top = ((head >> 32) + 1) << 32 | (index + 1);
	} while (!cas_release(stack, &head, top));
	__atomic_fetch_add(&header->recycle_count, 1, __ATOMIC_RELAXED);
}

/* Its coroutine was alive, and of the dead process; nobody else touches such a station. */
static int is_to_bury(const struct weft_ctp_station *s, uint32_t pid, uint8_t *state)
{
	uint32_t generation = load_acquire(&s->generation);
	uint32_t of = load_relaxed(&s->pid);
	uint8_t dead = load_relaxed(&s->is_dead);

	*state = load_relaxed(&s->state);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return of == pid && !dead && !(generation & 1) &&
	       load_relaxed(&s->generation) == generation && *state >= WEFT_CTP_CREATED &&
	       *state <= WEFT_CTP_READY;
}

struct burial {
	struct coro_harvest *h;
	uint32_t pid;
	int64_t died; /* coroutines */
};

/* Killed between a coroutine's death and the push of its station. */
static int is_unpushed(const struct burial *b, const struct weft_ctp_station *s)
{
	return b->h->shm->is_writable && b->h->shm->is_extended &&
	       load_acquire(&s->state) == WEFT_CTP_DEAD && load_relaxed(&s->pid) == b->pid;
}

static int bury_station(const struct burial *b, uint32_t index)
{
	struct coro_harvest *h = b->h;
	struct weft_ctp_station *s = &h->shm->stations[index];
	uint8_t state;

	if (load_acquire(&s->dialect) != WEFT_CTP_MONOTONIC || !is_to_bury(s, b->pid, &state)) {
		if (is_unpushed(b, s))
			harvest_give_back(h->shm, index);
		return 0;
	}
	station_bury_slots(s, &h->cursors[index]);
	h->cursors[index].told = load_relaxed(&s->generation);
	if (!h->shm->is_writable || !cas_acq_rel(&s->state, &state, (uint8_t)WEFT_CTP_DEAD))
		return 1;
	store_release(&s->is_dead, 1);
	if (h->shm->is_extended)
		harvest_give_back(h->shm, index);
	return 1;
}

static int harvest_bury(void *arg)
{
	struct burial *b = arg;
	uint32_t allocated = allocated_of(b->h);

	for (uint32_t i = 0; i < allocated; i++)
		b->died += bury_station(b, i);
	return 0;
}

int64_t coro_harvest_bury(struct coro_harvest *h, uint32_t pid)
{
	struct burial b = {.h = h, .pid = pid};
	int rc = coro_shm_guard(h->shm, harvest_bury, &b);

	return rc ? rc : b.died;
}

/* ---- the books */

static void add_station(struct coro_books *b, const struct weft_ctp_station *s,
			const struct cursor *c)
{
	uint64_t written = station_written(s, c), lost = cursor_lost(c);

	assert(written >= c->harvested + lost);
	b->written += written;
	b->harvested += c->harvested;
	b->lost += lost;
	b->pending += written - c->harvested - lost;
	b->lost_lapped += c->lapped;
	b->lost_recycled += c->recycled;
	b->lost_mid_write += c->mid_write;
	b->lost_unwritten += c->unwritten;
	b->coroutines += c->coroutines;
	b->legacy += c->dialect == CURSOR_S || c->dialect == CURSOR_D;
	if (c->dialect != CURSOR_UNKNOWN && load_relaxed(&s->is_dead))
		b->dead++;
	else
		b->live += c->dialect != CURSOR_UNKNOWN;
}

static int harvest_add_header(void *arg)
{
	struct coro_harvest *h = arg;
	struct coro_books b = {.processes = map_count(h->pids),
			       .sweeps = h->sweeps,
			       .sweeping_ns = h->sweeping_ns,
			       .sweep_ns = h->sweep_ns};

	b.stations = allocated_of(h);
	if (h->shm->is_extended)
		b.refused = load_relaxed(&h->shm->header->refused);
	if (h->shm->header->allocated_count > h->shm->count)
		b.refused += h->shm->header->allocated_count - h->shm->count;
	h->books = b;
	h->added = 0;
	return 0;
}

static int add_stations(void *arg)
{
	struct coro_harvest *h = arg;

	for (; h->added < h->books.stations; h->added++)
		add_station(&h->books, &h->shm->stations[h->added], &h->cursors[h->added]);
	return 0;
}

/* Where a page is gone it is tried again with zeros in its place: cursors know what was harvested.
 */
int coro_harvest_books(struct coro_harvest *h, struct coro_books *books)
{
	int rc = coro_shm_guard(h->shm, harvest_add_header, h), again = rc;

	for (uint64_t tries = 0; tries <= h->shm->count; tries++) {
		again = coro_shm_guard(h->shm, add_stations, h);
		if (again != -EIO)
			break;
		rc = again;
	}
	assert(h->books.written == h->books.harvested + h->books.lost + h->books.pending);
	*books = h->books;
	h->is_cut |= rc == -EIO;
	return h->is_cut ? -EIO : again;
}
