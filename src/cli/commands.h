/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command weft: a file for each verb, cmd_VERB.c, with its options and text in tables;
 * commands.c lists them, main.c finds one and runs it, on the command's one thread. What several
 * verbs share lies in frame/, what one, or a group, needs more files for in record/, doctor/, coro/
 * and inspect/.
 */
#ifndef WEFT_CLI_COMMANDS_H
#define WEFT_CLI_COMMANDS_H

#include "cli/frame/cli.h"

/* All verbs, in order of help; ends with NULL. */
extern const struct cli_command *const weft_commands[];

#endif
