/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording_args.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int recording_key(struct key *key, const char *option, const char *text)
{
	if (key_parse(key, text))
		return cli_usage("--%s: unknown key '%s'; known: %s", option, text,
				 key_choices(KEY_NO_KIND));
	return CLI_DONE;
}

static int refuse_where(const char *text, int error)
{
	if (error == -ENOMEM)
		return cli_error("--where: %s", strerror(ENOMEM));
	if (error == -EINVAL)
		return cli_usage("--where: '%s' is no KEY=VALUE", text);
	return cli_usage("--where: unknown key '%.*s'; known: %s", (int)strcspn(text, "="), text,
			 key_choices(KEY_STACK));
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

void recording_warn(const char *path, const struct key *key, const struct model *m)
{
	char tags[512] = "none";
	size_t used = 0;

	if (!key->unknown)
		return;
	for (uint32_t i = CONTEXT_TAGS; i < m->keys.count && used < sizeof(tags); i++) {
		int n = 0;

		if (i != key->tag)
			n = snprintf(tags + used, sizeof(tags) - used, "%s%s", used ? ", " : "",
				     names_text(&m->keys, i));
		used += n > 0 ? (size_t)n : 0;
	}
	cli_warning("%s: no tag '%s'; there are: %s", path, key->text + strlen("tag:"), tags);
}

/* What a file is that does not begin with a whole header of a chunk. */
static const char *stranger(const char *path)
{
	unsigned char start[4] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t bytes = fd < 0 ? -1 : read(fd, start, sizeof(start));

	if (fd >= 0)
		close(fd);
	if (bytes == 0)
		return "empty, not a JFR file";
	if (bytes == 4 && memcmp(start, "FLR", 4) == 0)
		return "at byte 0: chunk header is cut short";
	if (bytes >= 2 && start[0] == 0x1F && start[1] == 0x8B)
		return "not a JFR file, packed by gzip: unpack it first";
	return "not a JFR file";
}

int recording_refuse(const struct cli_args *args, const char *path, int error)
{
	switch (error) {
	case -EINVAL:
		return cli_usage("--event: unknown '%s'; known: cpu, wall, all, or the name of a "
				 "sample event type",
				 cli_text(args, "event"));
	case -EBADMSG:
		return cli_error("%s: %s", path, stranger(path));
	case -ESPIPE:
		return cli_error("%s: not a regular file", path);
	case -EPROTONOSUPPORT:
		return cli_error("%s: this version of the JFR format is not supported", path);
	default:
		return cli_error("%s: %s", path, strerror(-error));
	}
}
