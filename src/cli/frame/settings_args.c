/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of events, given by options: see settings_args.h. */
#include "cli/frame/settings_args.h"

#include "base/buf.h"
#include "base/event_settings.h"
#include "base/recording.h"
#include "cli/frame/engines.h"
#include "cli/frame/locate.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* With the built-in profiles, where they are found. */
static struct weft_jfr_settings *settings_args_new(void)
{
	char profiles[PATH_MAX];

	return weft_jfr_settings_new(locate_profiles(profiles, sizeof(profiles)) ? NULL : profiles);
}

/* What both options give. 0 or -errno, of the option *@name. */
static int settings_args_gather(const struct cli_args *args, struct weft_jfr_settings *s,
				const char **name)
{
	int rc = 0;

	*name = "settings";
	for (size_t i = 0; !rc && i < cli_count(args, *name); i++)
		rc = weft_jfr_settings_file(s, WEFT_JFR_FROM_FILE, cli_text_at(args, *name, i));
	if (rc)
		return rc;
	*name = "set";
	for (size_t i = 0; !rc && i < cli_count(args, *name); i++)
		rc = weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE,
					      cli_text_at(args, *name, i));
	return rc;
}

/* ---- of a recording that is made */

/* The collector warns of a wrong select, for it knows the event types. */
static void settings_args_tell(enum weft_jfr_settings_trouble trouble,
			       const struct weft_jfr_setting *s, void *arg)
{
	(void)arg;
	if (trouble == WEFT_JFR_SETTING_UNKNOWN && s->file)
		cli_warning("%s:%u: no such setting here: %s#%s", s->file, s->line, s->glob,
			    s->name);
	else if (trouble == WEFT_JFR_SETTING_UNKNOWN)
		cli_warning("no such setting: %s#%s", s->glob, s->name);
	else if (strcmp(s->name, weft_setting_name(SETTING_SELECT)) != 0)
		cli_warning("%s#%s: it cannot be '%s'", s->glob, s->name, s->value);
}

/* The GLOBs of --set, one a line: the user is told of those that no event type matched. */
static char *settings_args_globs(struct weft_jfr_settings *s)
{
	const struct weft_jfr_setting *all;
	size_t count = weft_jfr_settings_all(s, &all);
	struct buf out = {0};

	for (size_t i = 0; i < count; i++) {
		if (all[i].source != WEFT_JFR_FROM_COMMAND_LINE || all[i].file)
			continue;
		buf_put(&out, all[i].glob, strlen(all[i].glob));
		buf_put(&out, "\n", 1);
	}
	buf_put(&out, "", 1);
	if (!out.failed)
		return (char *)out.data;
	buf_free(&out);
	return NULL;
}

static int take_period(const char *lines, const char *event, uint64_t least_ns, uint64_t *period_ns)
{
	struct event_settings s = {0};

	weft_settings_apply(&s, event, lines, strlen(lines));
	if (!(s.given >> SETTING_PERIOD & 1) || s.period_ns >= PERIOD_END_CHUNK)
		return CLI_DONE;
	if (s.period_ns < least_ns || s.period_ns > ENGINE_PERIOD_MAX_NS)
		return cli_usage("%s#period: a sample each %llu ns is not between %s and 1h", event,
				 (unsigned long long)s.period_ns,
				 least_ns == ENGINE_CPU_PERIOD_MIN_NS ? "10us" : "1ms");
	*period_ns = s.period_ns;
	return CLI_DONE;
}

static int take_periods(const struct cli_args *args, const char *lines, struct collector_options *o)
{
	int rate = args && engines_rate_is_given(args, "frequency", "interval");
	int rc = CLI_DONE;

	if (o->engines & WEFT_ENGINE_WALL &&
	    !(args && engines_rate_is_given(args, "wall-frequency", "wall-interval")) &&
	    !(rate && o->engines == WEFT_ENGINE_WALL))
		rc = take_period(lines, RECORDING_WALL_SAMPLE, ENGINE_WALL_PERIOD_MIN_NS,
				 &o->wall.period_ns);
	if (rc == CLI_DONE && o->engines == WEFT_ENGINE_WALL)
		o->period_ns = o->wall.period_ns;
	else if (rc == CLI_DONE && !rate)
		rc = take_period(lines, RECORDING_EXECUTION_SAMPLE, ENGINE_CPU_PERIOD_MIN_NS,
				 &o->period_ns);
	return rc;
}

static int settings_args_apply(const struct cli_args *args, struct weft_jfr_settings *s,
			       struct collector_options *o)
{
	const char *lines, *name;
	int status;

	if (weft_jfr_settings_list(s, WEFT_JFR_FROM_ENVIRONMENT, secure_getenv("WEFT_SETTINGS")))
		return cli_usage("WEFT_SETTINGS: %s", weft_jfr_settings_error(s));
	if (args && settings_args_gather(args, s, &name))
		return cli_usage("--%s: %s", name, weft_jfr_settings_error(s));
	weft_jfr_settings_check(s, settings_args_tell, NULL);
	lines = weft_jfr_settings_lines(s);
	if (!lines)
		return cli_error("%s", strerror(ENOMEM));
	status = take_periods(args, lines, o);
	if (status)
		return status;
	o->settings = strdup(lines);
	o->settings_asked = settings_args_globs(s);
	return o->settings && o->settings_asked ? CLI_DONE : cli_error("%s", strerror(ENOMEM));
}

int settings_args_read(const struct cli_args *args, struct collector_options *o)
{
	struct weft_jfr_settings *s = settings_args_new();
	int status = s ? settings_args_apply(args, s, o) : cli_error("%s", strerror(ENOMEM));

	weft_jfr_settings_free(s);
	return status;
}

void settings_args_free(struct collector_options *o)
{
	free((char *)(uintptr_t)o->settings);
	free((char *)(uintptr_t)o->settings_asked);
	o->settings = o->settings_asked = NULL;
}

/* ---- of a recording that is filtered */

static void filter_args_tell(enum weft_jfr_settings_trouble trouble,
			     const struct weft_jfr_setting *s, void *arg)
{
	char place[PATH_MAX + 16] = "";

	(void)arg;
	if (s->file)
		snprintf(place, sizeof(place), "%s:%u: ", s->file, s->line);
	if (trouble == WEFT_JFR_SETTING_UNKNOWN)
		cli_warning("%sunknown setting '%s' is passed over", place, s->name);
	else if (strcasecmp(s->name, weft_setting_name(SETTING_SELECT)) != 0)
		cli_warning("%s%s#%s: no value of it: '%s'", place, s->glob, s->name, s->value);
}

int filter_read(const struct cli_args *args, struct weft_jfr_settings **out)
{
	struct weft_jfr_settings *s = settings_args_new();
	const char *name;
	int rc, status;

	if (!s)
		return cli_error("%s", strerror(ENOMEM));
	rc = settings_args_gather(args, s, &name);
	if (!rc) {
		weft_jfr_settings_check(s, filter_args_tell, NULL);
		*out = s;
		return CLI_DONE;
	}
	status = rc == -EINVAL ? cli_usage("--%s: %s", name, weft_jfr_settings_error(s))
			       : cli_error("--%s: %s", name, weft_jfr_settings_error(s));
	weft_jfr_settings_free(s);
	return status;
}
