/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of coroutines on standard output, written as it comes: there may be millions of them. */
#ifndef WEFT_CLI_CORO_JSON_H
#define WEFT_CLI_CORO_JSON_H

#include "base/text/json_write.h"

#include <weft/abi/ctp.h>

struct coro_json {
	struct output *out;
	struct sink sink;
	struct json_writer w;
};

/* Begins an object of version 1. 0 or -ENOMEM. */
int coro_json_open(struct coro_json *j, const struct json_shape *shape);
/* Ends it. 0 or -errno of standard output. */
int coro_json_close(struct coro_json *j);

/* A number beyond 2^63 - 1 is given as that. */
void coro_json_number(struct json_writer *w, const char *key, uint64_t number);
/* As a text: "0x0000000000401136". */
void coro_json_address(struct json_writer *w, const char *key, uint64_t address);
/* An address with its name; null for 0. */
void coro_json_place(struct json_writer *w, const char *key, uint64_t address, const char *name);
/* "trace_id", "span_id", and "context" as a text with @labels (or NULL). */
void coro_json_context(struct json_writer *w, const struct weft_ctp_context_prefix *prefix,
		       const struct weft_ctp_context *labels);

#endif
