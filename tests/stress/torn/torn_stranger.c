/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats as others than weft publish them: in records that are written again and again, by the
 * orders that the formats' own documents give, for readers that stop the thread.
 *	otel-place   one record: valid = 0, change, valid = 1
 *	otel-swap    two records, the pointer NULL while the one that was seen is written
 *	labels       two sets: the hidden one is filled, the pointer flips
 */
#include "torn_writer.h"

#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_thread_context.h>

#define EXPORTED __attribute__((visibility("default"), used))
#define ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

EXPORTED __thread struct weft_otel_record *volatile otel_thread_ctx_v1;
EXPORTED const uint32_t custom_labels_abi_version = 1;
EXPORTED __thread struct weft_custom_labels_set *volatile custom_labels_current_set;

static void put_big_endian(uint8_t *at, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
}

/* Index 0: the text, 1: the root. */
static void fill_record(struct weft_otel_record *r, const struct torn *t)
{
	unsigned int at = 0;

	put_big_endian(r->trace_id, t->trace[0]);
	put_big_endian(r->trace_id + 8, t->trace[1]);
	put_big_endian(r->span_id, t->span);
	r->attributes[at++] = 0;
	r->attributes[at++] = (uint8_t)t->text_bytes;
	memcpy(r->attributes + at, t->text, t->text_bytes);
	at += t->text_bytes;
	r->attributes[at++] = 1;
	r->attributes[at++] = 16;
	for (int i = 60; i >= 0; i -= 4)
		r->attributes[at++] = (uint8_t) "0123456789abcdef"[t->root >> i & 15];
	r->attributes_bytes = (uint16_t)at;
}

static void set_valid(struct weft_otel_record *r, uint8_t valid)
{
	ORDER();
	*(volatile uint8_t *)&r->valid = valid;
	ORDER();
}

static void otel_place(const struct torn *contexts)
{
	static __thread struct weft_otel_record record;

	otel_thread_ctx_v1 = &record;
	for (uint64_t i = 0, left = 0;; i++) {
		torn_rest(&left);
		set_valid(&record, 0);
		fill_record(&record, &contexts[i % TORN_CONTEXTS]);
		set_valid(&record, 1);
		for (volatile unsigned int work = 0; work < 200; work++)
			;
	}
}

static void otel_swap(const struct torn *contexts)
{
	static __thread struct weft_otel_record records[2];

	for (uint64_t i = 0, left = 0;; i++) {
		torn_rest(&left);
		struct weft_otel_record *r = &records[i & 1];

		fill_record(r, &contexts[i % TORN_CONTEXTS]);
		set_valid(r, 1);
		otel_thread_ctx_v1 = r;
		ORDER();
	}
}

struct labels {
	struct weft_custom_labels_set set;
	struct weft_custom_labels_label label[4];
	char span[24], root[24], text[TORN_TEXT];
};

static struct weft_custom_labels_string string(const char *text, size_t bytes)
{
	return (struct weft_custom_labels_string){bytes, (const unsigned char *)text};
}

/* In decimal, without the time that printf takes: most of it would go there. */
static size_t put_decimal(char *out, uint64_t value)
{
	char digits[24];
	size_t count = 0;

	for (; value; value /= 10)
		digits[count++] = (char)('0' + value % 10);
	for (size_t i = 0; i < count; i++)
		out[i] = digits[count - 1 - i];
	return count;
}

static void fill_labels(struct labels *l, const struct torn *t)
{
	memcpy(l->text, t->text, t->text_bytes);
	l->label[0].key = string("span-id", 7);
	l->label[0].value = string(l->span, put_decimal(l->span, t->span));
	l->label[1].key = string("root-span-id", 12);
	l->label[1].value = string(l->root, put_decimal(l->root, t->root));
	l->label[2].key = string(NULL, 4);
	l->label[3].key = string(TORN_LABEL, sizeof(TORN_LABEL) - 1);
	l->label[3].value = string(l->text, t->text_bytes);
	l->set = (struct weft_custom_labels_set){l->label, 4, 4};
}

static void flip_labels(const struct torn *contexts)
{
	static __thread struct labels sets[2];

	for (uint64_t i = 0, left = 0;; i++) {
		torn_rest(&left);
		fill_labels(&sets[i & 1], &contexts[i % TORN_CONTEXTS]);
		ORDER();
		custom_labels_current_set = &sets[i & 1].set;
		ORDER();
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		torn_switch run;
	} formats[] = {
		{"otel-place", otel_place}, {"otel-swap", otel_swap}, {"labels", flip_labels}};

	for (size_t i = 0; argc == 3 && i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(argv[1], formats[i].name))
			return torn_write(formats[i].run, (unsigned int)atoi(argv[2]));
	return 2;
}
