/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a recording; everything that the reader gives is read. */
#include "jfr/read/declared.h"
#include "jfr/read/reader.h"
#include "jfr/read/summary.h"

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

static void touch_text(const char *text)
{
	for (; text && *text; text++)
		touched += (unsigned char)*text;
}

static void touch_annotations(const struct weft_jfr_class *c, size_t field)
{
	const struct weft_jfr_annotation_view *a;
	size_t count = weft_jfr_class_annotations(c, field, &a);

	for (size_t i = 0; i < count; i++) {
		touch_text(a[i].name);
		for (size_t k = 0; k < a[i].count; k++) {
			touch_text(a[i].member[k]);
			touch_text(a[i].value[k]);
		}
	}
}

static void touch_class(const struct weft_jfr_class *c)
{
	const struct weft_jfr_setting_view *s;
	size_t count = weft_jfr_class_settings(c, &s);
	struct weft_jfr_field_view f;

	touch_text(weft_jfr_class_name(c));
	touch_text(weft_jfr_class_super(c));
	touch_annotations(c, SIZE_MAX);
	for (size_t i = 0; weft_jfr_class_field_view(c, i, &f) == 0; i++) {
		touch_text(f.name);
		touch_annotations(c, i);
		touched += f.type && weft_jfr_class_is_simple(f.type);
	}
	for (size_t i = 0; i < count; i++) {
		touch_text(s[i].name);
		touch_text(s[i].default_value);
	}
}

/* The verbs that walk from chunk to chunk find as much as who reads event by event. */
static void look(const uint8_t *data, size_t size, uint64_t events)
{
	struct weft_jfr_reader *r = reader_of_memory(data, size);
	struct jfr_declared declared;
	struct jfr_summary summary;
	uint64_t counted = 0;

	if (!r)
		return;
	jfr_summarize(r, &summary);
	for (size_t i = 0; i < summary.count; i++)
		counted += summary.rows[i].count;
	if (counted + summary.undeclared.count < events)
		abort();
	jfr_summary_free(&summary);
	weft_jfr_reader_free(r);
	r = reader_of_memory(data, size);
	if (!r)
		return;
	jfr_declared(r, &declared);
	for (size_t i = 0; i < declared.count; i++)
		touch_class(declared.classes[i]);
	jfr_declared_free(&declared);
	weft_jfr_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct weft_jfr_reader *r = reader_of_memory(data, size);
	struct weft_jfr_event_view e;
	uint64_t events = 0;
	int rc;

	if (!r)
		return 0;
	while ((rc = weft_jfr_next(r, &e)) == 1) {
		events++;
		steps = 0;
		for (size_t i = 0; i < e.field_count; i++)
			touch(&e.fields[i]);
	}
	if (rc != 0 && !weft_jfr_error(r)[0])
		abort();
	weft_jfr_reader_free(r);
	look(data, size, events);
	return 0;
}
