/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's thread context (abi/otel_thread_context.h) in another process, whoever
 * wrote it. A key is an index in the key map of the process context (otel_process.h).
 */
#ifndef WEFT_READER_OTEL_RECORD_H
#define WEFT_READER_OTEL_RECORD_H

#include "reader/context/otel_payload.h"
#include "reader/target/live.h"
#include "reader/target/settle.h"

#include <weft/abi/otel_thread_context.h>

/* A record as it stood there: other publishers' may have more attributes than weft's. */
struct otel_copy {
	uint64_t address;
	size_t bytes; /* of the record; 0 = none, or not valid */
	uint8_t record[WEFT_OTEL_ATTRIBUTES_AT + UINT16_MAX];
};

/*
 * otel_record_decode() - a whole record into @out; of equal indices the last counts, what is
 * behind the last whole attribute is left out. An index that @keys does not have: the key is
 * "#" and the index; returns how many such. @root_key: whose value is the local root span in
 * 16 hex digits. @keys may be NULL.
 */
unsigned int otel_record_decode(const uint8_t *record, size_t bytes,
				const struct otel_payload *keys, const char *root_key,
				struct live_context *out);

/* Has it an index that @keys does not have? */
int otel_record_knows_more(const uint8_t *record, size_t bytes, const struct otel_payload *keys);

/* Copy the record at @address (0: none), as it is right now. 0, -EFAULT, -ESRCH, -EPERM. */
int otel_record_copy(const struct target *t, uint64_t address, struct otel_copy *out);

/*
 * otel_record_read() - the record that the pointer at @variable leads to, in thread @tid; as
 * custom_labels_read(), with the record's address for @seq_of. 0: whole, or torn (*is_torn);
 * -ENODATA: there is none, or it says that it is not valid; -errno.
 */
int otel_record_read(struct settle *s, int32_t tid, uint64_t variable,
		     uint64_t (*seq_of)(void *arg, uint64_t record), void *arg,
		     struct otel_copy *room, int *is_torn);

#endif
