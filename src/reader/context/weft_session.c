/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts from a session of weft's: see weft_session.h. */
#include "reader/context/weft_session.h"

#include "base/array.h"
#include "base/context_snapshot.h"
#include "base/dictionary.h"
#include "base/hash.h"
#include "base/session_layout.h"

#include <weft/publish.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "/memfd:weft-session"
#define LOG_MOST (64 * 1024 * 1024)
#define AT_ONCE 256

/* A thread that lives. */
struct place {
	int32_t tid;
	uint32_t slot;
	uint64_t word; /* of its state, without WEFT_SLOT_HELD */
};

struct weft_session {
	const struct target *target;
	uint64_t address;
	struct weft_session_header header;
	struct dictionary *dictionary;
	uint8_t *log;
	uint64_t log_bytes, log_position;
	struct place *place; /* by tid */
	size_t count, room;
};

/* ---- finding it */

static int is_session_mapping(const struct proc_map *m)
{
	return strncmp(m->path, NAME, sizeof(NAME) - 1) == 0 && m->offset == 0 &&
	       m->end - m->start >= WEFT_SESSION_HEADER_BYTES;
}

/* Only the header has the size of the file: reading beyond the real end fails, no more. */
static int weft_session_read_header(const struct target *t, uint64_t address,
				    struct weft_session_header *h)
{
	int rc = target_read(t, address, h, sizeof(*h));

	if (rc)
		return rc;
	return weft_session_validate(h, h->total_bytes) || h->dict_bytes > LOG_MOST ? -EPROTO : 0;
}

/* A collector has sessions of others mapped, and a forked child its parent's. */
static int find_own(const struct target *t, int32_t inside_pid, uint64_t *address,
		    struct weft_session_header *out)
{
	int worst = -ENOENT;

	for (size_t i = 0; i < t->mapping_count; i++) {
		struct weft_session_header h;
		int rc;

		if (!is_session_mapping(&t->mappings[i]))
			continue;
		rc = weft_session_read_header(t, t->mappings[i].start, &h);
		if (rc == 0 && h.pid == inside_pid) {
			*address = t->mappings[i].start;
			*out = h;
			return 0;
		}
		if (rc == 0 && h.collector_pid != inside_pid)
			worst = -EXDEV;
		else if (rc && worst == -ENOENT)
			worst = rc;
	}
	return worst;
}

int weft_session_find(struct weft_session **out, const struct target *t, int32_t inside_pid)
{
	struct weft_session *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->target = t;
	rc = find_own(t, inside_pid, &s->address, &s->header);
	if (rc == 0) {
		s->dictionary = dictionary_new();
		s->log = malloc(s->header.dict_bytes);
		rc = s->dictionary && s->log ? 0 : -ENOMEM;
	}
	if (rc)
		weft_session_free(s);
	else
		*out = s;
	return rc;
}

void weft_session_free(struct weft_session *s)
{
	if (!s)
		return;
	dictionary_free(s->dictionary);
	free(s->log);
	free(s->place);
	free(s);
}

const struct weft_session_header *weft_session_header(const struct weft_session *s)
{
	return &s->header;
}

/* A runtime that does not say its formats has this one alone. */
int weft_session_shows_v1(const struct weft_session *s)
{
	return s->header.labels_max == 0 || s->header.formats & WEFT_FORMAT_V1;
}

/* ---- its threads */

static uint64_t slot_address(const struct weft_session *s, uint32_t slot)
{
	return s->address + s->header.slots_offset + slot * s->header.slot_stride;
}

static uint64_t word_address(const struct weft_session *s, uint32_t slot)
{
	return s->address + s->header.states_offset + slot * sizeof(uint64_t);
}

static int weft_session_add_place(struct weft_session *s, uint32_t slot, uint64_t word)
{
	struct place *one;

	if (WEFT_STATE_OF(word) != WEFT_SLOT_LIVE)
		return 0;
	one = array_add(&s->place, &s->count, &s->room, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct place){.slot = slot, .word = word & ~(uint64_t)WEFT_SLOT_HELD};
	return 0;
}

static int weft_session_find_places(struct weft_session *s)
{
	uint32_t high = s->header.slots_high < s->header.slot_count ? s->header.slots_high
								    : s->header.slot_count;
	uint64_t *word = calloc(high ? high : 1, sizeof(*word));
	int rc = word ? 0 : -ENOMEM;

	s->count = 0;
	if (rc == 0 && high)
		rc = target_read(s->target, word_address(s, 0), word, high * sizeof(*word));
	for (uint32_t i = 0; i < high && rc == 0; i++)
		rc = weft_session_add_place(s, i, word[i]);
	free(word);
	return rc;
}

