/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a recording; everything that the reader gives is read. */
#include "jfr/reader.h"

#include <weft/jfr.h>

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Trees share pool entries: a small file may hold one that nobody walks to its end. */
#define MOST_STEPS 20000

static volatile uint64_t touched;
static int steps;

static void touch(const struct weft_jfr_node *n)
{
	if (++steps > MOST_STEPS)
		return;
	switch (n->shape) {
	case WEFT_JFR_V_STRING:
		for (size_t i = 0; i < n->string.bytes; i++)
			touched += (unsigned char)n->string.data[i];
		return;
	case WEFT_JFR_V_STRUCT:
	case WEFT_JFR_V_ARRAY:
		for (size_t i = 0; i < n->many.count; i++)
			touch(&n->many.item[i]);
		return;
	default:
		touched += (uint64_t)n->number;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct weft_jfr_reader *r = reader_of_memory(data, size);
	struct weft_jfr_event_view e;
	int rc;

	if (!r)
		return 0;
	while ((rc = weft_jfr_next(r, &e)) == 1) {
		steps = 0;
		for (size_t i = 0; i < e.field_count; i++)
			touch(&e.fields[i]);
	}
	if (rc != 0 && !weft_jfr_error(r)[0])
		abort();
	weft_jfr_reader_free(r);
	return 0;
}
