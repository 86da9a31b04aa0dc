/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of goroutines: see go_labels.h. */
#include "reader/context/go_labels.h"

#include <errno.h>
#include <string.h>

#define GO_BUCKETS_MAX 256 /* of a map, those behind others, too */
#define GO_CELLS 8         /* of a bucket */
#define GO_CELL_FULL 5     /* the least mark of a cell that holds something here */
#define GO_SAME_SIZE 8     /* flag of a map: it grows into as many buckets */

struct go_string {
	uint64_t address, bytes;
};

struct go_map {
	uint64_t count;
	uint8_t flags, log2_buckets;
	uint16_t overflow;
	uint32_t seed;
	uint64_t buckets, old_buckets;
};

struct go_bucket {
	uint8_t mark[GO_CELLS];
	struct go_string key[GO_CELLS], value[GO_CELLS];
	uint64_t next;
};

_Static_assert(sizeof(struct go_map) == 32, "runtime.hmap, its beginning");
_Static_assert(sizeof(struct go_bucket) == 272, "a bucket of map[string]string");

/* ---- labels as a list: a slice of pairs of strings */

static struct weft_custom_labels_string go_text(const struct go_string *s)
{
	return (struct weft_custom_labels_string){s->bytes, (void *)(uintptr_t)s->address};
}

static void go_put_label(struct custom_labels_copy *c, const struct go_string *key,
			 const struct go_string *value)
{
	if (c->count == CUSTOM_LABELS_READ)
		c->is_cut = 1;
	else
		c->label[c->count++] =
			(struct weft_custom_labels_label){go_text(key), go_text(value)};
}

static int go_take_list(const struct target *t, uint64_t address, struct custom_labels_copy *c)
{
	struct go_string list, pair[CUSTOM_LABELS_READ][2];
	uint64_t count;
	int rc = target_read(t, address, &list, sizeof(list));

	if (rc || !list.bytes)
		return rc;
	count = list.bytes < CUSTOM_LABELS_READ ? list.bytes : CUSTOM_LABELS_READ;
	rc = target_read(t, list.address, pair, count * sizeof(pair[0]));
	for (uint64_t i = 0; i < count && rc == 0; i++)
		go_put_label(c, &pair[i][0], &pair[i][1]);
	c->is_cut |= count < list.bytes;
	return rc;
}

/* ---- as a map: buckets of cells, those of before it grew, too, as far as they are not moved */

static int go_take_bucket(const struct target *t, uint64_t *at, struct custom_labels_copy *c)
{
	struct go_bucket b;
	int rc = target_read(t, *at, &b, sizeof(b));

	for (int i = 0; i < GO_CELLS && rc == 0; i++)
		if (b.mark[i] >= GO_CELL_FULL)
			go_put_label(c, &b.key[i], &b.value[i]);
	*at = rc ? 0 : b.next;
	return rc;
}

static int go_take_buckets(const struct target *t, uint64_t first, uint64_t count, int *budget,
			   struct custom_labels_copy *c)
{
	int rc = 0;

	for (uint64_t i = 0; i < count && rc == 0 && !c->is_cut; i++) {
		uint64_t at = first + i * sizeof(struct go_bucket);

		while (at && rc == 0 && !c->is_cut) {
			c->is_cut = --*budget < 0;
			rc = go_take_bucket(t, &at, c);
		}
	}
	return rc;
}

static int go_take_map(const struct target *t, uint64_t address, struct custom_labels_copy *c)
{
	int budget = GO_BUCKETS_MAX, is_same, rc;
	struct go_map map;
	uint64_t at = 0;

	rc = target_read_u64(t, address, &at);
	if (rc || !at)
		return rc;
	rc = target_read(t, at, &map, sizeof(map));
	if (rc || !map.count || !map.buckets)
		return rc;
	if (map.log2_buckets > 8) {
		c->is_cut = 1;
		return 0;
	}
	is_same = (map.flags & GO_SAME_SIZE) != 0;
	rc = go_take_buckets(t, map.buckets, UINT64_C(1) << map.log2_buckets, &budget, c);
	if (rc == 0 && map.old_buckets)
		rc = go_take_buckets(t, map.old_buckets,
				     (UINT64_C(1) << map.log2_buckets) >> !is_same, &budget, c);
	return rc;
}

