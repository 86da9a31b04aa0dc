/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate between threads that make a timer and those that start or stop the engine.
 *
 * A timer that outlived the handler would kill the program. So whoever makes one announces it first
 * (arming), and then checks whether the engine is on; a stop switches it off first, and then checks
 * whether anybody is arming. Both are sequentially consistent: one of the two sees the other.
 */
#include "runtime/sample/sample.h"

static uint32_t engine;
static uint32_t arming;

int weft_gate_moves(enum weft_gate from, enum weft_gate to)
{
	uint32_t expected = from;

	return __atomic_compare_exchange_n(&engine, &expected, to, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static int gate_is_on(void)
{
	uint32_t now = load_seq_cst(&engine);

	return now == WEFT_GATE_ON || now == WEFT_GATE_STARTING;
}

int weft_engine_enter(void)
{
	__atomic_fetch_add(&arming, 1, __ATOMIC_SEQ_CST);
	if (gate_is_on())
		return 1;
	__atomic_fetch_sub(&arming, 1, __ATOMIC_SEQ_CST);
	return 0;
}

int weft_engine_leave(void)
{
	__atomic_fetch_sub(&arming, 1, __ATOMIC_SEQ_CST);
	return gate_is_on();
}

int weft_gate_is_clear(void)
{
	return load_seq_cst(&arming) == 0;
}

void weft_gate_set(enum weft_gate to)
{
	store_seq_cst(&engine, to);
}

void weft_gate_forget(void)
{
	store_seq_cst(&arming, 0);
	store_seq_cst(&engine, WEFT_GATE_OFF);
}
