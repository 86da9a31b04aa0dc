/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts that tell whether they are whole: all that is in one follows from its span. Each
 * thread has so few of them that the same mixture of two could well come twice.
 */
#ifndef TORN_H
#define TORN_H

#include <stdint.h>
#include <stdio.h>

#define TORN_CONTEXTS 3 /* of a thread */
#define TORN_TEXT 128
#define TORN_LABEL "text"

struct torn {
	uint64_t span, root, trace[2];
	unsigned int text_bytes;
	char text[TORN_TEXT];
};

static inline uint64_t torn_mix(uint64_t x)
{
	x += UINT64_C(0x9E3779B97F4A7C15);
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return (x ^ x >> 31) | 1;
}

/* Everything of the context whose span this is. */
static inline struct torn torn_of(uint64_t span)
{
	struct torn t = {.span = span, .root = torn_mix(span)};

	t.trace[0] = torn_mix(t.root);
	t.trace[1] = torn_mix(t.trace[0]);
	for (unsigned int i = 0; i <= span % 7; i++)
		t.text_bytes +=
			(unsigned int)snprintf(t.text + t.text_bytes, TORN_TEXT - t.text_bytes,
					       "%016llx", (unsigned long long)torn_mix(t.trace[1]));
	return t;
}

static inline struct torn torn_of_thread(unsigned int thread, unsigned int number)
{
	return torn_of(torn_mix((uint64_t)thread * TORN_CONTEXTS + number));
}

#endif
