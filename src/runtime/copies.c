/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two copies of the runtime in one process (libweft.a linked into the program, libweft.so
 * preloaded) act as one. The one that began first is the master; the other finds it by the
 * exported symbol weft_runtime_v1, hands over where its TLS pointer lies (an offset from
 * the thread pointer, the same in every thread) and from then on asks the master for slots
 * and strings. Every claim and release stores the TLS pointers of all copies.
 */
#include "runtime/copies.h"

#include <dlfcn.h>
#include <stddef.h>

#include "runtime/runtime.h"

#define GUESTS_MAX 4

static const struct weft_runtime_v1 *master;
static int64_t guest_offsets[GUESTS_MAX];
static uint32_t guest_count;

static char *thread_pointer(void)
{
	char *at;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(at));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(at));
#endif
	return at;
}

static struct weft_slot **guest_pointer(uint32_t guest)
{
	return (struct weft_slot **)(void *)(thread_pointer() + guest_offsets[guest]);
}

static void store_guests(struct weft_slot *slot)
{
	uint32_t count = __atomic_load_n(&guest_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		__atomic_store_n(guest_pointer(i), slot, __ATOMIC_RELEASE);
}

void weft_copies_store(struct weft_slot *slot)
{
	__atomic_store_n(&weft_thread_slot, slot, __ATOMIC_RELEASE);
	store_guests(slot);
}

int weft_copies_swap(struct weft_slot *expected, struct weft_slot *slot)
{
	if (!__atomic_compare_exchange_n(&weft_thread_slot, &expected, slot, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return 0;
	store_guests(slot);
	return 1;
}

/* From the other copy's constructor: one thread, or few; never twice for one copy. */
static int join(int64_t tls_offset, const uint32_t **guard)
{
	uint32_t count = __atomic_load_n(&guest_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		if (guest_offsets[i] == tls_offset)
			return 0;
	if (count == GUESTS_MAX)
		return -1;
	*guard = weft_fork_guard;
	if ((char *)&weft_thread_slot - thread_pointer() == tls_offset)
		return 0;
	guest_offsets[count] = tls_offset;
	__atomic_store_n(&guest_count, count + 1, __ATOMIC_RELEASE);
	__atomic_store_n(guest_pointer(count), weft_thread_slot, __ATOMIC_RELEASE);
	return 0;
}

static int is_ready(void)
{
	return !master && weft_rt.state != WEFT_RT_NONE;
}

static const struct weft_runtime_v1 own = {
	.size = sizeof(own),
	.version = WEFT_RUNTIME_V1_VERSION,
	.is_ready = is_ready,
	.join = join,
	.claim = weft_context_slow,
	.tag_intern = weft_tag_intern_own,
	.tag_name = weft_tag_name_own,
};

extern const struct weft_runtime_v1 weft_runtime_v1
	__attribute__((alias("own"), visibility("default")));

static int try_master(void *handle)
{
	const struct weft_runtime_v1 *other = dlsym(handle, "weft_runtime_v1");

	if (!other || other == &own || other->size < sizeof(own) ||
	    other->version != WEFT_RUNTIME_V1_VERSION || !other->is_ready())
		return 0;
	if (other->join((char *)&weft_thread_slot - thread_pointer(), &weft_fork_guard))
		return 0;
	__atomic_store_n(&master, other, __ATOMIC_RELEASE);
	return 1;
}

int weft_copies_find_master(void)
{
	return try_master(RTLD_DEFAULT) || try_master(RTLD_NEXT);
}

int weft_copies_has_master(void)
{
	return __atomic_load_n(&master, __ATOMIC_ACQUIRE) != NULL;
}

struct weft_slot *weft_copies_claim(void)
{
	return master->claim();
}

uint32_t weft_copies_intern(const char *string)
{
	return master->tag_intern(string);
}

int weft_copies_name(unsigned int n, const char *name)
{
	return master->tag_name(n, name);
}
