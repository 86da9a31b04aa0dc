/* SPDX-License-Identifier: Apache-2.0 */
/* Who may make a timer now: see gate.h. */
#include "runtime/sample/gate.h"

#include <stdint.h>

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
	uint32_t now = __atomic_load_n(&engine, __ATOMIC_SEQ_CST);

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
	return __atomic_load_n(&arming, __ATOMIC_SEQ_CST) == 0;
}

void weft_gate_set(enum weft_gate to)
{
	__atomic_store_n(&engine, to, __ATOMIC_SEQ_CST);
}

void weft_gate_forget(void)
{
	__atomic_store_n(&arming, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&engine, WEFT_GATE_OFF, __ATOMIC_SEQ_CST);
}
