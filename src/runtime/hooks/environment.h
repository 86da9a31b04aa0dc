/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment tells the programs that this one begins of weft: see environment.c. */
#ifndef WEFT_RUNTIME_ENVIRONMENT_H
#define WEFT_RUNTIME_ENVIRONMENT_H

#include <stddef.h>

/* libweft-waits.so's, where that is loaded: begins, if it could not before we had. */
void weft_waits_v1(void) __attribute__((weak));

void weft_environment_open(void); /* in the constructor */

/* In the constructor, where no collector was met: room for the socket of one that attaches.
 * @is_stale: WEFT_SOCKET named one that is gone. */
void weft_environment_keep_room(int is_stale);

/* Before programs are begun inside libc, with environ: brings that up to date. */
void weft_environment_refresh(void);

/* Likewise. Room that weft_environment_pass() needs; 0: @env is to be handed down as it is. */
size_t weft_environment_room(char *const env[]);

/* @env as it is to be handed down, in @room, as long as that lives. */
char **weft_environment_pass(char *const env[], void *room);

#endif
