/* SPDX-License-Identifier: Apache-2.0 */
/* Macros for wrappers of calls that may wait; one line for each wrapper. */
#ifndef WEFT_WAITS_HOOK_IO_H
#define WEFT_WAITS_HOOK_IO_H

#include <errno.h>

#include "waits/real.h"
#include "waits/waits.h"

/*
 * @parameters and @arguments in parentheses. @error and @bytes: expressions of `result`, for its
 * error and for the bytes moved if there is none. errno is the call's own. The C name differs from
 * the symbol, because headers declare some of these in ways that no definition can match.
 */
#define WEFT_WAITS_CALL(type, name, parameters, arguments, operation, fd, bytes, error)            \
	type hook_##name parameters __asm__(#name);                                                \
	WEFT_API type hook_##name parameters                                                       \
	{                                                                                          \
		struct weft_event event;                                                           \
		type result;                                                                       \
                                                                                                   \
		if (!weft_waits_have_##name()) {                                                   \
			errno = ENOSYS;                                                            \
			return (type)-1;                                                           \
		}                                                                                  \
		if (!weft_waits_is_on(WEFT_WAITS_IO))                                              \
			return weft_waits_real_table.name arguments;                               \
		weft_waits_start(&event, WEFT_WAITS_IO);                                           \
		result = weft_waits_real_table.name arguments;                                     \
		weft_waits_io_done(&event, WEFT_WAITS_##operation, fd, bytes, error);              \
		return result;                                                                     \
	}

#define WEFT_WAITS_ERRNO (result < 0 ? errno : 0)
#define WEFT_WAITS_MOVED (result > 0 ? (int64_t)result : 0)

#endif
