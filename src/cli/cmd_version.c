/* SPDX-License-Identifier: Apache-2.0 */
/* weft version, and weft --version. */
#include "cli/frame/cli.h"

#include <stdio.h>

static int run(const struct cli_args *args)
{
	(void)args;
	printf("weft %s\n", cli_version);
	return CLI_DONE;
}

const struct cli_command cmd_version = {
	.name = "version",
	.summary = "Print the version",
	.run = run,
};
