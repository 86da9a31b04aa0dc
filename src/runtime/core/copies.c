/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two copies of the runtime in one process (libweft.a linked into the program, libweft.so
 * preloaded) act as one. The one that began first is the master; the other finds it by the
 * exported symbol weft_runtime_v1, hands over where its TLS pointer lies (an offset from
 * the thread pointer, the same in every thread) and from then on asks the master for slots
 * and strings. A third copy that finds a guest is sent on to its master. Every claim and release
 * stores the TLS pointers of all copies.
 */
#include "runtime/core/copies.h"

#include <dlfcn.h>
#include <stddef.h>

#include "runtime/context/customlabels_meet.h"
#include "runtime/context/labels.h"
#include "runtime/context/publish.h"
#include "runtime/coro/coro_carry.h"
#include "runtime/event/event.h"
#include "runtime/otel/otel_private.h"

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
	uint32_t count = __atomic_load_n(&guest_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		__atomic_store_n(guest_pointer(i), slot, __ATOMIC_RELEASE);
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
	if (weft_slot_distance() == tls_offset)
		return 0;
	guest_offsets[count] = tls_offset;
	__atomic_store_n(&guest_count, count + 1, __ATOMIC_RELEASE);
	__atomic_store_n(guest_pointer(count), weft_slot_mine(), __ATOMIC_RELEASE);
	return 0;
}

static int is_ready(void)
{
	return !master && weft_rt.state != WEFT_RT_NONE;
}

static const struct weft_runtime_v1 *master_of_guest(void)
{
	return __atomic_load_n(&master, __ATOMIC_ACQUIRE);
}

static int labels_update(struct weft_label *labels, size_t count)
{
	return weft_context_update(NULL, labels, count, 0);
}

/* NULL there is weft's again. */
static void labels_look(void)
{
	struct weft_slot *slot = weft_thread_own_slot();

	if (slot)
		weft_publish(slot, WEFT_CHANGED_LABELS);
}

static const struct weft_runtime_v1 own = {
	.size = sizeof(own),
	.version = WEFT_RUNTIME_V1_VERSION,
	.is_ready = is_ready,
	.join = join,
	.claim = weft_context_slow,
	.tag_intern = weft_tag_intern_own,
	.tag_name = weft_tag_name_own,
	.labels_join = weft_meet_join,
	.labels_is_weft = weft_meet_is_weft,
	.labels_visible = weft_meet_visible,
	.otel_resource = weft_otel_resource_own,
	.otel_options = weft_otel_options_own,
	.otel_join = weft_otel_join,
	.publish = weft_publish,
	.scope_restore = weft_labels_scope_restore,
	.label_set = weft_label_set_bytes,
	.labels_clear = weft_labels_clear,
	.context_update = weft_context_update,
	.label_key = weft_label_key,
	.publish_select = weft_publish_select,
	.publish_selected = weft_publish_selected,
	.labels_update = labels_update,
	.labels_look = labels_look,
	.coro = &weft_coro_carry_own,
	.event = &weft_event_own,
	.master = master_of_guest,
};

extern const struct weft_runtime_v1 weft_runtime_v1
	__attribute__((alias("own"), visibility("default")));

/* By the exported name it could be another copy's. */
const struct weft_runtime_v1 *weft_copies_own(void)
{
	return &own;
}

/* NULL, or a copy other than this one that can be asked. */
static const struct weft_runtime_v1 *known(const struct weft_runtime_v1 *other)
{
	if (!other || other == &own || other->size < sizeof(own) ||
	    other->version != WEFT_RUNTIME_V1_VERSION)
		return NULL;
	return other;
}

/* A program's exported copy stands before the one that was preloaded, whose guest it is: a third
 * one would find nobody ready, begin a session of its own, and end the recording of the first. */
static const struct weft_runtime_v1 *find_ready(void *handle)
{
	const struct weft_runtime_v1 *other = known(dlsym(handle, "weft_runtime_v1"));

	if (other && !other->is_ready())
		other = known(other->master());
	return other && other->is_ready() ? other : NULL;
}

static int try_master(void *handle)
{
	const struct weft_runtime_v1 *other = find_ready(handle);

	if (!other)
		return 0;
	/* Without a place of its own in each thread a guest asks every time. */
	if (weft_slot_distance() && other->join(weft_slot_distance(), &weft_fork_guard))
		return 0;
	other->otel_join(weft_otel_thread_distance());
	weft_event_master = other->event;
	__atomic_store_n(&master, other, __ATOMIC_RELEASE);
	weft_meet_hand_over(other->labels_join);
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

int weft_copies_pass_on(const struct weft_custom_labels_v1 *library)
{
	if (!weft_copies_has_master())
		return 0;
	master->labels_join(library);
	return 1;
}

void weft_copies_publish(struct weft_slot *slot, unsigned int changed)
{
	master->publish(slot, changed);
}

void weft_copies_scope_restore(struct weft_slot *slot, const struct weft_scope *scope)
{
	master->scope_restore(slot, scope);
}

enum weft_label_result weft_copies_label_set(const char *key, size_t key_bytes, const char *value,
					     size_t value_bytes)
{
	return master->label_set(key, key_bytes, value, value_bytes);
}

size_t weft_copies_labels_clear(void)
{
	return master->labels_clear();
}

enum weft_label_result weft_copies_context_update(const struct weft_context *context,
						  struct weft_label *labels, size_t count,
						  unsigned int flags)
{
	return master->context_update(context, labels, count, flags);
}

int weft_copies_label_key(const char *key)
{
	return master->label_key(key);
}

int weft_copies_publish_select(unsigned int formats)
{
	return master->publish_select(formats);
}

unsigned int weft_copies_publish_selected(void)
{
	return master->publish_selected();
}

int weft_copies_otel_resource(const char *key, const char *value)
{
	return master->otel_resource(key, value);
}

int weft_copies_otel_options(const char *root_key, const char *schema)
{
	return master->otel_options(root_key, schema);
}

const struct weft_coro_carry_v1 *weft_copies_coro(void)
{
	return master->coro;
}
