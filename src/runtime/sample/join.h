/* SPDX-License-Identifier: Apache-2.0 */
/* Meeting the collector: see join.c. */
#ifndef WEFT_RUNTIME_JOIN_H
#define WEFT_RUNTIME_JOIN_H

#include <stdint.h>

int weft_join_set_path(const char *path); /* in the constructor, or when attached to */
int weft_join_has_path(void);
/* Asks it for the unwind tables alone, and maps them: this process has a session. */
int weft_join_tables(void);
/* Meets the collector and maps the session; flags: enum weft_hello_flag. 0 or -errno. */
int weft_join(uint32_t flags);

#endif
