/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a recording's coroutines for the report of coro/look, which knows no recordings: between
 * jfr and report, which decode, and coro, which counts and judges.
 *
 * Runs on the command's one thread. Nothing is printed; errors are returned.
 *
 *   coro_recording.c  runs and waits, fed to a report
 */
#ifndef WEFT_RECORDED_RECORDED_H
#define WEFT_RECORDED_RECORDED_H

#include "coro/look/names.h"
#include "coro/look/report.h"

/* Feeds a recording (weft.CoroutineRun, weft.CoroutineWait), but does not end the report. Names of
 * places go to @names. 0 or -errno; @why: more of it than the number says, or "". */
int coro_recording_read(struct coro_report *r, const char *path, struct coro_names *names,
			char why[192]);

#endif
