/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times, spans of time and amounts as Java's tools write them: java.time's toString(), and the
 * rounded forms of `jfr print`.
 *
 * Ticks become nanoseconds the way the JDK converts them, in double arithmetic, so that the
 * last digit is the same.
 */
#ifndef WEFT_PRINT_TIMES_H
#define WEFT_PRINT_TIMES_H

#include <weft/jfr.h>

#include <stddef.h>
#include <stdint.h>

#define TIMES_ROOM 64

enum time_unit {
	TIME_TICKS,
	TIME_NS,
	TIME_US,
	TIME_MS,
	TIME_S,
	TIME_EPOCH_NS,
	TIME_EPOCH_MS,
	TIME_EPOCH_S,
};

/* A span or, since the epoch, a moment. INT64_MIN of any unit is none. */
struct moment {
	int is_none;
	__extension__ __int128 ns;
};

struct moment times_span(const struct weft_jfr_chunk_view *chunk, int64_t number,
			 enum time_unit unit);
struct moment times_point(const struct weft_jfr_chunk_view *chunk, int64_t number,
			  enum time_unit unit);

/* All return the length; @out is NUL-terminated. */
size_t times_put_iso_span(char out[TIMES_ROOM], struct moment span);  /* PT0.02S */
size_t times_put_span(char out[TIMES_ROOM], struct moment span);      /* 20.0 ms */
size_t times_put_iso_point(char out[TIMES_ROOM], struct moment point, /* 2024-02-29T12:00Z */
			   int32_t offset_s);
size_t times_put_clock(char out[TIMES_ROOM], struct moment point,
		       int32_t offset_s); /* 12:00:00.000 */

enum amount_unit { AMOUNT_BYTES, AMOUNT_BITS, AMOUNT_BYTES_PER_S, AMOUNT_BITS_PER_S };
size_t times_put_amount(char out[TIMES_ROOM], int64_t amount, enum amount_unit unit); /* 1.5 kB */

#endif
