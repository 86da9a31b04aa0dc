/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's thread context (otel_thread.c), process context (otel_process.c) and key map
 * (otel_keys.c), as publish.c uses them. Layouts: weft/abi/otel_*.h.
 *
 * Process context: one page with the header, and two halves for the payload elsewhere, so that a
 * new key needs no allocation: the unused half is filled, then published, and listeners are woken
 * by one system call, as for every update. Key map: append-only; an index never changes its key.
 * Lookups take no lock, nor do appends.
 *
 *   otel_thread.c    a thread's record and pointer
 *   otel_variable.h  the pointer's symbol, of libweft-otel.so: otel_variable.c, otel_symbol.c,
 *                    otel_named.c
 *   otel_process.c   the process context's mapping
 *   otel_resource.c  its resource attributes
 *   otel_keys.c      the key map
 *   otel_foreign.c   another publisher in this process
 *   otel_private.h   what these share
 */
#ifndef WEFT_RUNTIME_OTEL_H
#define WEFT_RUNTIME_OTEL_H

#include "runtime/core/runtime.h"

/* Turns the format on, unless another library publishes already. 0 or -errno; system calls. */
int weft_otel_begin(void);
void weft_otel_stop(void); /* system calls */
/* maps the process context again, which a child does not inherit; system calls */
void weft_otel_after_fork(void);

void weft_otel_publish_header(void); /* who publishes, into a new session's header */

/* Distance of a guest's variable from the thread pointer (copies.h): what it holds is weft's. */
void weft_otel_join(int64_t distance);

/* Writes the record from what the slot holds; @changed: enum weft_changed. `busy` is held.
 * WEFT_CHANGED_STORE: another store's record, usually up to date: only the pointer is stored. */
void weft_otel_sync(struct weft_slot *slot, unsigned int changed);
void weft_otel_withdraw(struct weft_slot *slot);

/*
 * Another value of label @n, which is the only one that changes, in the thread's own record: first
 * whether it can be written alone (1), with all else up to date; then the write. `busy` is held.
 */
struct weft_custom_labels_set;
struct weft_otel_record;
struct weft_otel_edit {
	struct weft_otel_record *record;
	struct weft_slot_otel *notes;
	uint32_t at; /* of the attribute */
	uint32_t old, bytes;
	const char *value;
};
int weft_otel_edit_find(struct weft_slot *slot, const struct weft_custom_labels_set *shown,
			uint32_t n, const char *value, uint32_t bytes, struct weft_otel_edit *edit);
void weft_otel_edit_write(const struct weft_otel_edit *edit, uint64_t generation);

/* Fills a record that is never changed; returns its size, 0: the format is not on, or another
 * library has it. Not in handlers: a new key is published. */
uint32_t weft_otel_prepare(struct weft_otel_record *record, const struct weft_context *context,
			   const struct weft_custom_labels_set *set);
/* Of the thread's pointer to its record from the thread pointer; 0: it differs. */
extern int64_t weft_otel_distance __attribute__((visibility("hidden")));

/* The index of a label's key, at a thread's first use of it; -1: none. A key that the process has
 * never used is published, which makes a system call. */
int weft_otel_key(const char *key, size_t bytes);
void weft_otel_look_again(void); /* for keys of another library's map; system calls */

#endif
