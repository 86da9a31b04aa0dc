/* SPDX-License-Identifier: Apache-2.0 */
/* Eight bytes at a time through the SplitMix64 finaliser. */
#include "base/hash.h"

#include <string.h>

uint64_t hash_bytes(const void *data, size_t bytes, uint64_t salt)
{
	const uint8_t *p = data;
	uint64_t h = salt ^ hash_mix(bytes + UINT64_C(0x9E3779B97F4A7C15));
	uint64_t word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = hash_mix(h ^ word);
	}
	word = 0;
	memcpy(&word, p, bytes);
	return hash_mix(h ^ word);
}
