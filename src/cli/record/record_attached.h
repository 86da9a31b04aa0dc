/* SPDX-License-Identifier: Apache-2.0 */
/* weft record --pid: recording programs that run already. */
#ifndef WEFT_CLI_RECORD_ATTACHED_H
#define WEFT_CLI_RECORD_ATTACHED_H

#include "cli/frame/cli.h"
#include "cli/record/record.h"
#include "collector/session/attach.h"

struct attached {
	struct attach_target *target;
	pid_t *pids; /* of the targets */
	size_t count;
	char text[32]; /* as the recording tells it: --pid PID */
};

/* The processes that --pid names; all of them, or none and an exit status with the message
 * printed. Nothing is written to them yet. */
int attached_find(struct attached *a, const struct cli_args *args, int needs_orders);
void attached_free(struct attached *a);

/* Records them until all have ended, --duration is over, or a signal comes. The collector of
 * @r is open. Returns weft's exit status. */
int attached_wait(struct record *r, const struct attached *a);

#endif
