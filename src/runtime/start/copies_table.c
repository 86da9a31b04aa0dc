/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that this copy of the runtime offers to others in the process (core/copies.h), and
 * what it does as a guest. In the highest room, because its table names functions of all rooms.
 */
#include "runtime/start/start.h"

#include "runtime/context/context.h"
#include "runtime/context/labels.h"
#include "runtime/context/prepared.h"
#include "runtime/core/copies.h"
#include "runtime/core/customlabels_meet.h"
#include "runtime/coro/coro.h"
#include "runtime/event/event.h"
#include "runtime/otel/otel_private.h"

static void labels_join(const struct weft_custom_labels_v1 *library);

static int labels_update(struct weft_label *labels, size_t count)
{
	return weft_context_update(NULL, labels, count, 0);
}

/* The program has set the pointer to NULL: it is weft's again. */
static void labels_changed(void)
{
	struct weft_slot *slot = weft_thread_own_slot();

	if (slot)
		weft_publish(slot, WEFT_CHANGED_LABELS);
}

static const struct weft_runtime_v1 own = {
	.size = sizeof(own),
	.version = WEFT_RUNTIME_V1_VERSION,
	.is_ready = weft_copies_is_ready,
	.join = weft_copies_join,
	.claim = weft_context_slow,
	.tag_intern = weft_tag_intern_own,
	.tag_name = weft_tag_name_own,
	.labels_join = labels_join,
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
	.labels_changed = labels_changed,
	.coro = &weft_coro_carry_own,
	.event = &weft_event_own,
	.master = weft_copies_master,
	.prepared = &weft_prepared_own,
};

extern const struct weft_runtime_v1 weft_runtime_v1
	__attribute__((alias("own"), visibility("default")));

static void labels_join(const struct weft_custom_labels_v1 *library)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	if (master) {
		master->labels_join(library);
		return;
	}
	weft_meet_join(library, &own);
	weft_publish_joined();
}

void weft_copies_meet_labels(void)
{
	if (weft_meet_open(&own))
		weft_publish_joined();
}

int weft_copies_find_master(void)
{
	const struct weft_runtime_v1 *other = weft_copies_find(&own);

	if (!other)
		return 0;
	other->otel_join(weft_otel_thread_distance());
	weft_event_master = other->event;
	weft_copies_follow(other);
	if (weft_meet_library)
		other->labels_join(weft_meet_library);
	return 1;
}
