/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs of weft coro share: the shared file that was meant, the program that is started to
 * be traced, and reports as text, JSON and a screen.
 *
 * Runs on the command's one thread; the screen in a child of its own, so that the terminal is put
 * back whatever ends it.
 *
 *   coro_open.c        the file that an operand names
 *   coro_target.c      the program, and its engine
 *   coro_tell.c        what is told at the end
 *   coro_report.h      a report, printed
 *   coro_report_text.c as text
 *   coro_report_json.c as JSON
 *   coro_json.c        JSON as it comes
 *   coro_top_text.c    the lines of top
 *   coro_top_screen.c  its screen
 *   coro_tracer.c      under the name coroTracer
 *   coro_format.c      the options of a format
 */
#ifndef WEFT_CLI_CORO_ROOM_H
#define WEFT_CLI_CORO_ROOM_H

#endif
