/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of settings (weft/abi/events.h) stay at one address for the process's life, because
 * event types keep pointers to them. The rows of a session that is mapped, or made with a file, are
 * mapped there a second time; else, and in a forked child until it has a session, zeros are: all
 * types are off.
 *
 * Called where a session begins or is dropped, never by two threads at a time. Async-signal-safe.
 */
#include "runtime/core/runtime.h"

#include <weft/abi/events.h>

#include "runtime/core/sys.h"

struct weft_event_row *weft_event_rows;

/* Replaces the mapping at @at in one step; NULL: at any address. */
static long event_rows_map(struct weft_event_row *at, int fd, uint64_t offset)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;

	return sys_call6(SYS_mmap, SYS_ARG(at), WEFT_EVENT_ROWS_BYTES, PROT_READ | PROT_WRITE,
			 flags | (at ? MAP_FIXED : 0), fd, (long)offset);
}

void weft_event_rows_open(void)
{
	long at;

	if (weft_event_rows)
		return;
	at = event_rows_map(NULL, -1, 0);
	if (!sys_is_error(at))
		weft_event_rows = (struct weft_event_row *)at;
}

void weft_event_rows_map(int fd, uint64_t offset)
{
	long at;

	if (!weft_event_rows)
		return;
	at = event_rows_map(weft_event_rows, fd, offset);
	if (sys_is_error(at))
		weft_event_rows_forget();
	else if (fd >= 0)
		sys_call3(SYS_madvise, at, WEFT_EVENT_ROWS_BYTES, MADV_DONTDUMP);
}

void weft_event_rows_forget(void)
{
	if (weft_event_rows)
		event_rows_map(weft_event_rows, -1, 0);
}
