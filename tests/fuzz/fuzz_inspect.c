/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a process that lies (liar.h) is inspected, whole: its session, its process
 * context, its thread-local variables, and what they lead to, in threads whose pointers the
 * input gives; as one that is stopped, and as one that is not. What inspect.c adds to this is
 * /proc.
 */
#include "reader/context/custom_labels.h"
#include "reader/context/go_labels.h"
#include "reader/context/nodejs.h"
#include "reader/context/otel_process.h"
#include "reader/context/otel_record.h"
#include "reader/context/weft_session.h"
#include "reader/target/settle.h"
#include "reader/tls/tls.h"

#include "collector/write/process_work.h"
#include "liar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INSIDE_PID 1
#define POINTERS 4

static struct custom_labels_copy labels_room;
static struct otel_copy otel_room;

static void look_at(struct live_context *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct live_attribute *a = &c->attribute[i];

		if (a->key_at > c->text.size || a->key_bytes > c->text.size - a->key_at ||
		    a->value_at > c->text.size || a->value_bytes > c->text.size - a->value_at)
			abort();
	}
}

static void read_at(struct settle *s, struct weft_session *session, uint64_t variable,
		    const struct otel_process *process)
{
	struct live_context out = {0};
	uint32_t layout;
	int is_torn = 0;

	if (!custom_labels_read(s, 1, variable, weft_session_seq_of, session, &labels_room, &out))
		look_at(&out);
	if (!otel_record_read(s, 1, variable, weft_session_seq_of, session, &otel_room, &is_torn) &&
	    !is_torn) {
		otel_record_decode(otel_room.record, otel_room.bytes, &process->payload,
				   WEFT_OTEL_ROOT_KEY, &out);
		look_at(&out);
	}
	if (!nodejs_layout(&process->payload, &layout) &&
	    !nodejs_read(s, 1, variable, layout, &otel_room, &is_torn) && !is_torn) {
		otel_record_decode(otel_room.record, otel_room.bytes, &process->payload,
				   WEFT_OTEL_ROOT_KEY, &out);
		look_at(&out);
	}
	live_free(&out);
}

static void read_variables(struct settle *s, struct target *t, struct weft_session *session,
			   const struct otel_process *process, const char *name)
{
	struct tls_place places[4];
	int count = tls_place_find(t, name, places, 4);
	uint64_t variable;

	for (int i = 0; i < count; i++)
		for (size_t m = 0; m < t->mapping_count && m < POINTERS; m++)
			if (!tls_address(t, &places[i], t->mappings[m].start + 64, &variable))
				read_at(s, session, variable, process);
}

static void read_session(struct settle *s, struct weft_session *session)
{
	struct live_context out = {0};

	if (session && !weft_session_look(session))
		for (int32_t tid = 0; tid < 3; tid++)
			if (!weft_session_read(session, s, tid, tid, &labels_room, &out))
				look_at(&out);
	live_free(&out);
}

static void read_goroutines(struct settle *s, const struct target *t, const struct go_program *p)
{
	struct go_threads threads = {0};
	struct live_context out = {0};

	go_threads_read(t, p, &threads);
	for (size_t i = 0; i < threads.count && i < POINTERS; i++)
		if (!go_labels_read(s, 1, p->layout, &threads.thread[i], &labels_room, &out))
			look_at(&out);
	live_free(&out);
	go_threads_free(&threads);
}

/* As a list and as a map, from wherever something is mapped; and where it finds them itself. */
static void read_go(struct settle *s, struct target *t)
{
	static const char *const versions[] = {"go1.26", "go1.23"};
	struct go_program p = {0};

	go_program_find(t, &p);
	if (p.state == GO_READABLE)
		read_goroutines(s, t, &p);
	for (size_t v = 0; v < sizeof(versions) / sizeof(versions[0]); v++) {
		p.layout = go_layout_of(versions[v]);
		for (size_t m = 0; m < t->mapping_count && m < POINTERS; m++) {
			const struct proc_map *at = &t->mappings[m];

			p.list_count = go_scan(t, p.layout, at->start, at->end - at->start, p.list,
					       GO_LISTS);
			read_goroutines(s, t, &p);
			p.list[0] = at->start;
			p.list_count = 1;
			read_goroutines(s, t, &p);
		}
	}
}

static void inspect(struct target *t, int is_stopped)
{
	struct settle settle = {.target = t, .is_stopped = is_stopped, .never_still = 1};
	struct weft_session *session = NULL;
	struct otel_process process = {0};

	if (weft_session_find(&session, t, INSIDE_PID))
		session = NULL;
	read_session(&settle, session);
	if (!otel_process_find(t, &process))
		otel_process_refresh(t, &process);
	read_variables(&settle, t, session, &process, "custom_labels_current_set");
	read_variables(&settle, t, session, &process, "otel_thread_ctx_v1");
	read_variables(&settle, t, session, &process, "otel_thread_ctx_nodejs_v1");
	for (size_t m = 0; m < t->mapping_count && m < POINTERS; m++)
		read_at(&settle, session, t->mappings[m].start, &process);
	read_go(&settle, t);
	settle_close(&settle);
	otel_process_free(&process);
	weft_session_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct liar liar;
	struct target *t = liar_new(&liar, data, size);

	if (!t)
		return 0;
	inspect(t, 1);
	inspect(t, 0);
	target_close(t);
	return 0;
}
