/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TLS descriptor that names otel_thread_ctx_v1: in a library readers find the variable by it.
 * In libweft.a it is a member of its own, because a program is better off without it: a library
 * that contains libweft.a is linked with -Wl,-u,weft_otel_named_place.
 */
#include "runtime/otel/otel_variable.h"

#include "base/tlsdesc.h"

WEFT_TLSDESC(otel_thread_ctx_v1, weft_otel_named_place, weft_otel_named_descriptor);
