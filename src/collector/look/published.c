/* SPDX-License-Identifier: Apache-2.0 */
/* What others publish, and where handlers find it: see published.h. */
#include "collector/look/published.h"

#include "base/clock.h"
#include "collector/look/published_go.h"
#include "collector/look/published_merge.h"
#include "collector/process/published_context.h"
#include "reader/context/custom_labels.h"
#include "reader/context/nodejs.h"
#include "reader/context/otel_process.h"
#include "reader/context/otel_record.h"
#include "reader/context/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/publish.h>

/* The mappings are read at most so often, and a search costs at most a five-hundredth of the time
 * until the next; but what comes late is found after two seconds. */
#define LOOK_MIN_NS UINT64_C(250000000)
#define LOOK_MAX_NS UINT64_C(2000000000)
#define LOOK_SHARE 500
#define YOUNG_PAUSE_NS UINT64_C(50000000)
/* A thread whose pointer is not to be had yet, or never. */
#define POINTER_MIN_NS UINT64_C(10000000)
#define POINTER_MAX_NS UINT64_C(2000000000)
#define KEYS_NS UINT64_C(10000000) /* an unknown key asks for the key map at most so often */

struct published {
	struct process *process;
	enum published_from from;
	struct session_counts *counts;
	struct target *target; /* NULL: not opened yet */
	struct published_variable otel, nodejs, labels;
	uint32_t layout;  /* of Node.js's heap; 0 = one that is not read */
	uint64_t modules; /* of variables_find() */
	struct published_go go;
	struct otel_process keys;
	uint64_t due_ns, keys_ns;
	struct otel_copy record;
	struct custom_labels_copy set;
	struct live_context context; /* the newest that was read */
};

/* A program that has just begun has not published yet, and may have ended before it would. */
static int is_young(const struct process *p)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t age = clock_ns(CLOCK_BOOTTIME) / (NS_PER_S / ticks) - p->start_ticks;

	return age < ticks;
}

struct published *published_new(struct process *p, enum published_from from,
				struct session_counts *counts)
{
	struct published *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->process = p;
	out->from = from;
	out->counts = counts;
	if (is_young(p))
		out->due_ns = clock_mono_ns() + YOUNG_PAUSE_NS;
	return out;
}

void published_free(struct published *p)
{
	if (!p)
		return;
	target_close(p->target);
	otel_process_free(&p->keys);
	published_go_free(&p->go);
	live_free(&p->context);
	free(p);
}

/* ---- where it is */

static int published_open_target(struct published *p)
{
	return p->target ? target_refresh(p->target) : target_open(&p->target, p->process->pid);
}

static uint64_t published_pause(uint64_t took_ns)
{
	uint64_t pause_ns = took_ns * LOOK_SHARE;

	if (pause_ns < LOOK_MIN_NS)
		return LOOK_MIN_NS;
	return pause_ns < LOOK_MAX_NS ? pause_ns : LOOK_MAX_NS;
}

/* 0: nowhere in modules of others; else another number for other counts of them. */
static int variables_of_others(const struct published *p)
{
	return ((p->otel.count - p->otel.own) * (VARIABLE_PLACES + 1) + p->nodejs.count) *
		       (VARIABLE_PLACES + 1) +
	       p->labels.count - p->labels.own;
}

static int is_in_reach(int64_t distance)
{
	return distance <= WEFT_PUBLISHED_REACH && distance >= -WEFT_PUBLISHED_REACH;
}

static int by_others(const struct published *p)
{
	return 2 * variables_of_others(p) + published_go_is_there(&p->go);
}