static int read_tids(struct weft_session *s, size_t first, size_t count)
{
	struct iovec to[AT_ONCE], from[AT_ONCE];
	ssize_t n;

	for (size_t i = 0; i < count; i++) {
		struct place *p = &s->place[first + i];

		to[i] = (struct iovec){&p->tid, sizeof(p->tid)};
		from[i] =
			(struct iovec){(void *)(uintptr_t)(slot_address(s, p->slot) +
							   offsetof(struct weft_slot, thread.tid)),
				       sizeof(p->tid)};
	}
	n = target_readv(s->target, to, from, (unsigned int)count);
	return n < 0 ? (int)n : 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int weft_session_look(struct weft_session *s)
{
	struct weft_session_header h;
	int rc = weft_session_read_header(s->target, s->address, &h);

	if (rc)
		return rc;
	if (h.pid != s->header.pid || h.dict_bytes != s->header.dict_bytes)
		return -EPROTO;
	s->header = h;
	rc = weft_session_find_places(s);
	for (size_t i = 0; i < s->count && rc == 0; i += AT_ONCE)
		rc = read_tids(s, i, s->count - i < AT_ONCE ? s->count - i : AT_ONCE);
	if (s->count)
		qsort(s->place, s->count, sizeof(*s->place), compare_places);
	return rc;
}

static const struct place *find_place(const struct weft_session *s, int32_t tid)
{
	struct place key = {.tid = tid};

	return s->count ? bsearch(&key, s->place, s->count, sizeof(key), compare_places) : NULL;
}

#define BLOCK_BYTES_MOST 0x8000 /* of a coroutine's labels and record */

/* Does it lie in the store of a coroutine that runs on the thread of this slot? */
static int is_in_block(const struct weft_session *s, uint64_t slot, uint64_t address)
{
	uint64_t distance;

	if (target_read_u64(s->target, slot + offsetof(struct weft_slot, ext.label_store),
			    &distance) ||
	    !distance)
		return 0;
	return address - (slot + offsetof(struct weft_slot, label_state.store) + distance) <
	       BLOCK_BYTES_MOST;
}

static uint64_t seq_of_block(const struct weft_session *s, uint64_t address)
{
	for (size_t i = 0; i < s->count; i++) {
		uint64_t slot = slot_address(s, s->place[i].slot);

		if (is_in_block(s, slot, address))
			return slot + offsetof(struct weft_slot, ext.seq);
	}
	return 0;
}

uint64_t weft_session_seq_of(void *arg, uint64_t address)
{
	const struct weft_session *s = arg;
	uint64_t first = s ? slot_address(s, 0) : 0, at;

	if (!s || !address)
		return 0;
	if (address < first)
		return seq_of_block(s, address);
	at = address - first;
	if (at / s->header.slot_stride >= s->header.slot_count)
		return seq_of_block(s, address);
	if (at % s->header.slot_stride >= WEFT_SLOT_CONTROL_BYTES)
		return 0;
	return address - at % s->header.slot_stride + offsetof(struct weft_slot, ext.seq);
}

/* ---- its dictionary */

static int weft_session_read_log(struct weft_session *s)
{
	uint64_t head;
	int rc = target_read_u64(
		s->target, s->address + offsetof(struct weft_session_header, dict_head), &head);

	if (rc || head <= s->log_bytes || head > s->header.dict_bytes)
		return rc;
	rc = target_read(s->target, s->address + s->header.dict_offset + s->log_bytes,
			 s->log + s->log_bytes, head - s->log_bytes);
	if (rc)
		return rc;
	s->log_bytes = head;
	return log_read(s->log, s->header.dict_bytes, head, &s->log_position, dictionary_take,
			s->dictionary);
}

static const char *weft_session_string_of(struct weft_session *s, uint32_t id)
{
	const char *text = dictionary_string(s->dictionary, id);

	if (text || weft_session_read_log(s))
		return text;
	return dictionary_string(s->dictionary, id);
}

static void put_tags(struct weft_session *s, const uint32_t *tags, struct live_context *out)
{
	for (unsigned int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++) {
		const char *value = tags[i] ? weft_session_string_of(s, tags[i]) : NULL;
		const char *name = dictionary_tag_name(s->dictionary, i);
		char number[16], id[24];

		if (!tags[i])
			continue;
		snprintf(number, sizeof(number), "tag%u", i);
		snprintf(id, sizeof(id), "#%u", tags[i]);
		name = name ? name : number;
		value = value ? value : id;
		live_add(out, name, strlen(name), value, strlen(value));
	}
}

/* ---- one thread */

struct look {
	struct weft_session *session;
	const struct place *place;
	int is_own;             /* the labels lie in the slot or its coroutine's block: ext.seq
				 * covers them */
	struct weft_slot *slot; /* a copy, of its first part alone */
	struct custom_labels_copy *labels;
	enum weft_sample_context found;
	struct weft_context_snapshot snapshot;
};

#define LOOK_BYTES offsetof(struct weft_slot, thread.stack_low)

/* Copies the slot between two readings of its checksum. */
static int copy_slot(struct look *l)
{
	uint64_t at = slot_address(l->session, l->place->slot), before, after, word;
	uint64_t checksum_at = at + offsetof(struct weft_slot, context.checksum);
	struct iovec to[] = {{&before, 8}, {l->slot, LOOK_BYTES}, {&after, 8}, {&word, 8}};
	struct iovec from[] = {{(void *)(uintptr_t)checksum_at, 8},
			       {(void *)(uintptr_t)at, LOOK_BYTES},
			       {(void *)(uintptr_t)checksum_at, 8},
			       {(void *)(uintptr_t)word_address(l->session, l->place->slot), 8}};
	ssize_t n = target_readv(l->session->target, to, from, 4);

	if (n < 0)
		return (int)n;
	if (n != (ssize_t)(LOOK_BYTES + 24))
		return -EFAULT;
	if ((word & ~(uint64_t)WEFT_SLOT_HELD) != l->place->word ||
	    l->slot->thread.tid != l->place->tid)
		return -ENODATA;
	return before == l->slot->context.checksum && before == after ? 0 : -EAGAIN;
}

static int weft_session_copy_labels(struct look *l)
{
	uint64_t set = l->slot->ext.label_set, seq_at, checksum;
	int rc;

	seq_at = slot_address(l->session, l->place->slot) + offsetof(struct weft_slot, ext.seq);
	if (l->is_own && set && weft_session_seq_of(l->session, set) != seq_at)
		return -EAGAIN;
	rc = custom_labels_copy(l->session->target, set, l->labels);
	if (rc)
		return rc;
	/* Ids that a mere v1 write changed meanwhile are not those of these labels. */
	rc = target_read_u64(l->session->target,
			     slot_address(l->session, l->place->slot) +
				     offsetof(struct weft_slot, context.checksum),
			     &checksum);
	if (rc)
		return rc;
	return checksum == l->slot->context.checksum ? 0 : -EAGAIN;
}

static int weft_session_look_once(void *arg, uint64_t *digest)
{
	struct look *l = arg;
	int rc = copy_slot(l);

	*digest = 0;
	if (rc)
		return rc;
	l->found = weft_context_snapshot(l->slot, &l->snapshot);
	if (l->found == WEFT_CONTEXT_BUSY || l->found == WEFT_CONTEXT_BAD)
		return -EAGAIN;
	rc = weft_session_copy_labels(l);
	*digest =
		rc ? 0
		   : hash_bytes(&l->snapshot, sizeof(l->snapshot), custom_labels_digest(l->labels));
	return rc;
}

static void weft_session_tell(struct look *l, struct live_context *out)
{
	const struct weft_context_snapshot *seen = &l->snapshot;

	custom_labels_put(l->labels, 1, out);
	put_tags(l->session, seen->tags, out);
	out->span_id = seen->span_id;
	out->root_span_id = seen->root_span_id;
	out->flags |= seen->span_id ? LIVE_SPAN : 0;
	out->flags |= seen->root_span_id ? LIVE_ROOT : 0;
	if (l->found == WEFT_CONTEXT_TRACE) {
		memcpy(out->trace_id, seen->trace_id, sizeof(out->trace_id));
		out->trace_flags = (uint8_t)seen->trace_flags;
		out->flags |= LIVE_TRACE;
	}
}

/* Labels in the slot, or in its coroutine's block, are covered by its ext.seq; others are not. */
static uint64_t seq_of_look(struct look *l)
{
	uint64_t at = slot_address(l->session, l->place->slot), set = 0;
	uint64_t seq_at = at + offsetof(struct weft_slot, ext.seq);

	l->is_own = target_read_u64(l->session->target,
				    at + offsetof(struct weft_slot, ext.label_set), &set) == 0 &&
		    (!set || weft_session_seq_of(l->session, set) == seq_at);
	return l->is_own ? seq_at : 0;
}

static int weft_session_read_place(struct look *l, struct settle *settle_, int32_t tid,
				   struct live_context *out)
{
	int rc = settle(settle_, tid, seq_of_look(l), weft_session_look_once, l);

	live_begin(out, LIVE_WEFT);
	if (rc == -EAGAIN)
		out->flags |= LIVE_TORN;
	else if (rc == 0)
		weft_session_tell(l, out);
	if (rc && rc != -EAGAIN)
		return rc;
	return live_is_empty(out) ? -ENODATA : 0;
}

int weft_session_read(struct weft_session *s, struct settle *settle_, int32_t tid,
		      int32_t inside_tid, struct custom_labels_copy *room, struct live_context *out)
{
	struct look l = {.session = s, .place = find_place(s, inside_tid), .labels = room};
	int rc;

	if (!l.place)
		return -ENODATA;
	l.slot = calloc(1, sizeof(*l.slot));
	if (!l.slot)
		return -ENOMEM;
	rc = weft_session_read_place(&l, settle_, tid, out);
	free(l.slot);
	return rc;
}
