/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of a process that is already running: see attach.c. Async-signal-safe. */
#ifndef WEFT_RUNTIME_ATTACH_H
#define WEFT_RUNTIME_ATTACH_H

#include <stdint.h>

#include "runtime/core/runtime.h"

#define COLLECTOR_PATIENCE_NS INT64_C(5000000000) /* it drains ten times a second at least */

void weft_attach_run(void); /* carries out header.attach_number (WEFT_ORDER_ATTACH) */
void weft_attach_end(void); /* WEFT_ORDER_STOP */

void weft_attach_run_pending(void); /* likewise, outside handlers, if no handler has done it yet */

/* Before the process starts threads, children or programs: is there an order to carry out? */
static inline void weft_attach_before_children(void)
{
	const struct weft_session_header *h = weft_rt.header;

	if (LIKELY(!weft_rt_is_ready() ||
		   load_relaxed(&h->attach_number) == load_relaxed(&h->attach_taken) ||
		   weft_rt_run_state() != WEFT_RUN_RECORDING))
		return;
	weft_attach_run_pending();
}

/* At a tick: ends the recording if nobody records any more. */
void weft_attach_check(uint64_t now_ns);

/* Is weft_attach_check() worth a call? Two loads, in each handler. */
static inline int weft_attach_is_stale(uint64_t now_ns)
{
	const struct weft_session_header *h = weft_rt.header;

	return weft_rt_run_state() != WEFT_RUN_RECORDING ||
	       (int64_t)(now_ns - load_relaxed(&h->drained_ns)) > COLLECTOR_PATIENCE_NS;
}

#endif
