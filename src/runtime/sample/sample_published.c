/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other libraries' contexts in a sample record: what the thread that the handler has interrupted
 * publishes as OpenTelemetry's thread context, its own or Node.js's, as its bytes, and as Custom
 * Labels, as labels.
 * abi/sample_parts.h has the contract, and why memory is read as it is here: what lies on the
 * thread's known stack or in its static TLS directly, all else by process_vm_readv. No pointer and
 * no length is believed. While nobody publishes it is five loads.
 *
 * weft_sample_published_bytes() is called before there is a record, to reserve room;
 * weft_sample_published_put() once its labels are in. It reads straight into the ring, and loads
 * what it has read there once: whatever the collector does to the ring meanwhile, no more is
 * written than there is room.
 */
#include "runtime/sample/sample.h"

#include <string.h>
#include <sys/uio.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_nodejs_context.h>
#include <weft/abi/otel_thread_context.h>

#include "base/thread_pointer.h"
#include "runtime/core/sys.h"
#include "runtime/stack/stack.h"

#define HEAD_BYTES ((uint32_t)WEFT_OTEL_ATTRIBUTES_AT)
#define RECORD_BYTES ((uint32_t)WEFT_SAMPLE_PUBLISHED_BYTES)
#define PART_BYTES ((uint32_t)sizeof(struct weft_sample_published))
#define LEAST_SET_BYTES 64   /* with less room there is no set */
#define PAGE_BYTES 4096      /* no page is smaller */
#define WINDOW_BYTES 256     /* of a heap, read at once */
#define AT_ONCE 4            /* labels: what they are read by lies on the handler's stack */
#define NO_BLOCK UINT64_MAX  /* in a DTV of glibc's: not allocated */
#define DTV_LENGTH_BEFORE 16 /* likewise: the entry before the first has the length */

struct published_look {
	const struct stack_take *take;
	uint64_t record, set; /* what the thread's variables lead to; 0 = nothing */
	int is_unreadable;    /* something of it could not be read */
};

/* ---- reading */

/* A read of ourselves that is all or nothing. */
struct self_read {
	const struct iovec *to, *from;
	uint32_t to_count, from_count;
	uint32_t bytes; /* of all */
};

static int published_self_read(struct published_look *l, const struct self_read *r)
{
	long got = -EPERM;

	if (LIKELY(!weft_rt_is_careful())) {
		got = sys_call6(SYS_process_vm_readv, weft_rt.pid, SYS_ARG(r->to), r->to_count,
				SYS_ARG(r->from), r->from_count, 0);
		weft_slot_count(l->take->slot, WEFT_COUNTER_CONTEXT_SELF_READ, 1);
	}
	if (LIKELY(got == (long)r->bytes))
		return 1;
	l->is_unreadable = 1;
	return 0;
}

static struct iovec published_piece(uint64_t at, uint32_t bytes)
{
	return (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = bytes};
}

static int published_is_within(uint64_t at, uint32_t bytes, uint64_t from, uint64_t to)
{
	return at >= from && at < to && bytes <= to - at;
}

static int64_t published_distance(int64_t distance)
{
	return distance <= WEFT_PUBLISHED_REACH && distance >= -WEFT_PUBLISHED_REACH ? distance : 0;
}

/* In this thread's static TLS? */
static int published_is_own(uint64_t at, uint32_t bytes)
{
	uint64_t pointer = (uint64_t)(uintptr_t)weft_thread_pointer();
	int64_t edge = published_distance(load_relaxed(&weft_rt.header->published.tls_edge));
	uint64_t reach = pointer + (uint64_t)edge;

	return edge < 0 ? published_is_within(at, bytes, reach, pointer)
			: published_is_within(at, bytes, pointer, reach);
}

static int published_is_known(const struct published_look *l, uint64_t at, uint32_t bytes)
{
	const struct stack_view *v = &l->take->view;

	return (v->known && published_is_within(at, bytes, v->from, v->to)) ||
	       published_is_own(at, bytes);
}

/* All of it, or 0. */
static int published_fetch(struct published_look *l, void *to, uint64_t from, uint32_t bytes)
{
	struct iovec local = {.iov_base = to, .iov_len = bytes};
	struct iovec remote = published_piece(from, bytes);
	struct self_read r = {&local, &remote, 1, 1, bytes};

	if (!published_is_known(l, from, bytes))
		return published_self_read(l, &r);
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return 1;
}

/* From there to the end of the page on which the first @least bytes end. */
static uint32_t bytes_on_page(uint64_t from, uint32_t least, uint32_t most)
{
	uint64_t bytes = ((from + least - 1) | (PAGE_BYTES - 1)) + 1 - from;

	return bytes < most ? (uint32_t)bytes : most;
}

