/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind tables in the target: see tables.c. Async-signal-safe. */
#ifndef WEFT_RUNTIME_TABLES_H
#define WEFT_RUNTIME_TABLES_H

#include <stdint.h>

#include "base/atomic.h"

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

#endif
