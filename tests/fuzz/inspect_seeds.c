/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect_seeds DIRECTORY: inputs for fuzz_inspect (liar.h): a small session with one thread, its
 * context and labels, an OTEL_CTX mapping, a program and a library.
 */
#include "base/session_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_process_context.h>
#include <weft/abi/otel_thread_context.h>

/* liar.h: a mapping's memory begins at its inode times 64. */
#define PROGRAM_INODE 900
#define OTEL_INODE 910
#define MEMORY_BYTES 0xF000
#define SESSION UINT64_C(0x7f0000100000)
#define OTEL UINT64_C(0x7f0000200000)
/* The slots come behind the area of events; memory is there again and again: theirs at SLOT_AT. */
#define SLOT_AT 0x6000
#define SLOT (SLOT_AT + UINT64_C(3) * MEMORY_BYTES)

static const char maps[] =
	"000000400000-000000404000 rw-p 00000000 08:02 900   /bin/program\n"
	"7f0000000000-7f0000004000 rw-p 00000000 08:02 901   /lib/libcustomlabels-x.so\n"
	"7f0000010000-7f0000011000 r-xp 00000000 08:02 902   /lib/x86_64-linux-gnu/libc.so.6\n"
	"7f0000100000-7f0000900000 rw-s 00000000 00:01 0   /memfd:weft-session (deleted)\n"
	"7f0000200000-7f0000201000 rw-p 00000000 00:01 910   /memfd:OTEL_CTX (deleted)\n";

static const uint8_t payload[] =
	"\x12\x35\x0a\x1dthreadlocal.attribute_key_map\x12\x14*\x12\x0a\x08\x0a\x06tenant"
	"\x0a\x06\x0a\x04path";

static union {
	uint8_t bytes[MEMORY_BYTES];
	struct weft_session_header session;
} memory;

static void make_header(struct weft_session_header *h)
{
	weft_session_layout(h, 64, WEFT_RING_BYTES_MIN, WEFT_RING_BYTES_MIN);
	h->states_offset = 0x1000;
	h->free_offset = 0x2000;
	h->dict_offset = 0x3000;
	h->modules_offset = 0x4000;
	h->map_offset = 0x5000;
	h->dict_bytes = h->modules_bytes = h->map_bytes = 0x1000;
	h->event_area_offset = SLOT_AT;
	h->slots_offset = SLOT;
	h->total_bytes = SLOT + 64 * h->slot_stride;
	h->magic = WEFT_SESSION_MAGIC;
	h->version = WEFT_SESSION_VERSION;
	h->header_bytes = WEFT_SESSION_HEADER_BYTES;
	h->pid = 1;
	h->session_id = 1;
	h->slots_high = h->slots_used = h->blocks_open = 1;
	h->formats = 7;
	h->labels_max = WEFT_CUSTOM_LABELS_DEFAULT;
	h->mapped_at = SESSION;
}

static void put_label(struct weft_slot *slot, unsigned int n, const char *key, const char *value)
{
	struct weft_custom_labels_label *l =
		(void *)(slot->labels + WEFT_CUSTOM_LABELS_LABEL_AT(n));
	uint64_t block = SESSION + SLOT + offsetof(struct weft_slot, labels);
	uint64_t key_at = WEFT_CUSTOM_LABELS_KEY_AT(n, 10);
	uint64_t value_at = WEFT_CUSTOM_LABELS_VALUE_AT(n, 10);

	memcpy(slot->labels + key_at, key, strlen(key));
	memcpy(slot->labels + value_at, value, strlen(value));
	l->key.bytes = strlen(key);
	l->value.bytes = strlen(value);
	key_at += block;
	value_at += block;
	memcpy(&l->key.buf, &key_at, sizeof(key_at));
	memcpy(&l->value.buf, &value_at, sizeof(value_at));
}

static void make_slot(struct weft_slot *slot)
{
	struct weft_custom_labels_set *set = (void *)slot->labels;
	struct weft_otel_record *record = (void *)slot->otel_record;
	uint64_t storage = SESSION + SLOT + offsetof(struct weft_slot, labels) + sizeof(*set);

	slot->thread.tid = 1;
	slot->thread.generation = 1;
	slot->context.span_id = 7;
	slot->context.root_span_id = 8;
	slot->context.checksum = slot->ext.v1_checksum = weft_context_v1_checksum(7, 8);
	slot->ext.seq = 2;
	slot->ext.label_set = SESSION + SLOT + offsetof(struct weft_slot, labels);
	memcpy(&set->storage, &storage, sizeof(storage));
	set->count = 3;
	set->capacity = 10;
	put_label(slot, 0, "span-id", "7");
	put_label(slot, 1, "root-span-id", "8");
	put_label(slot, 2, "tenant", "acme");
	record->trace_id[0] = record->span_id[7] = record->valid = 1;
	record->attributes_bytes = 6;
	memcpy(record->attributes, "\0\4acme", 6);
}

static void make_process_context(uint8_t *at)
{
	struct weft_otel_process_header h = {.signature = {'O', 'T', 'E', 'L', '_', 'C', 'T', 'X'},
					     .version = WEFT_OTEL_PROCESS_VERSION,
					     .payload_bytes = sizeof(payload) - 1,
					     .published_ns = 1,
					     .payload = OTEL + sizeof(h)};

	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h), payload, sizeof(payload) - 1);
}

/* Behind what an ELF file begins with: words that lead to the set, the record, or nowhere. */
static void make_program(uint8_t *at, uint64_t word)
{
	memcpy(at, "\177ELF\2\1\1", 7);
	for (unsigned int i = 8; i < 72; i++)
		memcpy(at + 8 * (size_t)i, &word, sizeof(word));
}

static int write_seed(const char *directory, unsigned int choice, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s%u", directory, name, choice);
	f = fopen(path, "wb");
	if (!f)
		return 1;
	fputc((int)choice, f);
	fputc((int)(sizeof(maps) - 1) & 255, f);
	fputc((int)(sizeof(maps) - 1) >> 8, f);
	fwrite(maps, 1, sizeof(maps) - 1, f);
	fwrite(memory.bytes, 1, sizeof(memory.bytes), f);
	return fclose(f) != 0;
}

int main(int argc, char **argv)
{
	uint64_t slot = SESSION + SLOT;
	const uint64_t words[] = {slot + offsetof(struct weft_slot, ext.label_set),
				  slot + offsetof(struct weft_slot, otel_record), (uint64_t)-64, 1};
	int failed = 0;

	if (argc != 2)
		return 2;
	make_header(&memory.session);
	if (weft_session_validate(&memory.session, memory.session.total_bytes))
		return 1;
	*weft_session_states(memory.bytes, &memory.session) = WEFT_STATE_WORD(1, WEFT_SLOT_LIVE);
	make_slot((struct weft_slot *)(void *)(memory.bytes + SLOT_AT));
	make_process_context(memory.bytes + OTEL_INODE * 64);
	for (unsigned int choice = 0; choice < 8; choice++) {
		make_program(memory.bytes + PROGRAM_INODE * 64, words[choice % 4]);
		failed |= write_seed(argv[1], choice, "process");
	}
	return failed;
}
