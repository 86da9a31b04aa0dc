/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libweft-late.so where the loader gave it no static TLS: a thread's words (own.h) are kept in its
 * seat. A seat is found by the thread pointer, within a few places of its hash, and belongs to the
 * thread whose tid it holds: a thread that ended without giving its seat up may be followed by
 * another at the same address.
 *
 * Writers and readers: the owning thread and its handlers. A seat is made with signals blocked,
 * because a handler could make one, too; between threads a compare-and-swap of `owner` decides.
 * Wait-free: at most PLACES are tried. If all are taken, the thread gets no slot.
 */
#include "runtime/core/own.h"

#include <elf.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/core/loaded_object.h"
#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"

#define SEATS 16384 /* a megabyte, of which untouched pages cost nothing */
#define PLACES 32
#define TLS_BYTES 64 /* at least the size of this module's TLS block */
#define NEVER_USED 0
#define GIVEN_UP 1

struct seat {
	uint64_t owner; /* a thread pointer */
	int32_t tid;
	uint32_t unused;
	struct weft_slot *slot;
	struct weft_slot **shown; /* &weft_thread_slot of the thread; NULL = not accessed yet */
	struct weft_belief belief;
	uint64_t reserved[1];
};
_Static_assert(sizeof(struct seat) == 64, "seats do not share lines");

int64_t weft_own_slot_distance, weft_own_belief_distance;
static __thread struct weft_belief thread_belief;
static struct seat *seats;

static struct seat *seats_place(uint64_t pointer, uint32_t at)
{
	return &seats[(hash_mix(pointer) + at) % SEATS];
}

static struct seat *seats_find(uint64_t pointer)
{
	for (uint32_t at = 0; seats && at < PLACES; at++) {
		struct seat *seat = seats_place(pointer, at);
		uint64_t owner = load_relaxed(&seat->owner);

		if (owner == pointer)
			return seat;
		if (owner == NEVER_USED)
			break;
	}
	return NULL;
}

/* A forked child that has not noticed the fork still has its parent's tid in its seat. */
static struct seat *find_mine(void)
{
	struct seat *seat = seats_find((uint64_t)weft_thread_pointer());

	if (seat && seat->tid != sys_gettid() && weft_guard_holds())
		return NULL;
	return seat;
}

static struct seat *seats_acquire(uint64_t pointer)
{
	for (uint32_t at = 0; seats && at < PLACES; at++) {
		struct seat *seat = seats_place(pointer, at);
		uint64_t owner = load_relaxed(&seat->owner);

		if (owner <= GIVEN_UP && cas_acq_rel(&seat->owner, &owner, pointer))
			return seat;
	}
	return NULL;
}

static void clear(struct seat *seat)
{
	seat->slot = NULL;
	seat->shown = NULL;
	memset(&seat->belief, 0, sizeof(seat->belief));
	seat->tid = sys_gettid();
}

static struct seat *seats_make(void)
{
	uint64_t pointer = (uint64_t)weft_thread_pointer();
	uint64_t before = sys_signals_block(SYS_SIGNALS_ALL);
	struct seat *seat = seats_find(pointer);

	if (!seat)
		seat = seats_acquire(pointer);
	if (seat && seat->tid != sys_gettid())
		clear(seat);
	sys_signals_restore(before);
	return seat;
}

static struct seat *seats_find_or_make(void)
{
	struct seat *seat = find_mine();

	return seat ? seat : seats_make();
}

struct weft_slot *weft_seat_slot(void)
{
	struct seat *seat = find_mine();

	return seat ? seat->slot : NULL;
}

static void seats_release(struct seat *seat)
{
	seat->tid = 0;
	store_release(&seat->owner, GIVEN_UP);
}

static void store(struct seat *seat, struct weft_slot *slot)
{
	store_release(&seat->slot, slot);
	if (seat->shown)
		store_release(seat->shown, slot);
	seat->tid = sys_gettid(); /* differs in a forked child */
	if (!slot && !seat->belief.is_blocked)
		seats_release(seat);
}

void weft_seat_put(struct weft_slot *slot)
{
	struct seat *seat = slot ? seats_find_or_make() : find_mine();

	if (seat)
		store(seat, slot);
}

int weft_seat_swap(struct weft_slot *expected, struct weft_slot *slot)
{
	struct seat *seat = seats_find_or_make();

	if (!seat || seat->slot != expected)
		return 0;
	store(seat, slot);
	return 1;
}

void weft_seat_show(struct weft_slot *slot)
{
	struct seat *seat = seats_find_or_make();

	if (!seat)
		return;
	seat->shown = &weft_thread_slot;
	store(seat, slot);
}

struct weft_belief *weft_seat_belief(int make_one)
{
	struct seat *seat = make_one ? seats_find_or_make() : find_mine();

	return seat ? &seat->belief : NULL;
}

#ifdef __x86_64__
#define TLS_DESCRIPTOR R_X86_64_TLSDESC
#else
#define TLS_DESCRIPTOR R_AARCH64_TLSDESC
#endif

extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));
extern const ElfW(Ehdr) own_header __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* Does a relocation in this table have a descriptor with (nearly) this argument? */
static int has_argument(int64_t table, int64_t table_bytes, int64_t distance, int64_t reach)
{
	uint64_t base = (uint64_t)(uintptr_t)&own_header;
	const struct weft_object own = {.base = base, .low = base, .dynamic = own_dynamic};
	const ElfW(Rela) *r = weft_object_at(&own, table);
	uint64_t n = r ? weft_object_value(&own, table_bytes) / sizeof(*r) : 0;

	for (; n; n--, r++) {
		const int64_t *descriptor = (const void *)(uintptr_t)(base + r->r_offset);

		if (ELF64_R_TYPE(r->r_info) == TLS_DESCRIPTOR &&
		    descriptor[1] >= distance - reach && descriptor[1] <= distance + reach)
			return 1;
	}
	return 0;
}

/*
 * The argument of a static descriptor is the distance itself, of another one a pointer. @reach: the
 * compiler may address a variable of this file through the start of the module's TLS block.
 */
static int64_t distance_if_static(const void *variable, int64_t reach)
{
	int64_t distance = (const char *)variable - weft_thread_pointer();

	if (has_argument(DT_JMPREL, DT_PLTRELSZ, distance, reach) ||
	    has_argument(DT_RELA, DT_RELASZ, distance, reach))
		return distance;
	return 0;
}

void weft_own_begin(void)
{
	long at;

	weft_own_slot_distance = distance_if_static(&weft_thread_slot, 0);
	weft_own_belief_distance = distance_if_static(&thread_belief, TLS_BYTES);
	if (weft_own_slot_distance && weft_own_belief_distance)
		return;
	weft_own_slot_distance = weft_own_belief_distance = 0;
	at = sys_map_memory(SEATS * sizeof(struct seat));
	if (sys_is_error(at))
		return;
	weft_area_add((const void *)at, SEATS * sizeof(struct seat));
	seats = (struct seat *)at;
}
