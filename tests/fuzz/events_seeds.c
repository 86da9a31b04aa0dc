/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds for fuzz_events: programs that tell the truth. Usage: events_seeds DIRECTORY */
#include <stdio.h>
#include <stdlib.h>

#include "events_parts.h"
#include "typed.h"

static const struct weft_event_field fields[] = {
	{.name = "flag", .kind = WEFT_EVENT_BOOLEAN},
	{.name = "number", .kind = WEFT_EVENT_LONG, .content = WEFT_EVENT_BYTES},
	{.name = "text", .kind = WEFT_EVENT_STRING},
	{.name = "pooled", .kind = WEFT_EVENT_STRING_POOLED},
	{.name = "thread", .kind = WEFT_EVENT_THREAD},
	{.name = "id", .kind = WEFT_EVENT_ID},
	{.name = "share", .kind = WEFT_EVENT_FLOAT, .content = WEFT_EVENT_PERCENTAGE},
	{.name = "real", .kind = WEFT_EVENT_DOUBLE},
};

static const struct weft_event_type types[] = {
	{.name = "shop.Order",
	 .label = "Order",
	 .category = "Shop|Orders",
	 .flags = WEFT_EVENT_STACK,
	 .fields = fields,
	 .field_count = 8,
	 .threshold = "20 ms",
	 .throttle = "10/s"},
	{.name = "shop.Request",
	 .flags = WEFT_EVENT_CONTEXTUAL,
	 .fields = fields + 2,
	 .field_count = 1,
	 .select = "if-triggered"},
	{.name = "shop.Tick", .flags = WEFT_EVENT_INSTANT, .select = "if-triggered"},
};

static void put_part(FILE *f, enum events_part part, const void *data, size_t bytes)
{
	fputc((int)part, f);
	fputc((int)(bytes & 255), f);
	fputc((int)(bytes >> 8), f);
	fwrite(data, 1, bytes, f);
}

static struct written order(int with)
{
	static const uint64_t pc[] = {0x1000, 0x2000};
	struct written w = event_of(WEFT_EVENT_ROW_FIRST, 0, 0);

	put_number(&w, 1);
	put_number(&w, -5);
	put_text(&w, with & 1 ? "some text" : NULL);
	put_number(&w, 3);
	put_number(&w, 1);
	put_number(&w, 0x1234);
	put_number(&w, 0);
	put_number(&w, 0);
	if (with & 2)
		put_context(&w, 7);
	if (with & 4)
		put_frames(&w, pc, 2);
	return w;
}

static void write_seed(const char *directory, int n)
{
	static const char lines[] = "shop.*#threshold=0 ns\nshop.*#select=if-context\n";
	struct definition d;
	struct written w;
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", directory, n);
	f = fopen(path, "we");
	if (!f)
		exit(1);
	if (n & 8)
		put_part(f, EVENTS_PART_SETTINGS, lines, strlen(lines));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		define(&d, &types[i]);
		put_part(f, EVENTS_PART_TYPE, d.data, d.bytes);
	}
	w = order(n);
	put_part(f, EVENTS_PART_EVENT, &w, w.r.record.bytes);
	put_part(f, EVENTS_PART_DRAIN, "", 0);
	w = event_of(WEFT_EVENT_ROW_FIRST + 1, 0, 0);
	put_text(&w, "/index");
	put_part(f, EVENTS_PART_EVENT, &w, w.r.record.bytes);
	w = event_of(WEFT_EVENT_ROW_FIRST + 2, 0, 0);
	put_part(f, EVENTS_PART_EVENT, &w, w.r.record.bytes);
	if (fclose(f))
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	for (int n = 0; n < 16; n++)
		write_seed(argv[1], n);
	return 0;
}
