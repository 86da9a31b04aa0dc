/* SPDX-License-Identifier: Apache-2.0 */
/* weft's side of libcustomlabels-weft.so: see customlabels_meet.h. */
#include "runtime/core/customlabels_meet.h"

#include <dlfcn.h>

#include "runtime/core/copies.h"
#include "runtime/core/runtime.h"

const struct weft_custom_labels_v1 *weft_meet_library;

/* 1: @set lies in a slot of any thread, in the private slot, or in a coroutine's block. */
int weft_meet_is_weft(const struct weft_custom_labels_set *set)
{
	uint64_t at = (uint64_t)(uintptr_t)set;
	/* there may be a layout whose session could not be made */
	uint64_t slots = weft_rt.slots ? weft_layout.slot_count * weft_layout.slot_stride : 0;

	if (at - (uint64_t)(uintptr_t)weft_rt.slots < slots)
		return 1;
	return at - (uint64_t)(uintptr_t)weft_slot_private() < sizeof(struct weft_slot) ||
	       weft_block_of(at);
}

struct weft_custom_labels_set *weft_meet_visible(void)
{
	struct weft_slot *slot = weft_slot_mine();

	if (!slot || !weft_guard_holds())
		return NULL;
	return (struct weft_custom_labels_set *)(uintptr_t)load_relaxed(&slot->ext.label_set);
}

/* WEFT_PUBLISHER_ANOTHER: the program defines custom labels itself; weft does not touch those. */
static uint32_t another;

void weft_meet_publish_header(void)
{
	uint32_t who = weft_meet_library ? WEFT_PUBLISHER_WEFT : another;

	if (weft_rt_is_ready())
		store_relaxed(&weft_rt.header->custom_labels, who);
}

void weft_meet_join(const struct weft_custom_labels_v1 *library, const struct weft_runtime_v1 *own)
{
	store_release(&weft_meet_library, library);
	library->meet(own);
	weft_meet_publish_header();
}

int weft_meet_open(const struct weft_runtime_v1 *own)
{
	const struct weft_custom_labels_v1 *library = dlsym(RTLD_DEFAULT, "weft_custom_labels_v1");
	int joins;

	/* a library that has not begun yet calls labels_join() when it does */
	joins = !weft_meet_library && library &&
		library->version == WEFT_CUSTOM_LABELS_V1_VERSION &&
		load_acquire(&library->size) >= WEFT_CUSTOM_LABELS_V1_BYTES;
	if (joins)
		weft_meet_join(library, own);
	if (!library && dlsym(RTLD_DEFAULT, "custom_labels_abi_version"))
		another = WEFT_PUBLISHER_ANOTHER;
	weft_meet_publish_header();
	return joins;
}

void weft_meet_resolve(struct weft_meet *m)
{
	const struct weft_custom_labels_v1 *library = load_acquire(&weft_meet_library);

	if (library && !library->distance && !m->cell)
		m->cell = (uint64_t)(uintptr_t)library->current();
}

int weft_meet_store(struct weft_meet *m, struct weft_custom_labels_set *set)
{
	struct weft_custom_labels_set **cell = weft_meet_cell(m), *now;
	int is_new;

	if (!cell)
		return 0;
	now = load_relaxed(cell);
	if (LIKELY(now == set || !now || weft_meet_is_weft(now))) {
		m->foreign = 0;
		if (now != set)
			store_release(cell, set);
		return 0;
	}
	is_new = m->foreign != (uint64_t)(uintptr_t)now;
	m->foreign = (uint64_t)(uintptr_t)now;
	return 1 + is_new;
}
