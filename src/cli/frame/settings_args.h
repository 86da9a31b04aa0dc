/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of events for a recording: from files, the environment and the command line. */
#ifndef WEFT_CLI_SETTINGS_ARGS_H
#define WEFT_CLI_SETTINGS_ARGS_H

#include "cli/frame/cli.h"
#include "collector/run/collector.h"

/* clang-format off */
#define SETTINGS_OPTIONS \
	{"settings", 0, CLI_FILE, CLI_MANY, "FILE", \
	 .help = "Take settings of events from a .jfc file, or a profile: default, profile"}, \
	{"set", 0, CLI_TEXT, CLI_MANY, "EVENT#SETTING=VALUE,...", \
	 .help = "Set this for the events of that name, in which * is anything"}
/* clang-format on */

/*
 * settings_args_read() - into o->settings and o->settings_asked, which settings_args_free() frees.
 * @args NULL: the environment (WEFT_SETTINGS) alone. Periods of samples that nothing on the command
 * line gives are taken from there, too. 0, or an exit status with the message printed.
 */
int settings_args_read(const struct cli_args *args, struct collector_options *o);
void settings_args_free(struct collector_options *o);

#endif
