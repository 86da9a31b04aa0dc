/* SPDX-License-Identifier: Apache-2.0 */
/* Our entry in LD_PRELOAD of an environment that exec hands down: see preload.c. */
#ifndef WEFT_RUNTIME_PRELOAD_H
#define WEFT_RUNTIME_PRELOAD_H

#include <stddef.h>

/* libweft-waits.so's, where that is loaded: begins, if it could not before we had. */
void weft_waits_v1(void) __attribute__((weak));

void weft_preload_open(void); /* in the constructor */

/* Room that weft_preload_cut() needs; 0: @env is to be handed down as it is. */
size_t weft_preload_room(char *const env[]);

/* @env without our entry, in @room, as long as that lives. */
char **weft_preload_cut(char *const env[], void *room);

#endif
