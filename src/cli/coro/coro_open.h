/* SPDX-License-Identifier: Apache-2.0 */
/* The shared file that an operand names: a path, a process's pid, or none: the one in use. */
#ifndef WEFT_CLI_CORO_OPEN_H
#define WEFT_CLI_CORO_OPEN_H

#include "coro/look/source.h"

/* A number, and no file of that name. */
int coro_open_is_pid(const char *text);
/* @text: a path, a pid, or NULL. CLI_DONE, or another status with the message printed. */
int coro_open(struct coro_source *s, const char *text);

#endif