/* Where handlers find the first of others; 0: there is none that they can reach. */
static uint64_t place_for_handlers(const struct published_variable *v, struct weft_published *out,
				   uint64_t *generation)
{
	const struct tls_place *place = variable_of_others(v);
	uint64_t distance;

	if (!place || !is_in_reach(place->offset))
		return 0;
	distance = (uint64_t)place->offset & ((UINT64_C(1) << WEFT_PUBLISHED_MODULE_SHIFT) - 1);
	if (!place->is_dynamic) {
		if (is_in_reach(place->edge) && llabs(place->edge) > llabs(out->tls_edge))
			out->tls_edge = place->edge;
		return distance;
	}
	if (place->libc == TLS_LIBC_UNKNOWN || place->module >> (64 - WEFT_PUBLISHED_MODULE_SHIFT))
		return 0;
	out->dtv =
		place->libc == TLS_LIBC_MUSL ? WEFT_PUBLISHED_DTV_MUSL : WEFT_PUBLISHED_DTV_GLIBC;
	*generation = place->generation;
	return place->module << WEFT_PUBLISHED_MODULE_SHIFT | distance;
}

/* To the process's handlers. */
static void published_tell(struct published *p)
{
	struct weft_published v = {0};

	if (p->from != PUBLISHED_LABELS)
		v.otel.at = place_for_handlers(&p->otel, &v, &v.otel.generation);
	v.nodejs_layout = p->layout;
	if (p->from != PUBLISHED_LABELS && p->layout)
		v.nodejs.at = place_for_handlers(&p->nodejs, &v, &v.nodejs.generation);
	if (p->from != PUBLISHED_OTEL)
		v.labels.at = place_for_handlers(&p->labels, &v, &v.labels.generation);
	process_tell_variables(p->process, &v);
}

static void find_variables(struct published *p)
{
	if (nodejs_layout(&p->keys.payload, &p->layout))
		p->layout = 0;
	variables_find(p->target, &p->otel, &p->nodejs, &p->labels, &p->modules);
	published_tell(p);
}

int published_look(struct published *p, uint64_t now_ns)
{
	int before;

	if (!p || now_ns < p->due_ns)
		return 0;
	before = by_others(p);
	if (published_open_target(p) == 0) {
		otel_process_find(p->target, &p->keys);
		if (p->keys.is_read && !p->keys.error)
			process_tell_context(p->process, &p->keys.payload, now_ns);
		if (p->from != PUBLISHED_WEFT)
			find_variables(p);
		if (p->from == PUBLISHED_AUTO)
			published_go_find(&p->go, p->target);
	}
	p->due_ns = now_ns + published_pause(clock_mono_ns() - now_ns);
	return by_others(p) != before;
}

/* 0, and t->pointer. */
static int find_pointer(struct published *p, struct published_thread *t, int32_t tid)
{
	uint64_t now_ns;

	if (t->pointer)
		return 0;
	now_ns = clock_mono_ns();
	if (now_ns < t->due_ns)
		return -EAGAIN;
	if (thread_pointer_find(p->target, tid, &t->pointer) == 0 && t->pointer)
		return 0;
	t->pointer = 0;
	t->pause_ns = t->pause_ns ? 2 * t->pause_ns : POINTER_MIN_NS;
	t->pause_ns = t->pause_ns < POINTER_MAX_NS ? t->pause_ns : POINTER_MAX_NS;
	t->due_ns = now_ns + t->pause_ns;
	return -EAGAIN;
}

/* ---- one context */

/* A key of the record may have been published after the key map was read. */
static void published_decode(struct published *p)
{
	const struct otel_payload *keys = &p->keys.payload;

	if (otel_record_knows_more(p->record.record, p->record.bytes, keys)) {
		uint64_t now_ns = clock_mono_ns();

		if (now_ns - p->keys_ns >= KEYS_NS)
			otel_process_refresh(p->target, &p->keys);
		p->keys_ns = now_ns;
	}
	otel_record_decode(p->record.record, p->record.bytes, keys, WEFT_OTEL_ROOT_KEY,
			   &p->context);
}

static int published_read_record(struct published *p, uint64_t address)
{
	int rc = otel_record_copy(p->target, address, &p->record);

	if (rc || !p->record.bytes)
		return rc ? rc : -ENODATA;
	published_decode(p);
	return 0;
}

