/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places where a profiler's handler had better know what it does. Each is a function that goes
 * on until more() says that it is enough, returns 0 when all that it did came out right, and
 * has a name by which its stacks are known: place_NAME.
 */
#ifndef ACCEPTANCE_NASTY_H
#define ACCEPTANCE_NASTY_H

#include <stdint.h>

#define NOINLINE __attribute__((noinline))

/* Is there CPU time left to use? Ends, too, when it is too little that one gets. */
int more(void);

/* Uses CPU time without any call; always the same result for the same turns. */
uint64_t burn(unsigned int turns);

/* burn() gave another result than it gives alone. */
int burnt_wrong(uint64_t result, unsigned int turns);

/* The directory of the program and its libraries, with a slash. */
const char *own_directory(void);

int place_malloc(void);
int place_dlopen(void);
int place_reload(void);
int place_lazy(void);
int place_plt(void);
int place_vdso(void);
int place_thread_exit(void);
int place_cancel(void);
int place_fork(void);
int place_vfork(void);
int place_altstack(void);
int place_raised(void);
int place_alarm(void);
int place_longjmp(void);
int place_fault(void);
int place_coroutine(void);
int place_switched(void);
int place_small_thread(void);

#endif
