/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that spends its time deep in libc, in every shape of frame that compilers and
 * assemblers make: compiled with -O2 -fomit-frame-pointer whatever the rest is built with.
 */
#ifndef WEFT_TEST_WORKLOAD_H
#define WEFT_TEST_WORKLOAD_H

#include <stdint.h>

void workload_start(void);              /* once: signal handlers and their stack */
void workload_round(unsigned int seed); /* some hundred microseconds of everything */
int workload_other_stack(uint64_t *start, uint64_t *end); /* the alternate one */
/* Where the main stack was left for the alternate one; 0 when it was not. */
extern volatile uint64_t workload_left_at;

#endif
