/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of settings of typed events, at one place for the process's life: see event_rows.c. */
#ifndef WEFT_RUNTIME_EVENT_ROWS_H
#define WEFT_RUNTIME_EVENT_ROWS_H

#include <stdint.h>

#include <weft/abi/events.h>

/* NULL: they could not be mapped. */
extern struct weft_event_row *weft_event_rows;
void weft_event_rows_open(void); /* before a session is mapped: the rows then lie above it */
void weft_event_rows_map(int fd, uint64_t offset); /* fd < 0: zeros */
void weft_event_rows_forget(void);

#endif
