/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int recording_key(struct key *key, const char *option, const char *text)
{
	if (key_parse(key, text))
		return cli_usage("--%s: unknown key '%s'; known: %s", option, text, key_choices());
	return CLI_DONE;
}

static int refuse_where(const char *text, int error)
{
	if (error == -ENOMEM)
		return cli_error("--where: %s", strerror(ENOMEM));
	if (error == -EINVAL)
		return cli_usage("--where: '%s' is no KEY=VALUE", text);
	return cli_usage("--where: no such key in '%s'; known: %s (but stack)", text,
			 key_choices());
}

int recording_wheres(const struct cli_args *args, struct where **out, size_t *count)
{
	size_t given = cli_count(args, "where");
	struct where *wheres = calloc(given + 1, sizeof(*wheres));

	*out = wheres;
	*count = 0;
	if (!wheres)
		return cli_error("--where: %s", strerror(ENOMEM));
	for (size_t i = 0; i < given; i++) {
		const char *text = cli_text_at(args, "where", i);
		int rc = where_parse(&wheres[(*count)++], text);

		if (rc)
			return refuse_where(text, rc);
	}
	return CLI_DONE;
}

void recording_wheres_free(struct where *wheres, size_t count)
{
	for (size_t i = 0; i < count; i++)
		where_free(&wheres[i]);
	free(wheres);
}

int recording_refuse(const char *path, int error)
{
	switch (error) {
	case -EINVAL:
		return cli_usage("--event: unknown; known: cpu, wall, all, or the name of a sample "
				 "event type");
	case -EBADMSG:
		return cli_error("%s: not a JFR file", path);
	case -EPROTONOSUPPORT:
		return cli_error("%s: this version of the JFR format is not supported", path);
	default:
		return cli_error("%s: %s", path, strerror(-error));
	}
}