/* ---- the variables */

static char *dtv_pointer(uint32_t dtv)
{
#if defined(__x86_64__)
	(void)dtv;
	return weft_thread_pointer() + 8;
#else
	return weft_thread_pointer() - (dtv == WEFT_PUBLISHED_DTV_MUSL ? 8 : 0);
#endif
}

/* Of the thread, in its module's block; 0 = it has none. Another block may stand in a DTV that is
 * older than the module, and a handler may come while a DTV is moved. */
static uint64_t published_block(struct published_look *l, uint64_t module, uint64_t generation)
{
	uint32_t kind = load_relaxed(&weft_rt.header->published.dtv);
	int is_musl = kind == WEFT_PUBLISHED_DTV_MUSL;
	uint64_t dtv = load_relaxed((const uint64_t *)(void *)dtv_pointer(kind));
	uint64_t words[3] = {0}; /* length, glibc's generation, block */
	struct iovec local = {.iov_base = words, .iov_len = sizeof(words)};
	struct iovec remote[3] = {
		published_piece(is_musl ? dtv : dtv - DTV_LENGTH_BEFORE, 8),
		published_piece(dtv, 8),
		published_piece(dtv + module * (is_musl ? UINT64_C(8) : UINT64_C(16)), 8)};
	struct self_read r = {&local, remote, 1, 3, sizeof(words)};

	if (kind == WEFT_PUBLISHED_NO_DTV || !dtv || !published_self_read(l, &r))
		return 0;
	if (words[0] < module || words[1] < generation || words[2] == NO_BLOCK)
		return 0;
	return words[2];
}

/* Where a variable lies, as the session's header has it. */
struct published_place {
	uint64_t module;  /* 0 = in static TLS */
	int64_t distance; /* from the thread pointer, or from the module's block */
};

/* 0: nowhere, or where no variable can be. */
static int published_place(const struct weft_published_variable *v, struct published_place *out)
{
	uint64_t at = load_acquire(&v->at); /* pairs: tell_variable() of the collector */
	int shift = 64 - WEFT_PUBLISHED_MODULE_SHIFT;

	if (LIKELY(!at))
		return 0;
	out->module = at >> WEFT_PUBLISHED_MODULE_SHIFT;
	out->distance = (int64_t)(at << shift) >> shift;
	return out->distance % 8 == 0 && out->distance == published_distance(out->distance);
}

static uint64_t published_static(int64_t distance)
{
	return load_relaxed((const uint64_t *)(const void *)(weft_thread_pointer() + distance));
}

/* Its first word; 0: there is none. */
static __attribute__((noinline)) uint64_t
published_dynamic(struct published_look *l, uint64_t module, uint64_t generation, int64_t distance)
{
	uint64_t block = published_block(l, module, generation), word = 0;

	return block && published_fetch(l, &word, block + (uint64_t)distance, sizeof(word)) ? word
											    : 0;
}

/* What the thread's variable leads to; 0 = nothing. */
static uint64_t published_pointer(struct published_look *l, const struct weft_published_variable *v)
{
	struct published_place place;

	if (LIKELY(!published_place(v, &place)))
		return 0;
	if (UNLIKELY(place.module))
		return published_dynamic(l, place.module, load_relaxed(&v->generation),
					 place.distance);
	return published_static(place.distance);
}

/* All of the thread's variable; 0: it has none. */
static int published_variable(struct published_look *l, const struct weft_published_variable *v,
			      void *to, uint32_t bytes)
{
	struct published_place place;
	uint64_t base;

	if (!published_place(v, &place))
		return 0;
	base = place.module ? published_block(l, place.module, load_relaxed(&v->generation))
			    : (uint64_t)(uintptr_t)weft_thread_pointer();
	return base && published_fetch(l, to, base + (uint64_t)place.distance, bytes);
}

/* ---- Node.js: a walk over the heap */

/* What was read last of it, on one page: what is asked for next often lies there, too. */
struct walked_memory {
	struct published_look *look;
	uint64_t from;
	uint32_t bytes;
	uint8_t window[WINDOW_BYTES];
};

static int published_fetch_for_walk(void *arg, void *to, uint64_t from, uint32_t bytes)
{
	struct walked_memory *m = arg;

	if (!published_is_within(from, bytes, m->from, m->from + m->bytes)) {
		m->from = from;
		m->bytes = bytes_on_page(from, bytes, sizeof(m->window));
		if (!published_fetch(m->look, m->window, from, m->bytes))
			return -EFAULT;
	}
	memcpy(to, m->window + (from - m->from), bytes);
	return 0;
}

