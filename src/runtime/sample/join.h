/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to the collector: see join.c. */
#ifndef WEFT_RUNTIME_JOIN_H
#define WEFT_RUNTIME_JOIN_H

#include <stdint.h>

int weft_join_set_path(const char *path); /* in the constructor, or when a collector attaches */
/* For a process that has a session: asks only for the unwind tables, and maps them. */
int weft_join_tables(void);
/* Connects to the collector and maps the session; flags: enum weft_hello_flag. 0 or -errno. */
int weft_join(uint32_t flags);

#endif
