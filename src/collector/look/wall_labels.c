/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of a thread, read from outside. Nothing that is found is believed: every length is cut to
 * what a record may hold, and
 *
 *   weft's own set  lies in the thread's slot, at an address of the target's that
 *                   header.mapped_at translates: each address must lie in the control part of
 *                   that very slot. The owner changes the set that is not seen, and flips; it
 *                   writes into one that was seen only under another seq. So what was read under
 *                   one seq, also an odd one, is whole.
 *   a coroutine's   in its block, in the process's own memory, like a prepared context's
 *                   (weft/prepared.h); the same seq says whether it was whole
 *   a program's own (libcustomlabels-weft.so) is where the thread's pointer leads, in the
 *                   process's own memory: read twice until equal.
 */
#include "collector/look/wall_private.h"

#include "base/context_snapshot.h"

#include <string.h>
#include <sys/uio.h>

struct label_view {
	const uint8_t *slot; /* as we have it mapped; NULL: read the process */
	uint64_t address;    /* of the slot, as the target has it */
	int32_t tid;
};

/* 0; -1: it is not there. */
static int fetch(const struct label_view *view, uint64_t address, void *out, size_t bytes)
{
	struct iovec to = {out, bytes}, from = {(void *)(uintptr_t)address, bytes};
	uint64_t offset = address - view->address;

	if (!bytes)
		return 0;
	if (!view->slot)
		return process_vm_readv(view->tid, &to, 1, &from, 1, 0) == (ssize_t)bytes ? 0 : -1;
	if (offset > WEFT_SLOT_CONTROL_BYTES || bytes > WEFT_SLOT_CONTROL_BYTES - offset)
		return -1;
	memcpy(out, view->slot + offset, bytes);
	return 0;
}

static int wall_labels_is_named(const uint8_t *key, uint64_t bytes, const char *name)
{
	return bytes == strlen(name) && memcmp(key, name, bytes) == 0;
}

static uint16_t wall_labels_cut(uint64_t bytes, uint16_t most)
{
	return bytes < most ? (uint16_t)bytes : most;
}

/* One label behind @used bytes; how many there are then, or -1. */
static int wall_labels_put_label(const struct label_view *view,
				 const struct weft_custom_labels_label *label, uint8_t *to,
				 int used)
{
	struct weft_sample_label head = {
		wall_labels_cut(label->key.bytes, WEFT_CUSTOM_LABELS_KEY_BYTES),
		label->value.buf
			? wall_labels_cut(label->value.bytes, WEFT_CUSTOM_LABELS_VALUE_BYTES)
			: 0,
	};
	uint8_t *key = to + used + sizeof(head);

	if (!label->key.buf || !head.key_bytes)
		return used;
	if (fetch(view, (uint64_t)(uintptr_t)label->key.buf, key, head.key_bytes) ||
	    fetch(view, (uint64_t)(uintptr_t)label->value.buf, key + head.key_bytes,
		  head.value_bytes))
		return -1;
	if (wall_labels_is_named(key, head.key_bytes, WEFT_CUSTOM_LABELS_SPAN_KEY) ||
	    wall_labels_is_named(key, head.key_bytes, WEFT_CUSTOM_LABELS_ROOT_KEY))
		return used;
	memcpy(to + used, &head, sizeof(head));
	return used + (int)sizeof(head) + head.key_bytes + head.value_bytes;
}

static int read_set(const struct label_view *view, uint64_t address, uint8_t *to)
{
	struct weft_custom_labels_label label[WEFT_SAMPLE_LABELS_MAX] = {0};
	struct weft_custom_labels_set set;
	int used = 0;

	if (fetch(view, address, &set, sizeof(set)))
		return -1;
	if (set.count > WEFT_SAMPLE_LABELS_MAX)
		set.count = WEFT_SAMPLE_LABELS_MAX;
	if (fetch(view, (uint64_t)(uintptr_t)set.storage, label, set.count * sizeof(*label)))
		return -1;
	for (uint64_t i = 0; i < set.count && used >= 0; i++)
		used = wall_labels_put_label(view, &label[i], to, used);
	return used;
}

/* One try: bytes of labels, -1: not read, or not whole. Elsewhere in the session there is none. */
static int read_own(const struct process *p, const struct label_view *view, uint64_t mapped_at,
		    uint8_t *to)
{
	const struct weft_slot *slot = (const void *)view->slot;
	uint64_t seq = load_acquire(&slot->ext.seq);
	uint64_t set = WEFT_LOAD(slot->ext.label_set);
	struct label_view process = {.tid = view->tid};
	int bytes = 0;

	if (set - view->address < WEFT_SLOT_CONTROL_BYTES)
		bytes = read_set(view, set, to);
	else if (set)
		bytes = set - mapped_at < p->layout.total_bytes ? -1 : read_set(&process, set, to);

	WEFT_FENCE_ACQUIRE();
	return WEFT_LOAD(slot->ext.seq) == seq ? bytes : -1;
}

/* A set of the program's own that the thread's pointer leads to; 0: none. */
static uint64_t own_set_of_program(const struct process *p, const struct label_view *view,
				   uint64_t mapped_at)
{
	const struct weft_slot *slot = (const void *)view->slot;
	struct label_view process = {.tid = view->tid};
	uint64_t at = WEFT_LOAD(slot->label_state.current_at), set = 0;

	if (!at || fetch(&process, at, &set, sizeof(set)) ||
	    set - mapped_at < p->layout.total_bytes || set == WEFT_LOAD(slot->ext.label_set))
		return 0;
	return set;
}

static int read_foreign(const struct label_view *view, uint64_t set, uint8_t *to)
{
	struct label_view process = {.tid = view->tid};
	uint8_t again[LABEL_BYTES_MAX];
	int bytes = read_set(&process, set, to);

	if (bytes < 0 || read_set(&process, set, again) != bytes ||
	    memcmp(to, again, (size_t)bytes) != 0)
		return -1;
	return bytes;
}

int wall_labels_of_slot(const struct process *p, uint32_t slot, int32_t tid, uint8_t *to)
{
	uint64_t mapped_at = load_relaxed(&p->base->mapped_at), set;
	struct label_view view = {
		.slot = (const void *)process_slot(p, slot),
		.address = mapped_at + p->layout.slots_offset + slot * p->layout.slot_stride,
		.tid = tid,
	};
	int bytes = -1;

	for (int i = 0; i < WEFT_SNAPSHOT_TRIES && bytes < 0; i++) {
		set = own_set_of_program(p, &view, mapped_at);
		bytes = set ? read_foreign(&view, set, to) : read_own(p, &view, mapped_at, to);
	}
	return bytes;
}

void wall_put_labels(struct weft_sample_record *sample, const uint8_t *labels, int bytes)
{
	uint8_t *to = (uint8_t *)sample + sample->record.bytes;

	if (bytes < 0)
		sample->flags |= WEFT_SAMPLE_NO_LABELS;
	if (bytes <= 0)
		return;
	memcpy(to, labels, (size_t)bytes);
	sample->labels_at = sample->record.bytes;
	sample->label_bytes = (uint16_t)bytes;
	for (; bytes % 8; bytes++)
		to[bytes] = 0;
	sample->record.bytes += (uint32_t)bytes;
}
