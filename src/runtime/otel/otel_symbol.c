/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variable otel_thread_ctx_v1 (otel_variable.h). The runtime reaches it by another name, which
 * cannot be preempted, and by the symbol's own only where that leads readers to it (otel_named.c):
 * in a program it needs nothing to lead there, and a relocation that names the symbol ends a
 * static-pie of glibc's before main().
 */
#include "runtime/otel/otel_variable.h"

#include "base/tlsdesc.h"

struct weft_otel_record;

/* In libweft.a a program's own definition wins over this one (otel_foreign.c notices). */
#ifdef WEFT_STATIC
#define SYMBOL __attribute__((visibility("default"), used, weak))
#define PLACE weft_otel_own_place
#define DESCRIPTOR weft_otel_own_descriptor
#else
#define SYMBOL __attribute__((visibility("default"), used))
#define PLACE weft_otel_named_place
#define DESCRIPTOR weft_otel_named_descriptor
#endif

extern __thread struct weft_otel_record *otel_thread_ctx_v1;
SYMBOL __thread struct weft_otel_record *otel_thread_ctx_v1;

extern __thread struct weft_otel_record *weft_otel_own_pointer
	__attribute__((alias("otel_thread_ctx_v1"), visibility("hidden"), used));

WEFT_TLSDESC(weft_otel_own_pointer, weft_otel_own_place, weft_otel_own_descriptor);

const struct weft_otel_variable_v1 weft_otel_variable_v1 = {
	.size = sizeof(weft_otel_variable_v1),
	.version = WEFT_OTEL_VARIABLE_V1_VERSION,
	.place = PLACE,
	.own_place = weft_otel_own_place,
	.descriptor = DESCRIPTOR,
	.own_descriptor = weft_otel_own_descriptor,
};
