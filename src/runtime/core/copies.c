/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two copies of the runtime in one process (libweft.a linked into the program, libweft.so
 * preloaded) act as one. The one that began first is the master; the other, a guest, finds it by
 * the exported symbol weft_runtime_v1, tells it where its TLS pointer lies (a distance from the
 * thread pointer, the same in every thread) and from then on asks the master for slots and strings.
 * A third copy that finds a guest follows that guest's master. Every claim and release stores the
 * TLS pointers of all copies. The functions that a copy offers to others are in
 * start/copies_table.c.
 */
#include "runtime/core/copies.h"

#include <dlfcn.h>
#include <stddef.h>

#include "runtime/core/runtime.h"

#define GUESTS_MAX 4

static const struct weft_runtime_v1 *master;
static int64_t guest_offsets[GUESTS_MAX];
static uint32_t guest_count;

static struct weft_slot **guest_pointer(uint32_t guest)
{
	return (struct weft_slot **)(void *)(weft_thread_pointer() + guest_offsets[guest]);
}

static void store_guests(struct weft_slot *slot)
{
	uint32_t count = load_acquire(&guest_count);

	for (uint32_t i = 0; i < count; i++)
		store_release(guest_pointer(i), slot);
}

void weft_copies_store(struct weft_slot *slot)
{
	weft_slot_put(slot);
	store_guests(slot);
}

void weft_copies_show(struct weft_slot *slot)
{
	weft_slot_show(slot);
	store_guests(slot);
}

int weft_copies_swap(struct weft_slot *expected, struct weft_slot *slot)
{
	if (!weft_slot_swap(expected, slot))
		return 0;
	store_guests(slot);
	return 1;
}

/* Called by the other copy's constructor, when there are few threads; a copy joins once. */
int weft_copies_join(int64_t tls_offset, const uint32_t **guard)
{
	uint32_t count = load_acquire(&guest_count);

	for (uint32_t i = 0; i < count; i++)
		if (guest_offsets[i] == tls_offset)
			return 0;
	if (count == GUESTS_MAX)
		return -1;
	*guard = weft_fork_guard;
	if (weft_slot_distance() == tls_offset)
		return 0;
	guest_offsets[count] = tls_offset;
	store_release(&guest_count, count + 1);
	store_release(guest_pointer(count), weft_slot_mine());
	return 0;
}

int weft_copies_is_ready(void)
{
	return !master && weft_rt.state != WEFT_RT_NONE;
}

const struct weft_runtime_v1 *weft_copies_master(void)
{
	return load_acquire(&master);
}

/* @other if it is another copy than @own and of a version that is understood; else NULL. */
static const struct weft_runtime_v1 *known(const struct weft_runtime_v1 *own,
					   const struct weft_runtime_v1 *other)
{
	if (!other || other == own || other->size < sizeof(*own) ||
	    other->version != WEFT_RUNTIME_V1_VERSION)
		return NULL;
	return other;
}

/* A lookup finds the program's exported copy first, a guest of the preloaded one. A third copy must
 * not take "not ready" for "nobody": its own session would end the first's recording. */
static const struct weft_runtime_v1 *find_ready(const struct weft_runtime_v1 *own, void *handle)
{
	const struct weft_runtime_v1 *other = known(own, dlsym(handle, "weft_runtime_v1"));

	if (other && !other->is_ready())
		other = known(own, other->master());
	return other && other->is_ready() ? other : NULL;
}

static const struct weft_runtime_v1 *join_ready(const struct weft_runtime_v1 *own, void *handle)
{
	const struct weft_runtime_v1 *other = find_ready(own, handle);

	if (!other)
		return NULL;
	/* A copy whose TLS is dynamic cannot be told of claims, and asks the master each time. */
	if (weft_slot_distance() && other->join(weft_slot_distance(), &weft_fork_guard))
		return NULL;
	return other;
}

const struct weft_runtime_v1 *weft_copies_find(const struct weft_runtime_v1 *own)
{
	const struct weft_runtime_v1 *other = join_ready(own, RTLD_DEFAULT);

	return other ? other : join_ready(own, RTLD_NEXT);
}

void weft_copies_follow(const struct weft_runtime_v1 *other)
{
	store_release(&master, other);
}
