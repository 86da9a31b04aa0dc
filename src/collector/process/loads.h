/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which module lay where, and when, as the process itself tells it round each dlclose
 * (abi/session.h, WEFT_LOG_LOADED). For stacks that were copied: they are walked later, when
 * another module may lie at the same address. Used by the walker thread.
 *
 * When a module came and went is known within bounds: it came after since_ns and was there at
 * at_ns; it was there at until_ns and had gone at gone_ns.
 */
#ifndef WEFT_COLLECTOR_LOADS_H
#define WEFT_COLLECTOR_LOADS_H

#include "collector/process/maps.h"

#include <weft/abi/session.h>

struct load_module {
	uint32_t id; /* its number in the module log */
	struct mapping mapping;
};

struct stay {
	uint32_t module; /* index */
	uint64_t since_ns, at_ns, until_ns, gone_ns;
};

struct loads {
	struct load_module *module;
	size_t module_count, module_room;
	struct stay *stay; /* in the order in which they came */
	size_t stay_count, stay_room;
};

void loads_free(struct loads *l);

/* Takes a record of the module log; other types are ignored. */
void loads_take(struct loads *l, const struct weft_log_record *record, const uint8_t *data);

enum loads_found { LOADS_NOTHING = 0, LOADS_FOUND, LOADS_UNSURE };

/*
 * loads_find() - what lay at @pc at @time_ns. FOUND: *out. UNSURE: it may be one of several.
 * NOTHING: none is known, and *gone_ns is when the last known one at @pc had gone (0: there was
 * none). *out is valid until the next loads_take().
 */
enum loads_found loads_find(struct loads *l, uint64_t pc, uint64_t time_ns, struct mapping **out,
			    uint64_t *gone_ns);

#endif
