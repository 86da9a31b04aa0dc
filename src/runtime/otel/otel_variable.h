/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel_thread_ctx_v1, the variable that OpenTelemetry's readers find by its symbol, and how the
 * runtime reaches it.
 *
 * A symbol that is exported by a library that comes early in a process takes the place of every
 * later one: another library's variable of this name would be left unused, and readers that look
 * for that one find nothing. So libweft.so, which is preloaded into programs of others, does not
 * have it. It stands in libweft-otel.so, which lies beside libweft.so and is loaded when a process
 * is to publish this format, and then in a scope of its own (RTLD_LOCAL), so that it takes nobody's
 * place either; or at the start, linked or preloaded, if the program wants that. libweft.a and
 * libweft-late.so contain it: there the program has chosen.
 *
 *   otel_symbol.c    the variable              in libweft-otel.so, libweft-late.so, libweft.a
 *   otel_named.c     its descriptor for readers              likewise
 *   otel_variable.c  the way to it             in the runtime
 */
#ifndef WEFT_RUNTIME_OTEL_VARIABLE_H
#define WEFT_RUNTIME_OTEL_VARIABLE_H

#include <stdint.h>

#define WEFT_OTEL_VARIABLE_V1_VERSION 1

/*
 * Exported by libweft-otel.so. Part of the binary interface between different versions of weft:
 * fields are appended, never changed. Each function as weft/abi and base/tlsdesc.h have it; a first
 * call on a thread may allocate where the variable's distance differs.
 */
struct weft_otel_variable_v1 {
	uint32_t size;
	uint32_t version;
	void *(*place)(void);     /* in this thread, where readers find the symbol's variable .. */
	void *(*own_place)(void); /* .. and where the library's own is, which may be another */
	const int64_t *(*descriptor)(void);
	const int64_t *(*own_descriptor)(void);
};

#if defined(WEFT_STATIC) || defined(WEFT_LATE)
#define WEFT_OTEL_CONTAINED 1
#pragma GCC visibility push(hidden)
extern const struct weft_otel_variable_v1 weft_otel_variable_v1;
#pragma GCC visibility pop
#else
#pragma GCC visibility push(default)
extern const struct weft_otel_variable_v1 weft_otel_variable_v1;
#pragma GCC visibility pop
#endif

#pragma GCC visibility push(hidden)
void *weft_otel_own_place(void);
const int64_t *weft_otel_own_descriptor(void);
void *weft_otel_named_place(void);
const int64_t *weft_otel_named_descriptor(void);

/* The table that is in the process; NULL: none. */
const struct weft_otel_variable_v1 *weft_otel_variable_linked(void);
/* The same; loads the library if need be. System calls; one thread at a time. */
const struct weft_otel_variable_v1 *weft_otel_variable_open(void);
#pragma GCC visibility pop

#endif
