/* SPDX-License-Identifier: Apache-2.0 */
/* --settings and --set of verbs that filter a recording by them: docs/settings.md. */
#ifndef WEFT_CLI_FILTER_ARGS_H
#define WEFT_CLI_FILTER_ARGS_H

#include "cli/frame/cli.h"

#include <weft/jfr_settings.h>

/* clang-format off */
#define FILTER_OPTIONS \
	{.name = "settings", .kind = CLI_FILE, .flags = CLI_MANY, .argument = "FILE|NAME", \
	 .help = "Settings of event types: a .jfc file, or a profile: default, profile"}, \
	{.name = "set", .kind = CLI_TEXT, .flags = CLI_MANY, .argument = "E#S=V,...", \
	 .help = "A setting: EVENT#SETTING=VALUE, as in jdk.ThreadPark#threshold=1ms; * and ? in EVENT"}
/* clang-format on */

/*
 * Reads the options. Warns of unknown settings and of wrong values, but not of those of select:
 * they can be judged only where the event type is known. CLI_DONE with the list, which the caller
 * frees; or an exit status with the message printed.
 */
int filter_read(const struct cli_args *args, struct weft_jfr_settings **out);

#endif
