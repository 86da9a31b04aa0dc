/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_CLI_COMMANDS_H
#define WEFT_CLI_COMMANDS_H

#include "cli/frame/cli.h"

/* All verbs, in order of help; ends with NULL. */
extern const struct cli_command *const weft_commands[];

#endif
