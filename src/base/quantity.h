/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, times, rates and counts as people write them: a decimal number, perhaps with a fraction,
 * directly followed by a unit. Nothing depends on the locale. All return 0, or -EINVAL if the text
 * is no such quantity, or -ERANGE if it does not fit; then *out is untouched.
 */
#ifndef WEFT_BASE_QUANTITY_H
#define WEFT_BASE_QUANTITY_H

#include <stdint.h>

int quantity_count(const char *text, uint64_t *out);    /* 12 */
int quantity_bytes(const char *text, uint64_t *out);    /* 4096, 256K, 16M, 1.5G (of 1024) */
int quantity_time_ns(const char *text, uint64_t *out);  /* 10s, 5ms, 1.5m, 2h; no unit: s */
int quantity_rate_mhz(const char *text, uint64_t *out); /* 199, 199Hz, 1k, 1.5kHz: millihertz */

#endif
