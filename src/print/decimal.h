/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point numbers as Java writes them: the fewest decimal digits that give the number
 * back (at least two), without an exponent from 1e-3 to 1e7; and with so many digits behind
 * the point, halves rounded up, of those digits and not of the binary number.
 */
#ifndef WEFT_PRINT_DECIMAL_H
#define WEFT_PRINT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

#define DECIMAL_ROOM 400 /* for any number, and its NUL */

/* Double.toString(), or Float.toString() if @is_float. Returns the length. */
size_t decimal_shortest(char out[DECIMAL_ROOM], double value, int is_float);
/* String.format("%.Nf"), N from 0 to 20. Returns the length. */
size_t decimal_fixed(char out[DECIMAL_ROOM], double value, int places);
/* As Java casts: towards zero, and to the nearest that there is. */
int64_t decimal_cast(double value);

#endif
