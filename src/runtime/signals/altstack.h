/* SPDX-License-Identifier: Apache-2.0 */
/* Alternate stacks with no room for our signals: see altstack.c. */
#ifndef WEFT_RUNTIME_ALTSTACK_H
#define WEFT_RUNTIME_ALTSTACK_H

#include <signal.h>

int weft_altstack_is_small(void);  /* no room for two frames: ours wait for the program's handler */
int weft_altstack_is_tiny(void);   /* nor for one: ours run on the thread's own stack */
void weft_altstack_begin(void);    /* a handler of ours has been installed */
void weft_altstack_end(int which); /* and uninstalled: enum weft_kept */
void weft_altstack_register(const stack_t *stack);
int weft_altstack_set_action(int signo, const struct sigaction *action, struct sigaction *old);
void weft_altstack_keep_closed(void);

#endif
