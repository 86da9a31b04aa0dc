/* SPDX-License-Identifier: Apache-2.0 */
/* What others publish, for samples from outside: see published.h. */
#include "collector/look/published.h"

#include "base/clock.h"
#include "reader/context/custom_labels.h"
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
#define SECOND_NS UINT64_C(1000000000)
#define YOUNG_PAUSE_NS UINT64_C(50000000)
/* A thread whose pointer is not to be had yet, or never. */
#define POINTER_MIN_NS UINT64_C(10000000)
#define POINTER_MAX_NS UINT64_C(2000000000)
#define KEYS_NS UINT64_C(10000000) /* an unknown key asks for the key map at most so often */

struct published {
	const struct process *process;
	enum published_from from;
	struct session_counts *counts;
	struct target *target; /* NULL: not opened yet */
	struct published_variable otel, labels;
	uint64_t modules; /* of variables_find() */
	struct otel_process keys;
	uint64_t due_ns, keys_ns;
	struct otel_copy record;
	struct custom_labels_copy set;
	struct live_context context; /* the newest that was read */
	int has_own_labels;          /* the sample in question has labels of weft's */
};

/* A program that has just begun has not published yet, and may have ended before it would. */
static int is_young(const struct process *p)
{
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t age = clock_ns(CLOCK_BOOTTIME) / (SECOND_NS / ticks) - p->start_ticks;

	return age < ticks;
}

