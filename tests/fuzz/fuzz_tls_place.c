/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a process that lies (liar.h) about where its thread-local variables are. The
 * files are real ones, of each TLS model; the memory that their slots, descriptors and thread
 * vectors are looked for in is the input. Any answer will do, in so many reads.
 */
#include "reader/tls/tls.h"

#include "liar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"custom_labels_current_set", "otel_thread_ctx_v1",
				    "weft_thread_slot"};

static void look_for(struct target *t, const char *name)
{
	struct tls_place places[4];
	uint64_t address, value;
	int count = tls_place_find(t, name, places, 4);

	if (count > 4)
		abort();
	for (int i = 0; i < count; i++) {
		if (!memchr(places[i].path, 0, sizeof(places[i].path)))
			abort();
		for (size_t m = 0; m < t->mapping_count && m < 4; m++)
			if (!tls_address(t, &places[i], t->mappings[m].start + 64, &address))
				target_read_u64(t, address, &value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct liar liar;
	struct target *t = liar_new(&liar, data, size);

	if (!t)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		look_for(t, names[i]);
	target_close(t);
	return 0;
}
