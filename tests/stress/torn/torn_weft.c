/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats as weft publishes them: `weft` for the plain inline write, `weft-all` for ids, trace
 * and a label as one.
 */
#include "torn_writer.h"

#include <weft/context.h>
#include <weft/labels.h>

static void put_big_endian(uint8_t *at, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
}

static void fill_context(struct weft_context *c, const struct torn *t)
{
	*c = (struct weft_context){.span_id = t->span, .root_span_id = t->root};
	put_big_endian(c->trace_id, t->trace[0]);
	put_big_endian(c->trace_id + 8, t->trace[1]);
}

static void write_plain(const struct torn *contexts)
{
	struct weft_context c[TORN_CONTEXTS];

	for (unsigned int i = 0; i < TORN_CONTEXTS; i++)
		fill_context(&c[i], &contexts[i]);
	for (uint64_t i = 0, left = 0;; i++) {
		torn_rest(&left);
		const struct weft_context *now = &c[i % TORN_CONTEXTS];

		weft_context_set_trace(now->span_id, now->root_span_id, now->trace_id, 1);
	}
}

static void write_all(const struct torn *contexts)
{
	struct weft_context c[TORN_CONTEXTS];

	for (unsigned int i = 0; i < TORN_CONTEXTS; i++)
		fill_context(&c[i], &contexts[i]);
	for (uint64_t i = 0, left = 0;; i++) {
		torn_rest(&left);
		const struct torn *now = &contexts[i % TORN_CONTEXTS];
		struct weft_label label = {.key = TORN_LABEL,
					   .key_bytes = sizeof(TORN_LABEL) - 1,
					   .value = now->text,
					   .value_bytes = now->text_bytes};

		weft_context_update(&c[i % TORN_CONTEXTS], &label, 1, 0);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "weft"))
		return torn_write(write_plain, (unsigned int)atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "weft-all"))
		return torn_write(write_all, (unsigned int)atoi(argv[2]));
	return 2;
}
