/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's process context (abi/otel_process_context.h) of another process, whoever it is.
 * Found by the name of its mapping; read without stopping anything, for the publisher's clock in
 * its header proves that nothing changed.
 */
#ifndef WEFT_READER_OTEL_PROCESS_H
#define WEFT_READER_OTEL_PROCESS_H

#include "reader/context/otel_payload.h"
#include "reader/target/target.h"

struct otel_process {
	uint64_t address; /* of its header; 0 = there is none */
	int is_read;      /* payload holds what it said at published_ns */
	int error; /* of the newest reading: 0; -EAGAIN: it changed each time; -EPROTO: another
		    * version; -EBADMSG: no such message; -errno */
	uint32_t version;
	uint64_t published_ns;
	struct otel_payload payload;
};

/* Look for it in the mappings as @t has them, and read it: 0, -ENOENT: there is none; or as
 * otel_process_refresh(). Takes a zeroed one. */
int otel_process_find(const struct target *t, struct otel_process *p);
/* Read it (again), if it was published anew: 1 then, 0 when not, -errno. */
int otel_process_refresh(const struct target *t, struct otel_process *p);
void otel_process_free(struct otel_process *p);

#endif