/* ---- of a goroutine */

struct go_reading {
	const struct go_layout *layout;
	const struct go_thread *thread;
	struct custom_labels_copy *set;
};

/* What @g, which the thread runs, has; the set's address stays 0 when it has none. */
static int go_copy_labels(const struct target *t, const struct go_reading *r, uint64_t g)
{
	uint64_t at[] = {r->thread->m + r->layout->m_procid, g + GO_G_M, g + r->layout->g_labels};
	uint64_t word[3];
	int rc = 0;

	custom_labels_empty(r->set, 0);
	if (g)
		rc = go_read_words(t, at, word, 3);
	if (!g || rc)
		return rc;
	if (word[0] != r->thread->tid)
		return -ESTALE;
	if (word[1] != r->thread->m || !word[2])
		return 0; /* it runs there no more; or has none */
	r->set->address = word[2];
	rc = r->layout->has_map_only ? go_take_map(t, word[2], r->set)
				     : go_take_list(t, word[2], r->set);
	if (rc == 0)
		rc = custom_labels_copy_texts(t, r->set);
	if (rc)
		r->set->count = 0;
	return rc;
}

static int go_text_comes_first(const struct live_context *c, const struct live_attribute *a,
			       const struct live_attribute *b)
{
	size_t bytes = a->key_bytes < b->key_bytes ? a->key_bytes : b->key_bytes;
	int order = bytes ? memcmp(live_text(c, a->key_at), live_text(c, b->key_at), bytes) : 0;

	return order ? order < 0 : a->key_bytes < b->key_bytes;
}

/* As a list has them: a map has the same labels in another order each time. */
static void go_sort_labels(struct live_context *c)
{
	for (size_t i = 1; i < c->count; i++) {
		struct live_attribute one = c->attribute[i];
		size_t at = i;

		for (; at && go_text_comes_first(c, &one, &c->attribute[at - 1]); at--)
			c->attribute[at] = c->attribute[at - 1];
		c->attribute[at] = one;
	}
}

static int go_tell(const struct go_reading *r, struct live_context *out)
{
	if (!r->set->address)
		return -ENODATA;
	custom_labels_put(r->set, 0, out);
	if (r->layout->has_map_only)
		go_sort_labels(out);
	live_parse_id(out, GO_SPAN_KEY, 10, &out->span_id, LIVE_SPAN);
	live_parse_id(out, GO_ROOT_KEY, 10, &out->root_span_id, LIVE_ROOT);
	return live_is_empty(out) ? -ENODATA : 0;
}

int go_labels_take(const struct target *t, const struct go_layout *layout,
		   const struct go_thread *thread, struct custom_labels_copy *room,
		   struct live_context *out)
{
	const struct go_reading r = {layout, thread, room};
	uint64_t g = 0;
	int rc = target_read_u64(t, thread->m + layout->m_curg, &g);

	rc = rc ? rc : go_copy_labels(t, &r, g);
	if (rc)
		return rc;
	live_begin(out, LIVE_GO);
	return go_tell(&r, out);
}

static int go_copy_settled(const struct target *t, uint64_t g, void *room, uint64_t *digest)
{
	const struct go_reading *r = room;
	int rc = go_copy_labels(t, r, g);

	*digest = rc ? 0 : custom_labels_digest(r->set);
	return rc;
}

int go_labels_read(struct settle *s, int32_t tid, const struct go_layout *layout,
		   const struct go_thread *thread, struct custom_labels_copy *room,
		   struct live_context *out)
{
	struct go_reading r = {layout, thread, room};
	struct settle_pointer p = {
		.variable = thread->m + layout->m_curg, .copy = go_copy_settled, .room = &r};
	int rc = settle_pointer(s, tid, &p);

	if (rc == -ENODATA)
		return rc;
	live_begin(out, LIVE_GO);
	if (rc == -EAGAIN)
		out->flags |= LIVE_TORN;
	if (rc)
		return rc == -EAGAIN ? 0 : rc;
	return go_tell(&r, out);
}
