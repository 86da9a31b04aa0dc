/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the rule of a pc, in the handler: module map snapshot, table, and in front of both
 * a process-wide cache of rules by pc.
 *
 * The cache: 4096 words, each {tag: 39 bits, place of the rule: 25 bits}, loaded and stored
 * whole, so that threads share it without any order between them. Key of a pc: pc + salt,
 * modulo 2^51, times an odd number: both steps can be undone, so two pcs under one salt never
 * have one key. The highest 12 bits of the key choose the word, the other 39 are its tag:
 * nothing of the key is lost, and a hit under the salt that wrote the word is exact.
 *
 * The salt is a hash of session and map number: what older maps left is not cleared but
 * missed. A leftover can be hit only if its 39 bits agree by chance, 2^-39, and is replaced
 * at the miss otherwise: for each new map at most 4096 such chances, 2^-27 in all. Even then
 * it names a rule that was published once: that walk is misled, nothing else.
 *
 * A place is the rule's offset in the table memfd / 32. Places 0 and 1 lie in its first page,
 * where no rule is: 0 is an empty word, 1 means "no rule here: by frame pointer".
 */
#ifndef WEFT_RUNTIME_MODULE_MAP_H
#define WEFT_RUNTIME_MODULE_MAP_H

#include <stdint.h>

#include <weft/abi/module_map.h>

#include "base/atomic.h"
#include "unwind/rules.h"

#define RULE_CACHE_BITS 12
#define RULE_KEY_BITS 51
#define RULE_TAG_BITS (RULE_KEY_BITS - RULE_CACHE_BITS)
#define RULE_PLACE_BITS (64 - RULE_TAG_BITS)
#define RULE_PLACE_NONE 1 /* by frame pointer */
#define RULE_KEY_ODD UINT64_C(0x9E3779B97F4A7C15)

_Static_assert(WEFT_TABLES_BYTES / sizeof(struct unwind_rule) == UINT64_C(1) << RULE_PLACE_BITS,
	       "a place has room for any rule's offset");

#pragma GCC visibility push(hidden) /* no detour by the global offset table */
extern uint64_t weft_rule_cache[1 << RULE_CACHE_BITS];
#pragma GCC visibility pop

/* tables.c: the unwind tables in the target. Async-signal-safe. */
struct weft_tables {
	const uint8_t *base; /* NULL: no tables */
	uint64_t bytes;      /* reserved; under RLIMIT_AS less than the memfd has */
	uint64_t open;       /* readable bytes from the start; only grows */
};

#pragma GCC visibility push(hidden)
extern struct weft_tables weft_tables;
#pragma GCC visibility pop

/*
 * Maps the memfd that came with the session; a mapping of the same file is kept, another one
 * replaced. Called before handlers walk. 0; on -errno an earlier mapping may be gone.
 */
int weft_tables_map(int fd, uint64_t bytes);
void weft_tables_forget(void);

/* Makes the first @bytes readable: 0, or -ERANGE if there are fewer. One counted mprotect. */
int weft_tables_open(uint64_t bytes);
void weft_tables_open_all(void); /* all that is in use now */

static inline int weft_tables_are_open(uint64_t bytes)
{
	return bytes <= load_acquire(&weft_tables.open);
}

enum map_miss { MAP_FOUND = 0, MAP_NO_MODULE, MAP_NO_TABLE, MAP_CHANGED };

/* One walk's view of one snapshot. */
struct map_view {
	const struct weft_map_snapshot *snapshot;
	uint32_t number;
	uint32_t count;
	uint64_t salt;
	uint64_t epoch;     /* header.modules_epoch if nothing has been unloaded since */
	enum map_miss miss; /* why the last lookup failed */
	uint64_t missed_pc; /* and for which pc */
};

void weft_map_begin(void);                       /* in the constructor: looks for _dl_find_object */
int weft_map_open(struct map_view *view);        /* the newest snapshot; 0 = none yet */
int weft_map_holds(const struct map_view *view); /* 1: nothing was overwritten */
void weft_rules_forget(void);

/* Looks the rule up by module and table, and caches it. 0: view->miss says why not. */
int weft_map_search(struct map_view *view, uint64_t pc, const struct unwind_rule **rule);

/* 1: there is code where the last lookup failed, but the map or its table does not have it yet. */
int weft_map_is_behind(const struct map_view *view);

/*
 * How many of the walk's pcs, from the leaf on, lie where the loader confirms the map: counting
 * stops at the first that does not.
 */
uint32_t weft_map_confirm(const struct map_view *view, const uint64_t *pcs, uint32_t count);

static inline uint64_t rule_key(uint64_t salt, uint64_t pc)
{
	return ((pc + salt) * RULE_KEY_ODD) & ((UINT64_C(1) << RULE_KEY_BITS) - 1);
}

static inline uint64_t *rule_word(uint64_t key)
{
	return &weft_rule_cache[key >> RULE_TAG_BITS];
}

static inline uint64_t rule_tag(uint64_t key)
{
	return key & ((UINT64_C(1) << RULE_TAG_BITS) - 1);
}

/* The rule of @pc (NULL: by frame pointer); 0: none, see view->miss. */
static inline __attribute__((always_inline)) int weft_map_rule(struct map_view *view, uint64_t pc,
							       const struct unwind_rule **rule)
{
	uint64_t key = rule_key(view->salt, pc);
	uint64_t word = load_relaxed(rule_word(key));
	uint64_t place = word & ((UINT64_C(1) << RULE_PLACE_BITS) - 1);

	if (__builtin_expect(word >> RULE_PLACE_BITS != rule_tag(key) || place == 0 ||
				     pc >> RULE_KEY_BITS != 0,
			     0)) {
		const struct unwind_rule *found = NULL;
		int is_found = weft_map_search(view, pc, &found);

		*rule = found; /* whose own address stays out of memory */
		return is_found;
	}
	*rule = place == RULE_PLACE_NONE
			? NULL
			: (const struct unwind_rule *)(const void *)(weft_tables.base +
								     place * sizeof(**rule));
	return 1;
}

#endif
