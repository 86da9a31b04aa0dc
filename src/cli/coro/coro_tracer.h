/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command under the name coroTracer: the flags, defaults, exit statuses and files of the
 * program of that name, so that scripts written for it run unchanged. Only here may a shared file
 * or socket that was left over be replaced, and never one that is in use or a symbolic link.
 */
#ifndef WEFT_CLI_CORO_TRACER_H
#define WEFT_CLI_CORO_TRACER_H

int coro_tracer_is_name(const char *argv0);
int coro_tracer_main(int argc, char **argv); /* the exit status */

#endif