struct published *published_new(const struct process *p, enum published_from from,
				struct session_counts *counts)
{
	struct published *out = from == PUBLISHED_WEFT ? NULL : calloc(1, sizeof(*out));

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
static int by_others(const struct published *p)
{
	return (p->otel.count - p->otel.own) * (VARIABLE_PLACES + 1) + p->labels.count -
	       p->labels.own;
}

int published_look(struct published *p, uint64_t now_ns)
{
	int before;

	if (!p || now_ns < p->due_ns)
		return 0;
	before = by_others(p);
	if (published_open_target(p) == 0) {
		otel_process_find(p->target, &p->keys);
		variables_find(p->target, &p->otel, &p->labels, &p->modules);
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

/* ---- what it adds */

static int published_has_ids(const struct weft_sample_record *s)
{
	return s->context == WEFT_CONTEXT_IDS || s->context == WEFT_CONTEXT_TRACE;
}

static int published_is_another(const struct weft_sample_record *s, const struct live_context *c)
{
	if (!published_has_ids(s))
		return 0;
	if (c->flags & LIVE_SPAN && s->span_id && s->span_id != c->span_id)
		return 1;
	return c->flags & LIVE_TRACE && s->context == WEFT_CONTEXT_TRACE &&
	       memcmp(s->trace_id, c->trace_id, sizeof(s->trace_id)) != 0;
}

/* 1: something was added. */
static int published_add_ids(struct weft_sample_record *s, const struct live_context *c)
{
	int is_span = c->flags & LIVE_SPAN && !s->span_id;
	int is_root = c->flags & LIVE_ROOT && !s->root_span_id;
	int is_trace = c->flags & LIVE_TRACE && s->context != WEFT_CONTEXT_TRACE;

	if (is_span)
		s->span_id = c->span_id;
	if (is_root)
		s->root_span_id = c->root_span_id;
	if (is_trace) {
		memcpy(s->trace_id, c->trace_id, sizeof(s->trace_id));
		s->trace_flags = c->trace_flags;
		s->context = WEFT_CONTEXT_TRACE;
	} else if ((is_span || is_root) && s->context != WEFT_CONTEXT_TRACE) {
		s->context = WEFT_CONTEXT_IDS;
	}
	return is_span || is_root || is_trace;
}

static int published_is_named(const struct live_context *c, const struct live_attribute *a,
			      const char *name)
{
	return a->key_bytes == strlen(name) &&
	       memcmp(live_text(c, a->key_at), name, a->key_bytes) == 0;
}

/* An index that the key map does not have: a reader is to pass over it. */
static int is_of_no_key(const struct published *p, const struct live_context *c,
			const struct live_attribute *a)
{
	const char *key = live_text(c, a->key_at);
	size_t bytes;
	uint64_t index;

	return c->abi == LIVE_OTEL && key[0] == '#' &&
	       live_number(key + 1, a->key_bytes - 1, 10, &index) == 0 && index <= UINT8_MAX &&
	       !otel_payload_key(&p->keys.payload, (unsigned int)index, &bytes);
}

/* Is it told as a label, and not as one of the ids? */
static int is_label(const struct published *p, const struct live_context *c,
		    const struct live_attribute *a)
{
	if (!a->key_bytes || is_of_no_key(p, c, a))
		return 0;
	if (c->abi == LIVE_OTEL)
		return !(c->flags & LIVE_ROOT && published_is_named(c, a, WEFT_OTEL_ROOT_KEY));
	return !published_is_named(c, a, WEFT_CUSTOM_LABELS_SPAN_KEY) &&
	       !published_is_named(c, a, WEFT_CUSTOM_LABELS_ROOT_KEY);
}

/* A label behind @bytes of them; how many there are then. Of equal keys the first counts. */
static int published_put_label(const struct live_context *c, const struct live_attribute *a,
			       uint8_t *to, int bytes)
{
	struct weft_sample_label head = {
		(uint16_t)(a->key_bytes < WEFT_CUSTOM_LABELS_KEY_BYTES
				   ? a->key_bytes
				   : WEFT_CUSTOM_LABELS_KEY_BYTES),
		(uint16_t)(a->value_bytes < WEFT_CUSTOM_LABELS_VALUE_BYTES
				   ? a->value_bytes
				   : WEFT_CUSTOM_LABELS_VALUE_BYTES),
	};
	size_t more = sizeof(head) + head.key_bytes + head.value_bytes;

	if ((size_t)bytes + more > LABEL_BYTES_MAX)
		return -1;
	memcpy(to + bytes, &head, sizeof(head));
	memcpy(to + bytes + sizeof(head), live_text(c, a->key_at), head.key_bytes);
	memcpy(to + bytes + sizeof(head) + head.key_bytes, live_text(c, a->value_at),
	       head.value_bytes);
	return bytes + (int)more;
}

static int published_add_labels(struct published *p, uint8_t *labels, int bytes)
{
	const struct live_context *c = &p->context;
	size_t count = c->count < WEFT_SAMPLE_LABELS_MAX ? c->count : WEFT_SAMPLE_LABELS_MAX;

	for (size_t i = 0; i < count; i++) {
		int now = is_label(p, c, &c->attribute[i])
				  ? published_put_label(c, &c->attribute[i], labels, bytes)
				  : bytes;

		if (now < 0) {
			p->counts->counter[WEFT_COUNTER_LABELS_UNRECORDED]++;
			return bytes;
		}
		bytes = now;
	}
	return bytes;
}

/* What a kind of variable is read by, and what is counted of it. */
struct published_kind {
	const struct published_variable *variable;
	int (*read)(struct published *p, uint64_t address);
	uint64_t *taken;
};

static int published_add_one(struct published *p, const struct published_kind *kind,
			     uint64_t variable, struct weft_sample_record *sample, uint8_t *labels,
			     int bytes)
{
	int rc = published_read(p, variable, kind->read), before = bytes;
	int is_more;

	if (rc == -EFAULT)
		p->counts->context_unreadable++;
	if (rc)
		return bytes;
	if (published_is_another(sample, &p->context)) {
		p->counts->context_disagreed++;
		return bytes;
	}
	is_more = published_add_ids(sample, &p->context);
	if (!p->has_own_labels)
		bytes = published_add_labels(p, labels, bytes);
	*kind->taken += is_more || bytes > before;
	return bytes;
}

static int published_add_kind(struct published *p, const struct published_kind *kind,
			      const struct published_thread *t, struct weft_sample_record *sample,
			      uint8_t *labels, int bytes)
{
	const struct published_variable *v = kind->variable;
	uint64_t at[VARIABLE_PLACES];

	if (variable_addresses(p->target, v, t->pointer, at))
		return bytes;
	for (int i = 0; i < v->count; i++)
		if (at[i] && !v->is_own[i])
			bytes = published_add_one(p, kind, at[i], sample, labels, bytes);
	return bytes;
}

int published_add(struct published *p, struct published_thread *t, int32_t tid,
		  struct weft_sample_record *sample, uint8_t *labels, int bytes)
{
	struct published_kind otel = {&p->otel, published_read_record, &p->counts->context_otel},
			      set = {&p->labels, published_read_set, &p->counts->context_labels};

	if (!p->target || !by_others(p) || find_pointer(p, t, tid))
		return bytes;
	p->has_own_labels = bytes > 0;
	if (p->from != PUBLISHED_LABELS)
		bytes = published_add_kind(p, &otel, t, sample, labels, bytes);
	if (p->from != PUBLISHED_OTEL)
		bytes = published_add_kind(p, &set, t, sample, labels, bytes);
	return bytes;
}
