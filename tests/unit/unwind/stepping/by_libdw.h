/* SPDX-License-Identifier: Apache-2.0 */
/* The second opinion: elfutils' own unwinder, over the same registers and memory. */
#ifndef WEFT_TEST_BY_LIBDW_H
#define WEFT_TEST_BY_LIBDW_H

#include "stepper.h"

struct by_libdw;

struct by_libdw *by_libdw_new(struct stepper *s);
void by_libdw_free(struct by_libdw *d);
/* Raw pcs, leaf first; 0 when it cannot be asked. */
size_t by_libdw_walk(struct by_libdw *d, const struct stepper_stop *stop, uint64_t *frames,
		     size_t max);

#endif
