/* SPDX-License-Identifier: Apache-2.0 */
/* --settings and --set: of verbs that record, and of those that filter a recording
 * (docs/settings.md). */
#ifndef WEFT_CLI_SETTINGS_ARGS_H
#define WEFT_CLI_SETTINGS_ARGS_H

#include "cli/frame/cli.h"
#include "collector/run/collector.h"

#include <weft/jfr_settings.h>

/* clang-format off */
#define SETTINGS_OPTIONS \
	{"settings", 0, CLI_FILE, CLI_MANY, "FILE", \
	 .help = "Take settings of events from a .jfc file, or a profile: default, profile"}, \
	{"set", 0, CLI_TEXT, CLI_MANY, "EVENT#SETTING=VALUE,...", \
	 .help = "Set this for the events of that name, in which * is anything"}
#define FILTER_OPTIONS \
	{"settings", 0, CLI_FILE, CLI_MANY, "FILE|NAME", \
	 .help = "Settings of event types: a .jfc file, or a profile: default, profile"}, \
	{"set", 0, CLI_TEXT, CLI_MANY, "E#S=V,...", \
	 .help = "A setting: EVENT#SETTING=VALUE, as in jdk.ThreadPark#threshold=1ms; * and ? in " \
		 "EVENT"}
/* clang-format on */

/*
 * settings_args_read() - into o->settings and o->settings_asked, which settings_args_free() frees.
 * @args NULL: the environment (WEFT_SETTINGS) alone. Periods of samples that nothing on the command
 * line gives are taken from there, too. 0, or an exit status with the message printed.
 */
int settings_args_read(const struct cli_args *args, struct collector_options *o);
void settings_args_free(struct collector_options *o);

/*
 * Reads FILTER_OPTIONS. Warns of unknown settings and of wrong values, but not of those of select:
 * they can be judged only where the event type is known. CLI_DONE with the list, which the caller
 * frees; or an exit status with the message printed.
 */
int filter_read(const struct cli_args *args, struct weft_jfr_settings **out);

#endif