/* The record of what runs in Node.js on this thread; 0 = none. A table that is just being replaced
 * is as if there were none. */
static __attribute__((noinline)) uint64_t published_nodejs(struct published_look *l)
{
	const struct weft_published *where = &weft_rt.header->published;
	struct walked_memory memory = {.look = l};
	struct weft_nodejs_walk walk = {load_relaxed(&where->nodejs_layout),
					published_fetch_for_walk, &memory};
	struct weft_nodejs_variable v = {0};
	uint64_t record = 0;
	int rc;

	if (!published_variable(l, &where->nodejs, &v, sizeof(v)))
		return 0;
	rc = weft_nodejs_record(&walk, &v, &record);
	if (rc == -EBADMSG)
		l->is_unreadable = 1;
	return rc ? 0 : record;
}

/* ---- all of them */

/* What the variables of the interrupted thread lead to stays the same until the handler returns, so
 * it is looked up when it is used: nothing of it lies on the handler's stack while that is unwound.
 */
static struct published_look thread_publishes(const struct stack_take *take)
{
	const struct weft_published *where = &weft_rt.header->published;
	struct published_look l = {.take = take};

	l.record = published_pointer(&l, &where->otel);
	if (UNLIKELY(load_relaxed(&where->nodejs.at) && !l.record))
		l.record = published_nodejs(&l);
	l.set = published_pointer(&l, &where->labels);
	return l;
}

/* Of one in no static TLS that is not known before it is read, by calls. */
static int published_may_lead(const struct weft_published_variable *v)
{
	struct published_place place;

	return UNLIKELY(published_place(v, &place)) &&
	       (place.module || published_static(place.distance));
}

uint32_t weft_sample_published_bytes(uint32_t most)
{
	const struct weft_published *where = &weft_rt.header->published;
	uint32_t room = 0;

	if (published_may_lead(&where->otel) || UNLIKELY(load_relaxed(&where->nodejs.at)))
		room = PART_BYTES + RECORD_BYTES;
	if (published_may_lead(&where->labels))
		room += PART_BYTES + WEFT_SAMPLE_PUBLISHED_SET_BYTES;
	return (room < most ? room : most) & ~7u;
}

int weft_sample_published_is_any(const struct stack_take *take)
{
	struct published_look look = thread_publishes(take);
	uint8_t head[HEAD_BYTES] = {0};
	uint64_t set[2] = {0}; /* where its labels are, and how many */

	if (look.record && published_fetch(&look, head, look.record, sizeof(head)) &&
	    head[offsetof(struct weft_otel_record, valid)] == 1)
		return 1;
	return look.set && published_fetch(&look, set, look.set, sizeof(set)) && set[1];
}

/* ---- OpenTelemetry's record */

/* The record's bytes, RECORD_BYTES at most; 0: there is none. Its head alone says how long it is:
 * to save a second call, what else lies on its page comes along. */
static uint32_t put_record(struct published_look *l, uint64_t from, uint8_t *to)
{
	uint32_t got = published_is_known(l, from, HEAD_BYTES)
			       ? HEAD_BYTES
			       : bytes_on_page(from, HEAD_BYTES, RECORD_BYTES);
	uint16_t more;
	uint32_t bytes;

	if (!published_fetch(l, to, from, got) || to[offsetof(struct weft_otel_record, valid)] != 1)
		return 0;
	more = load_relaxed((const uint16_t *)(const void *)(to + offsetof(struct weft_otel_record,
									   attributes_bytes)));
	bytes = HEAD_BYTES + more < RECORD_BYTES ? HEAD_BYTES + more : RECORD_BYTES;
	if (bytes > got && !published_fetch(l, to + got, from + got, bytes - got))
		return 0;
	return bytes;
}

/* ---- a set of Custom Labels */

/* Where labels are put: @used of @room bytes are taken. */
struct put_labels {
	uint8_t *to;
	uint32_t room, used;
	int is_full; /* the next has no room, or there is one too many */
};

static uint16_t published_at_most(uint64_t bytes, uint16_t most)
{
	return bytes < most ? (uint16_t)bytes : most;
}

/* Its sizes in a record; without a key: it is no label. */
static struct weft_sample_label published_sizes(const struct weft_custom_labels_label *l)
{
	if (!l->key.buf || !l->value.buf)
		return (struct weft_sample_label){0};
	return (struct weft_sample_label){
		published_at_most(l->key.bytes, WEFT_CUSTOM_LABELS_KEY_BYTES),
		published_at_most(l->value.bytes, WEFT_CUSTOM_LABELS_VALUE_BYTES)};
}

