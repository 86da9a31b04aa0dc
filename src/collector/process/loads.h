/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which module lay where, and when, as the process itself tells it round each dlclose
 * (abi/session.h, WEFT_LOG_LOADED). For stacks that were copied: they are walked later, when
 * another module may lie at the same address. Used by the worker thread.
 *
 * Of each stay of a module two bounds are known on either side: it came after `since` and was
 * there at `at`, was there at `until` and had gone at `gone`.
 */
#ifndef WEFT_COLLECTOR_LOADS_H
#define WEFT_COLLECTOR_LOADS_H

#include "collector/process/maps.h"

#include <weft/abi/session.h>

struct load_module {
	uint32_t id; /* the process's */
	struct mapping mapping;
};

struct stay {
	uint32_t module; /* index */
	uint64_t since_ns, at_ns, until_ns, gone_ns;
};

struct loads {
	struct load_module *module;
	size_t module_count, module_room;
	struct stay *stay; /* those that have gone first in the order in which they went */
	size_t stay_count, stay_room;
};

void loads_free(struct loads *l);

/* A record of the module log; others are let pass. @maps gives ids to mappings. */
void loads_take(struct loads *l, struct maps *maps, const struct weft_log_record *record,
		const uint8_t *data);

enum loads_found { LOADS_NOTHING = 0, LOADS_FOUND, LOADS_UNSURE };

/*
 * loads_find() - what lay at @pc at @time_ns. FOUND: *out. UNSURE: one of several. NOTHING: it
 * tells of none, and *gone_ns is when the last one that is known to have lain there had gone
 * (0: none did). *out is valid until the next loads_take().
 */
enum loads_found loads_find(struct loads *l, uint64_t pc, uint64_t time_ns, struct mapping **out,
			    uint64_t *gone_ns);

#endif
