/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two symbols of the ABI, and how weft's runtime is found (current.h).
 *
 * custom_labels_current_set is accessed only by its TLS descriptor, whatever the compiler: readers
 * outside look for the relocation that names it.
 */
#pragma GCC visibility push(default)
#include <customlabels.h>
#pragma GCC visibility pop

#include <dlfcn.h>

#include <weft/labels.h>

#include "base/atomic.h"
#include "base/thread_pointer.h"
#include "base/tlsdesc.h"
#include "customlabels/current.h"
#include "customlabels/set.h"
#include "runtime/core/copies.h"
#include "runtime/core/custom_labels.h"

const uint32_t custom_labels_abi_version = WEFT_CUSTOM_LABELS_VERSION;
__thread custom_labels_labelset_t *custom_labels_current_set;

WEFT_TLSDESC(custom_labels_current_set, current_cell, current_descriptor);

#pragma GCC visibility push(default)
extern const struct weft_runtime_v1 weft_runtime_v1 __attribute__((weak));
extern struct weft_custom_labels_v1 weft_custom_labels_v1;
#pragma GCC visibility pop

static const struct weft_runtime_v1 *runtime;

struct weft_custom_labels_set **current_place(void)
{
	return current_cell();
}

static const struct weft_runtime_v1 *current_weft(void)
{
	return load_acquire(&runtime);
}

int current_is_weft(const struct weft_custom_labels_set *set)
{
	return set && current_weft() && current_weft()->labels_is_weft(set);
}

struct weft_custom_labels_set *current_of_weft(void)
{
	return current_weft() ? current_weft()->labels_visible() : NULL;
}

void current_put(struct weft_custom_labels_set *set)
{
	if (current_is_weft(set))
		set = current_of_weft();
	store_release(current_place(), set);
	if (set && current_weft() && current_weft()->labels_changed)
		current_weft()->labels_changed();
}

int current_update(struct weft_label *labels, size_t count)
{
	const struct weft_runtime_v1 *r = current_weft();

	return r && r->labels_update ? r->labels_update(labels, count) : WEFT_LABEL_NO_SLOT;
}

static int current_is_known(const struct weft_runtime_v1 *r)
{
	return r->size >= sizeof(*r) && r->version == WEFT_RUNTIME_V1_VERSION;
}

static void current_meet(const struct weft_runtime_v1 *r)
{
	if (current_is_known(r))
		store_release(&runtime, r);
}

struct weft_custom_labels_v1 weft_custom_labels_v1 = {
	.version = WEFT_CUSTOM_LABELS_V1_VERSION,
	.current = current_place,
	.meet = current_meet,
	.is_set = set_is_ours,
};

/* The weak reference makes a linker export the symbol from a program that contains libweft.a. */
static const struct weft_runtime_v1 *find_runtime(void)
{
	const struct weft_runtime_v1 *found = &weft_runtime_v1;

	return found ? found : dlsym(RTLD_DEFAULT, "weft_runtime_v1");
}

__attribute__((constructor(101))) static void current_begin(void)
{
	const struct weft_runtime_v1 *found = find_runtime();

	weft_custom_labels_v1.distance =
		weft_tlsdesc_distance(current_place(), current_descriptor(), weft_thread_pointer());
	store_release(&weft_custom_labels_v1.size, sizeof(weft_custom_labels_v1));
	if (found && current_is_known(found))
		found->labels_join(&weft_custom_labels_v1);
}
