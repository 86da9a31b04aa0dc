/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of OpenTelemetry's process context: a protobuf message ProcessContext
 * (opentelemetry-proto, processcontext/v1development), decoded as far as it is shown:
 *
 *	ProcessContext  resource = 1 { attributes = 1 }, attributes = 2
 *	KeyValue        key = 1, value = 2
 *	AnyValue        string = 1, bool = 2, int = 3, double = 4, array = 5, list = 6, bytes = 7
 *
 * Decoded by hand, not by protobuf-c, which gives nothing at all of a message that is damaged at
 * its end, or has a known field in another wire type. Fields in any order; unknown ones are passed
 * over. Numbers and truth values are given as text; an array other than the key map in brackets,
 * with what is nested deeper left empty.
 */
#ifndef WEFT_READER_OTEL_PAYLOAD_H
#define WEFT_READER_OTEL_PAYLOAD_H

#include "reader/target/live.h"

#include <weft/abi/otel_process_context.h>

struct otel_payload {
	struct live_context resource;   /* attributes alone are used */
	struct live_context attributes; /* all but the key map */
	struct live_context keys;       /* of attribute i: the key of index i; no value */
};

/* 0, -EBADMSG (then it holds what came before), -ENOMEM. Takes a zeroed one, or one to be
 * filled again. */
int otel_payload_decode(struct otel_payload *p, const uint8_t *message, size_t bytes);
void otel_payload_free(struct otel_payload *p);

/* To a zeroed one. 0 or -ENOMEM. */
int otel_payload_copy(struct otel_payload *to, const struct otel_payload *from);

/* NULL: the map does not reach so far. */
const char *otel_payload_key(const struct otel_payload *p, unsigned int index, size_t *bytes);

#endif