static int published_read_set(struct published *p, uint64_t address)
{
	int rc = custom_labels_copy(p->target, address, &p->set);

	if (rc || !address)
		return rc ? rc : -ENODATA;
	live_begin(&p->context, LIVE_CUSTOM_LABELS);
	custom_labels_put(&p->set, 0, &p->context);
	custom_labels_parse_ids(&p->context);
	return 0;
}

/* The context that the variable leads to: 0 and p->context; -ENODATA: there is none; -errno. */
static int published_read(struct published *p, uint64_t variable,
			  int (*read)(struct published *p, uint64_t address))
{
	uint64_t address = 0;
	int rc = target_read_u64(p->target, variable, &address);

	return rc ? rc : read(p, address);
}

/* Likewise: Node.js's variable is more than a pointer. */
static int published_read_nodejs(struct published *p, uint64_t variable)
{
	int rc = nodejs_copy(p->target, variable, p->layout, &p->record);

	if (rc == 0)
		published_decode(p);
	return rc;
}

/* ---- what it adds */

/* What a kind of variable is read by, and what is counted of it. */
struct published_kind {
	const struct published_variable *variable;
	int (*read)(struct published *p, uint64_t address); /* NULL: of Node.js */
	uint64_t *taken;
};

static void published_add_kind(struct published *p, const struct published_kind *kind,
			       const struct published_thread *t, struct published_merge *m)
{
	const struct published_variable *v = kind->variable;
	uint64_t at[VARIABLE_PLACES];

	variable_addresses(p->target, v, t->pointer, at);
	for (int i = 0; i < v->count; i++) {
		int rc = -ENODATA;

		if (at[i] && !v->is_own[i])
			rc = kind->read ? published_read(p, at[i], kind->read)
					: published_read_nodejs(p, at[i]);
		p->counts->context_unreadable += rc == -EFAULT || rc == -EBADMSG;
		if (rc == 0)
			*kind->taken += (uint64_t)published_merge(m, &p->context);
	}
}

static void add_variables(struct published *p, const struct published_thread *t,
			  struct published_merge *m)
{
	struct published_kind otel = {&p->otel, published_read_record, &p->counts->context_otel},
			      nodejs = {&p->nodejs, NULL, &p->counts->context_otel},
			      set = {&p->labels, published_read_set, &p->counts->context_labels};

	if (p->from != PUBLISHED_LABELS)
		published_add_kind(p, &otel, t, m);
	if (p->from != PUBLISHED_LABELS && p->layout)
		published_add_kind(p, &nodejs, t, m);
	if (p->from != PUBLISHED_OTEL)
		published_add_kind(p, &set, t, m);
}

static int32_t published_inside_tid(const struct published *p, struct published_thread *t,
				    int32_t tid)
{
	char text[4096];

	if (p->process->inside_pid == p->process->pid)
		return tid;
	if (!t->inside_tid &&
	    proc_read_task(p->target->proc_fd, tid, "status", text, sizeof(text)) > 0)
		t->inside_tid = pid_innermost(text, 0, NULL);
	return t->inside_tid;
}

static void add_goroutine(struct published *p, struct published_thread *t, int32_t tid,
			  struct published_merge *m)
{
	int rc = published_go_read(&p->go, p->target, published_inside_tid(p, t, tid), &p->set,
				   &p->context);

	p->counts->context_unreadable += rc == -EFAULT;
	if (rc == 0)
		p->counts->context_go += (uint64_t)published_merge(m, &p->context);
}

int published_add(struct published *p, struct published_thread *t, int32_t tid,
		  struct weft_sample_record *sample, uint8_t *labels, int bytes)
{
	struct published_merge m = {.sample = sample,
				    .labels = labels,
				    .bytes = bytes,
				    .has_own_labels = bytes > 0,
				    .keys = &p->keys.payload,
				    .counts = p->counts};

	if (!p->target)
		return bytes;
	if (variables_of_others(p) && find_pointer(p, t, tid) == 0)
		add_variables(p, t, &m);
	if (published_go_is_there(&p->go))
		add_goroutine(p, t, tid, &m);
	return m.bytes;
}
