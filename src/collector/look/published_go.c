/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of goroutines, for samples from outside: see published_go.h. */
#include "collector/look/published_go.h"

#include "base/clock.h"

#include <errno.h>

#define LIST_SHARE 100
#define LIST_MIN_NS UINT64_C(10000000)
#define LIST_MAX_NS UINT64_C(2000000000)

void published_go_free(struct published_go *go)
{
	go_threads_free(&go->threads);
}

void published_go_find(struct published_go *go, struct target *t)
{
	uint64_t before = go->program.modules;

	go_program_find(t, &go->program);
	if (go->program.modules == before)
		return;
	go->threads.count = 0;
	go->due_ns = 0;
}

static uint64_t list_pause(uint64_t took_ns)
{
	uint64_t pause_ns = took_ns * LIST_SHARE;

	if (pause_ns < LIST_MIN_NS)
		return LIST_MIN_NS;
	return pause_ns < LIST_MAX_NS ? pause_ns : LIST_MAX_NS;
}

/* NULL: it has no M, or that is to be asked later. */
static const struct go_thread *find_listed(struct published_go *go, const struct target *t,
					   int32_t tid)
{
	const struct go_thread *found = go_threads_find(&go->threads, tid);
	uint64_t now_ns;

	if (found)
		return found;
	now_ns = clock_mono_ns();
	if (now_ns < go->due_ns)
		return NULL;
	go_threads_read(t, &go->program, &go->threads);
	go->due_ns = now_ns + list_pause(clock_mono_ns() - now_ns);
	return go_threads_find(&go->threads, tid);
}

int published_go_read(struct published_go *go, const struct target *t, int32_t tid,
		      struct custom_labels_copy *room, struct live_context *out)
{
	int rc = -ESTALE;

	/* A list may be older than the thread, which has another one's tid. */
	for (int i = 0; i < 2 && rc == -ESTALE; i++) {
		const struct go_thread *thread = find_listed(go, t, tid);

		if (!thread)
			return -ENODATA;
		rc = go_labels_take(t, go->program.layout, thread, room, out);
		if (rc == -ESTALE)
			go->threads.count = 0;
	}
	return rc == -ESTALE ? -ENODATA : rc;
}
