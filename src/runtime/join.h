/* SPDX-License-Identifier: Apache-2.0 */
/* Meeting the collector: see join.c. */
#ifndef WEFT_RUNTIME_JOIN_H
#define WEFT_RUNTIME_JOIN_H

#include <stdint.h>

int weft_join_set_path(const char *path); /* once, in the constructor */
int weft_join_has_path(void);
/* Meets the collector and maps the session; flags: enum weft_hello_flag. 0 or -errno. */
int weft_join(uint32_t flags);

#endif
