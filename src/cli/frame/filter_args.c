/* SPDX-License-Identifier: Apache-2.0 */
/* --settings and --set of filters: see filter_args.h. */
#include "cli/frame/filter_args.h"

#include "base/event_settings.h"
#include "cli/frame/locate.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

static void filter_args_tell(enum weft_jfr_settings_trouble trouble,
			     const struct weft_jfr_setting *s, void *arg)
{
	(void)arg;
	if (trouble == WEFT_JFR_SETTING_WRONG &&
	    strcasecmp(s->name, weft_setting_name(SETTING_SELECT)) == 0)
		return;
	if (trouble == WEFT_JFR_SETTING_UNKNOWN && s->file)
		cli_warning("%s:%u: unknown setting '%s' is passed over", s->file, s->line,
			    s->name);
	else if (trouble == WEFT_JFR_SETTING_UNKNOWN)
		cli_warning("unknown setting '%s' is passed over", s->name);
	else if (s->file)
		cli_warning("%s:%u: %s#%s: no value of it: '%s'", s->file, s->line, s->glob,
			    s->name, s->value);
	else
		cli_warning("%s#%s: no value of it: '%s'", s->glob, s->name, s->value);
}

static int complain(const struct weft_jfr_settings *s, int err, const char *where)
{
	return err == -EINVAL ? cli_usage("%s: %s", where, weft_jfr_settings_error(s))
			      : cli_error("%s: %s", where, weft_jfr_settings_error(s));
}

static int filter_args_gather(const struct cli_args *args, struct weft_jfr_settings *s)
{
	int err;

	for (size_t i = 0; i < cli_count(args, "settings"); i++) {
		err = weft_jfr_settings_file(s, WEFT_JFR_FROM_FILE,
					     cli_text_at(args, "settings", i));
		if (err)
			return complain(s, err, "--settings");
	}
	for (size_t i = 0; i < cli_count(args, "set"); i++) {
		err = weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE,
					       cli_text_at(args, "set", i));
		if (err)
			return complain(s, err, "--set");
	}
	weft_jfr_settings_check(s, filter_args_tell, NULL);
	return CLI_DONE;
}

int filter_read(const struct cli_args *args, struct weft_jfr_settings **out)
{
	char directory[PATH_MAX];
	int found = locate_profiles(directory, sizeof(directory)) == 0, status;
	struct weft_jfr_settings *s = weft_jfr_settings_new(found ? directory : NULL);

	if (!s)
		return cli_error("%s", strerror(ENOMEM));
	status = filter_args_gather(args, s);
	if (status)
		weft_jfr_settings_free(s);
	else
		*out = s;
	return status;
}
