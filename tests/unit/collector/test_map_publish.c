/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of processes with more mappings than one holds. */

#include "base/clock.h"
#include "collector/session/session.h"
#include "collector/walk/modules.h"
#include "collector/walk/process_walk.h"
#include "collector/write/process_work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 50000
#define FIRST UINT64_C(0x10000)

/* This program's own mappings, and MANY below all of them. */
static struct process *many_mappings(struct session **session)
{
	struct session_settings settings = {.period_ns = 1000000, .stack_mode = WEFT_STACK_AUTO};
	struct process *p;

	assert_int_equal(process_new(&p, getpid()), 0);
	p->opened_ns = clock_mono_ns();
	assert_int_equal(session_new(session, p, &settings), 0);
	snapshots_begin(&p->walk->snapshots, p->base, &p->layout);
	process_look(p, p->opened_ns);
	for (uint64_t i = 0; i < MANY; i++) {
		struct mapping one = {.start = FIRST + i * 8192,
				      .end = FIRST + i * 8192 + 4096,
				      .path = strdup("")};

		assert_int_equal(maps_add(&p->walk->maps, &one), 1);
	}
	assert_in_range(p->walk->maps.count, MANY + 3, MANY + 1000);
	return p;
}

static const struct weft_map_module *find(const struct weft_map_snapshot *snapshot, uint64_t pc)
{
	const struct weft_map_module *list = (const void *)(snapshot + 1);

	for (uint32_t i = 0; i < snapshot->count; i++)
		if (list[i].start <= pc && pc < list[i].end)
			return &list[i];
	return NULL;
}

static void what_the_loader_knows_is_never_cut(void **state)
{
	struct table_cache cache = {.fd = -1};
	struct tables tables = {.fd = -1};
	struct modules *modules = modules_new(&tables, &cache);
	struct session *session;
	struct process *p = many_mappings(&session);
	const struct weft_map_module *list;
	const struct weft_map_snapshot *snapshot;

	(void)state;
	assert_non_null(modules);
	map_publish(modules, &tables, p);
	snapshot =
		(const void *)((const uint8_t *)session->process->base +
			       ((struct weft_session_header *)session->process->base)->map_current);
	list = (const void *)(snapshot + 1);
	assert_int_equal(snapshot->count, snapshots_most(&p->walk->snapshots));
	for (uint32_t i = 1; i < snapshot->count; i++)
		assert_true(list[i].start >= list[i - 1].end);
	assert_non_null(find(snapshot, FIRST));
	assert_null(find(snapshot, FIRST + (MANY - 1) * 8192));
	assert_non_null(find(snapshot, (uint64_t)(uintptr_t)many_mappings));
	assert_non_null(find(snapshot, (uint64_t)(uintptr_t)strtol));
	session_free(session);
	process_free(p);
	modules_free(modules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_loader_knows_is_never_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
