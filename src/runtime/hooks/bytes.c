/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libweft.so's own memcpy, memmove and memset: the linker leads all its calls of libc's here
 * (--wrap), those among them that compilers make of assignments.
 *
 * ThreadSanitizer stands before libc's. It sees nothing else of what this library does, as that is
 * not instrumented: no release, no acquire. So it took a slot that one thread fills after another,
 * or a log that is written under a lock of ours, for a race of the program.
 *
 * Any thread, in handlers, too. Loops are hidden from compilers, which would make calls of them.
 */
#include <stddef.h>
#include <stdint.h>

#define WORD sizeof(uint64_t)
#define MANY 256 /* bytes from which on one instruction is faster than a loop */
#define NO_CALL() __asm__ volatile("" : : : "memory")

void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);
void *__wrap_memset(void *to, int byte, size_t bytes);

struct any64 {
	uint64_t value;
} __attribute__((packed, may_alias));
struct any32 {
	uint32_t value;
} __attribute__((packed, may_alias));

static inline uint64_t load64(const uint8_t *at)
{
	return ((const struct any64 *)(const void *)at)->value;
}

static inline void store64(uint8_t *at, uint64_t value)
{
	((struct any64 *)(void *)at)->value = value;
}

static inline uint32_t load32(const uint8_t *at)
{
	return ((const struct any32 *)(const void *)at)->value;
}

static inline void store32(uint8_t *at, uint32_t value)
{
	((struct any32 *)(void *)at)->value = value;
}

/* All is read before anything is written: the areas may overlap. */
static inline void copy_few(uint8_t *to, const uint8_t *from, size_t bytes)
{
	if (bytes >= WORD) {
		uint64_t first = load64(from), last = load64(from + bytes - WORD);

		store64(to, first);
		store64(to + bytes - WORD, last);
	} else if (bytes >= WORD / 2) {
		uint32_t first = load32(from), last = load32(from + bytes - WORD / 2);

		store32(to, first);
		store32(to + bytes - WORD / 2, last);
	} else if (bytes) {
		uint8_t first = from[0], middle = from[bytes / 2], last = from[bytes - 1];

		to[0] = first;
		to[bytes / 2] = middle;
		to[bytes - 1] = last;
	}
}

/* More than a word. The last one is read first, for it may overlap what is written before. */
static inline void copy_up(uint8_t *to, const uint8_t *from, size_t bytes)
{
	uint64_t last = load64(from + bytes - WORD);
	size_t at = 0;

#if defined(__x86_64__)
	if (bytes >= MANY) {
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
		return;
	}
#endif
	for (; at + WORD < bytes; at += WORD) {
		store64(to + at, load64(from + at));
		NO_CALL();
	}
	store64(to + bytes - WORD, last);
}

static void copy_down(uint8_t *to, const uint8_t *from, size_t bytes)
{
	uint64_t first = load64(from);
	size_t at = bytes;

	for (; at > WORD; at -= WORD) {
		store64(to + at - WORD, load64(from + at - WORD));
		NO_CALL();
	}
	store64(to, first);
}

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
	if (bytes <= 2 * WORD)
		copy_few(to, from, bytes);
	else
		copy_up(to, from, bytes);
	return to;
}

void *__wrap_memmove(void *to, const void *from, size_t bytes)
{
	if ((uintptr_t)to - (uintptr_t)from >= bytes || bytes <= 2 * WORD)
		return __wrap_memcpy(to, from, bytes);
	copy_down(to, from, bytes);
	return to;
}

void *__wrap_memset(void *to, int byte, size_t bytes)
{
	uint64_t word = (uint8_t)byte * UINT64_C(0x0101010101010101);
	uint8_t *out = to;

	if (bytes < WORD) {
		for (size_t i = 0; i < bytes; i++) {
			out[i] = (uint8_t)byte;
			NO_CALL();
		}
		return to;
	}
#if defined(__x86_64__)
	if (bytes >= MANY) {
		__asm__ volatile("rep stosb" : "+D"(out), "+c"(bytes) : "a"(byte) : "memory");
		return to;
	}
#endif
	for (size_t at = 0; at + WORD < bytes; at += WORD) {
		store64(out + at, word);
		NO_CALL();
	}
	store64(out + bytes - WORD, word);
	return to;
}
