/* SPDX-License-Identifier: Apache-2.0 */
/* Hashing of byte strings: not keyed, not for hostile keys on their own (map.c salts). */
#ifndef WEFT_BASE_HASH_H
#define WEFT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t bytes, uint64_t salt);

/* FNV-1a. */
static inline uint64_t hash_fnv(const char *data, size_t bytes)
{
	uint64_t hash = UINT64_C(0xCBF29CE484222325);

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)data[i]) * UINT64_C(0x100000001B3);
	return hash;
}

/* A bijective mixer (the finaliser of SplitMix64). */
static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 27;
	x *= UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

/* The next of the numbers at random that *state, any number, begins (SplitMix64). */
static inline uint64_t hash_next(uint64_t *state)
{
	*state += UINT64_C(0x9E3779B97F4A7C15);
	return hash_mix(*state);
}

#endif
