/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about weft to the programs that this one starts: see environment.c. */
#ifndef WEFT_RUNTIME_ENVIRONMENT_H
#define WEFT_RUNTIME_ENVIRONMENT_H

#include <stddef.h>

/* libweft-waits.so, if it is loaded: begins now if it had to wait for our beginning. */
void weft_waits_v1(void) __attribute__((weak));

void weft_environment_open(void); /* in the constructor */

/* In the constructor, if no collector was found: makes room for the socket of one that attaches.
 * @is_stale: WEFT_SOCKET named one that does not exist any more. */
void weft_environment_keep_room(int is_stale);

/* Before libc starts programs with environ: updates our string in it. */
void weft_environment_refresh(void);

/* Likewise. The room that weft_environment_pass() needs; 0: @env needs no change. */
size_t weft_environment_room(char *const env[]);

/* @env as it is to be passed to exec. Lives in @room. */
char **weft_environment_pass(char *const env[], void *room);

#endif
