/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines of a recording (weft.CoroutineRun, weft.CoroutineWait) into a report. */
#ifndef WEFT_CLI_CORO_RECORDING_H
#define WEFT_CLI_CORO_RECORDING_H

#include "coro/look/names.h"
#include "coro/look/report.h"

/* 0 or -errno; @why: more of it than the number says, or "". Ends nothing. Names of places that
 * the recording has go to @names. */
int coro_recording_read(struct coro_report *r, const char *path, struct coro_names *names,
			char why[192]);

#endif
