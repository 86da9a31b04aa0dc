/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs have in common that select event types: --events and --categories. */
#ifndef WEFT_CLI_SELECT_ARGS_H
#define WEFT_CLI_SELECT_ARGS_H

#include "cli/frame/cli.h"
#include "print/select.h"

/* Adds the globs of both options. CLI_DONE, or an exit status with the message printed; @select is
 * to be freed either way. */
int select_args_read(const struct cli_args *args, struct print_select *select);

#endif
