/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's thread context (otel_thread.c), process context (otel_process.c) and key map
 * (otel_keys.c), as publish.c uses them. Layouts: weft/abi/otel_*.h.
 *
 * Process context: one mapping, of which the payload's two halves are a part, so that a new key
 * needs neither memory nor a system call: the next half is filled, then published. Only
 * weft_otel_tell() makes the system call that wakes listeners.
 * Key map: append-only; an index, once given, stays. Looked up without a lock, appended under
 * the log's lock.
 *
 *   otel_thread.c    a thread's record and pointer
 *   otel_process.c   the process context's mapping
 *   otel_resource.c  its resource attributes
 *   otel_keys.c      the key map
 *   otel_foreign.c   another publisher in this process
 *   otel_private.h   what these share
 */
#ifndef WEFT_RUNTIME_OTEL_H
#define WEFT_RUNTIME_OTEL_H

#include "runtime/context/publish.h"

/* Switch on: finds out whether another library publishes already. 0 or -errno; system calls. */
int weft_otel_begin(void);
void weft_otel_stop(void);       /* system calls */
void weft_otel_after_fork(void); /* the mapping is not there in a child; system calls */

void weft_otel_show(void); /* who publishes, into a new session's header */

/* A guest's variable, from the thread pointer (copies.h): what is stored there is weft's. */
void weft_otel_join(int64_t distance);

/* The record from the truth in the slot; @changed: enum weft_changed. Held `busy`.
 * WEFT_CHANGED_STORE: another record than before; most often it says so already, and the pointer
 * alone is stored. */
void weft_otel_sync(struct weft_slot *slot, unsigned int changed);
void weft_otel_withdraw(struct weft_slot *slot);

/* A label's key, when a thread first uses it: its index, or -1. No system call. */
int weft_otel_key(const char *key, size_t bytes);
void weft_otel_tell(void); /* about keys since the last time; a system call if there are any */

#endif
