/* SPDX-License-Identifier: Apache-2.0 */
/* A session and a table memfd made by a test, for what reads them in the handler. */
#ifndef TESTS_UNIT_RUNTIME_FAKE_SESSION_H
#define TESTS_UNIT_RUNTIME_FAKE_SESSION_H

#include <stdint.h>

#include <weft/abi/module_map.h>

#include "unwind/rules.h"

#define FAKE_MAP_BYTES (256 * 1024)
#define FAKE_TABLES_BYTES (UINT64_C(64) << 20)

struct fake_session {
	struct weft_session_header header;
	_Alignas(64) uint8_t map[FAKE_MAP_BYTES];
};

extern struct fake_session fake;
extern uint8_t *fake_tables; /* the collector's mapping, writable */
extern uint64_t fake_used;

/* A sealed memfd as the collector makes it; or without one of its virtues. */
enum fake_flaw { FAKE_SOUND, FAKE_UNSEALED, FAKE_WRITABLE, FAKE_NO_MAGIC, FAKE_SHORT };
int fake_tables_file(enum fake_flaw flaw, uint8_t **mapping);

void fake_begin(void); /* weft_rt and weft_tables stand on it from now on */
void fake_end(void);

/* Copies a table in and says so in tables_used; its offset. */
uint64_t fake_put_table(const struct unwind_table *table);

/* A snapshot at @place bytes into the map area, by the collector's protocol. */
void fake_publish(uint64_t place, uint32_t number, const struct weft_map_module *modules,
		  uint32_t count);

#endif
