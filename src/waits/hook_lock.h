/* SPDX-License-Identifier: Apache-2.0 */
/* What wrappers of locks share: the wait that is recorded, and which time limits libc accepts. */
#ifndef WEFT_WAITS_HOOK_LOCK_H
#define WEFT_WAITS_HOOK_LOCK_H

#include <errno.h>

#include "waits/real.h"
#include "waits/waits.h"

/*
 * The end of a wrapper: waits by @call, and writes the event. @holder: of @lock before the wait.
 * @is_timed_out: an expression of `outcome`, the call's result.
 */
#define WEFT_WAITS_LOCK(kind, lock, holder, is_timed_out, call)                                    \
	do {                                                                                       \
		const int32_t held_by = (holder);                                                  \
		struct weft_event event;                                                           \
		int outcome;                                                                       \
                                                                                                   \
		weft_waits_start(&event, WEFT_WAITS_LOCKS);                                        \
		outcome = (call);                                                                  \
		weft_waits_lock_done(&event, kind, lock, held_by, is_timed_out);                   \
		return outcome;                                                                    \
	} while (0)

/*
 * The body of a wrapper that tries first. @missing: what it returns where libc has no such
 * function.
 * @may_try: 0 = libc's own function is called at once. @try: the try's result, @busy if the lock is
 * held. @wait: ends the wrapper.
 */
#define WEFT_WAITS_TRY(name, missing, may_try, try, busy, wait, ...)                               \
	do {                                                                                       \
		int result;                                                                        \
                                                                                                   \
		if (!weft_waits_have_##name())                                                     \
			return missing;                                                            \
		if (!weft_waits_is_on(WEFT_WAITS_LOCKS) || !(may_try))                             \
			return weft_waits_real_table.name(__VA_ARGS__);                            \
		result = (try);                                                                    \
		if (result != (busy))                                                              \
			return result;                                                             \
		wait;                                                                              \
	} while (0)

/* If not, libc refuses the call before it looks at the lock. */
static inline int weft_waits_may_try(clockid_t clock, const struct timespec *until)
{
	return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && until &&
	       until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

#endif