/* The texts of @count labels, by one call. 0: there was something that could not be read. */
static int put_label_texts(struct published_look *l, const struct weft_custom_labels_label *label,
			   uint32_t count, struct put_labels *p)
{
	struct iovec local[AT_ONCE], remote[2 * AT_ONCE];
	struct self_read r = {local, remote, 0, 0, 0};

	for (uint32_t i = 0; i < count; i++) {
		struct weft_sample_label sizes = published_sizes(&label[i]);
		uint32_t texts = (uint32_t)sizes.key_bytes + sizes.value_bytes;

		if (!sizes.key_bytes)
			continue;
		if (p->used + sizeof(sizes) + texts > p->room) {
			p->is_full = 1;
			break;
		}
		memcpy(p->to + p->used, &sizes, sizeof(sizes));
		p->used += (uint32_t)sizeof(sizes);
		local[r.to_count++] = (struct iovec){.iov_base = p->to + p->used, .iov_len = texts};
		remote[r.from_count++] =
			published_piece((uint64_t)(uintptr_t)label[i].key.buf, sizes.key_bytes);
		remote[r.from_count++] =
			published_piece((uint64_t)(uintptr_t)label[i].value.buf, sizes.value_bytes);
		p->used += texts;
		r.bytes += texts;
	}
	return !r.bytes || published_self_read(l, &r);
}

/* How many bytes of labels: all that could be had up to the first that could not. */
static uint32_t published_put_set(struct published_look *l, uint64_t set, struct put_labels *p)
{
	struct weft_custom_labels_label label[AT_ONCE] = {0};
	uint64_t head[2] = {0}; /* where its labels are, and how many */
	uint32_t whole = 0, step, count;

	if (!published_fetch(l, head, set, sizeof(head)))
		return 0;
	count = published_at_most(head[1], WEFT_SAMPLE_PUBLISHED_LABELS);
	for (uint32_t i = 0; i < count && !p->is_full; i += step) {
		step = count - i < AT_ONCE ? count - i : AT_ONCE;
		if (!published_fetch(l, label, head[0] + i * sizeof(label[0]),
				     step * (uint32_t)sizeof(label[0])) ||
		    !put_label_texts(l, label, step, p))
			break;
		whole = p->used;
	}
	p->is_full |= count < head[1];
	return whole;
}

/* ---- a sample */

static uint8_t *part_data(struct weft_sample_record *sample)
{
	return (uint8_t *)sample + sample->record.bytes + PART_BYTES;
}

/* @bytes stand behind the sample already, behind the part's head; 0: there is no part. How many
 * bytes of the room it takes. */
static uint32_t end_part(struct weft_sample_record *sample, uint16_t flag, uint32_t bytes)
{
	struct weft_sample_published head = {.bytes = bytes};
	uint32_t padded = (bytes + 7) & ~7u;

	if (!bytes)
		return 0;
	memset(part_data(sample) + bytes, 0, padded - bytes);
	memcpy(part_data(sample) - PART_BYTES, &head, sizeof(head));
	if (!sample->labels_at)
		sample->labels_at = sample->record.bytes;
	sample->flags |= flag;
	sample->record.bytes += PART_BYTES + padded;
	return PART_BYTES + padded;
}

void weft_sample_published_put(const struct stack_take *take, uint32_t room,
			       struct weft_sample_record *sample)
{
	struct published_look look = thread_publishes(take);
	int is_record = look.record && room >= PART_BYTES + RECORD_BYTES;
	struct put_labels labels = {0};
	uint32_t bytes;

	if (is_record) {
		bytes = put_record(&look, look.record, part_data(sample));
		room -= end_part(sample, WEFT_SAMPLE_PUBLISHED, bytes);
	}
	labels.is_full = !is_record && look.record;
	if (look.set && room >= LEAST_SET_BYTES) {
		labels.to = part_data(sample);
		labels.room = room - PART_BYTES;
		if (labels.room > WEFT_SAMPLE_PUBLISHED_SET_BYTES)
			labels.room = WEFT_SAMPLE_PUBLISHED_SET_BYTES;
		end_part(sample, WEFT_SAMPLE_PUBLISHED_SET,
			 published_put_set(&look, look.set, &labels));
	} else if (look.set) {
		labels.is_full = 1;
	}
	if (UNLIKELY(look.is_unreadable))
		sample->flags |= WEFT_SAMPLE_UNREADABLE;
	if (UNLIKELY(labels.is_full))
		weft_slot_count(take->slot, WEFT_COUNTER_LABELS_UNRECORDED, 1);
}
