/* SPDX-License-Identifier: Apache-2.0 */
/* A library with a type of its own, for typed.sh: it is closed, and opened again. */
#include <weft/event.h>

static struct weft_event_type of_plugin = {
	.name = "victim.OfPlugin",
	.label = "Of a plugin",
	.flags = WEFT_EVENT_CONTEXTUAL,
	WEFT_EVENT_FIELDS({.name = "n", .kind = WEFT_EVENT_LONG}),
};

__attribute__((visibility("default"))) long plugin_emit(long count);
__attribute__((visibility("default"))) long plugin_emit(long count)
{
	long kept = 0;

	for (long i = 0; i < count; i++) {
		struct weft_event event;

		weft_event_begin(&event, &of_plugin);
		kept += weft_event_commit(&event, WEFT_LONG(i));
	}
	return kept;
}
