/* SPDX-License-Identifier: Apache-2.0 */
/* weft merge: several recordings into one, or one with the settings that it should have had. */
#include "cli/frame/cli.h"

#include "base/output.h"
#include "cli/frame/leave.h"
#include "cli/frame/recording_args.h"
#include "cli/frame/settings_args.h"
#include "cli/frame/term.h"
#include "jfr/merge/merge.h"

#include <errno.h>
#include <string.h>

#define SELECTS_TOLD 8 /* more are only counted */

static int any_damaged;
static unsigned int wrong_selects;

static void damaged(const char *path, const char *why)
{
	any_damaged = 1;
	(void)cli_error("%s: %s; merged is what is whole", path, why);
}

static void wrong_select(const char *event)
{
	if (wrong_selects++ >= SELECTS_TOLD)
		return;
	cli_warning("%s#select: not for an event of this kind, or no value of it: all is kept",
		    event);
}

static int report(const struct cli_args *args, const struct merge *m, int rc, const char *name)
{
	if (rc == -ENODATA)
		return cli_error("%s: nothing to write: no chunk is whole", name);
	if (rc && m->failed)
		return recording_refuse(args, m->failed, rc);
	if (rc)
		return cli_error("%s: %s", name, strerror(-rc));
	return any_damaged ? CLI_FAILED : CLI_DONE;
}

/* One of the recordings may be the output itself: it is replaced when the new one is whole. */
static int write_merged(const struct cli_args *args, struct merge *m)
{
	const char *path = cli_text(args, "output"), *name = output_name(path);
	struct output *output;
	int rc = output_open(&output, path);

	if (rc)
		return cli_error("%s: %s", name, output_why(rc));
	m->output = output_descriptor(output);
	rc = merge_run(m);
	if (wrong_selects > SELECTS_TOLD)
		cli_warning("select: the same of other types: %u", wrong_selects - SELECTS_TOLD);
	if (rc) {
		output_abandon(output);
		return report(args, m, rc, name);
	}
	rc = output_commit(output);
	return rc ? cli_error("%s: %s", name, output_why(rc)) : report(args, m, 0, name);
}

static int run(const struct cli_args *args)
{
	struct weft_jfr_settings *settings;
	struct merge m = {
		.paths = (const char *const *)cli_operands(args),
		.count = (size_t)cli_operand_count(args),
		.damaged = damaged,
		.wrong_select = wrong_select,
	};
	int status;

	if (is_standard_output(cli_text(args, "output")) && term_is(stdout))
		return cli_usage("recordings are binary: give -o FILE, or redirect it");
	leave_no_half_files();
	status = filter_read(args, &settings);
	if (status)
		return status;
	m.lines = weft_jfr_settings_lines(settings);
	status = m.lines ? write_merged(args, &m) : cli_error("%s", strerror(ENOMEM));
	weft_jfr_settings_free(settings);
	return status;
}

static const struct cli_option options[] = {
	{"output", 'o', CLI_FILE, 0, "OUT",
	 .help = "Write this file, whole or not at all; -: standard output",
	 .fallback = "merged.jfr"},
	FILTER_OPTIONS,
	{0},
};

static const struct cli_example examples[] = {
	{"weft merge -o day.jfr morning.jfr evening.jfr", "several recordings as one"},
	{"weft merge -o spans.jfr --set 'jdk.JavaMonitorWait#select=if-context' jvm.jfr",
	 "a JVM's recording, with the waits that were in a contextual event"},
	{"weft merge -o small.jfr --settings default weft.jfr", "what a profile would have kept"},
	{NULL, NULL},
};

const struct cli_command cmd_merge = {
	.name = "merge",
	.summary = "Join recordings, and apply settings to them afterwards",
	.operands = "FILE...",
	.operands_min = 1,
	.operands_max = -1,
	.description = "Reads any recordings of the JFR format, a JVM's too, and writes one with "
		       "all their events, types, annotations and stacks.\n"
		       "\n"
		       "Settings are applied to events of any type, as a live recording does it: "
		       "enabled, select, threshold, throttle, and stackTrace. So `select` works "
		       "for the JDK's own events, too, which no JDK applies it to.\n"
		       "\n"
		       "Exits 1 when a file is damaged; what is whole is merged all the same.",
	.options = options,
	.examples = examples,
	.run = run,
};
