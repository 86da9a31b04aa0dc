/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs that read a recording have in common: see recording_args.h. */
#include "cli/frame/recording_args.h"

#include "cli/frame/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jfr/read/unpack.h"
#include "report/show/layout.h"

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

static const char *word_of(const struct key *key)
{
	if (key->kind == KEY_RESOURCE)
		return "attribute of a resource";
	return key->kind == KEY_LABEL ? "label" : "tag";
}

/* Tags, labels or attributes that may have been meant, as many as there is room for. */
static void list_others(const struct key *key, const struct model *m, char *out, size_t room)
{
	int is_resource = key->kind == KEY_RESOURCE;
	const struct names *names = is_resource ? &m->resources.keys : &m->keys;
	size_t used = 0;
	char clean[LAYOUT_TEXT];

	for (uint32_t i = is_resource ? 1 : CONTEXT_TAGS; i < names->count; i++) {
		const char *name = names_text(names, i);
		int is_label = *key_prefix(name) == 0, n;

		if (i == key->tag || (!is_resource && is_label != (key->kind == KEY_LABEL)))
			continue;
		n = snprintf(out + used, room - used, "%s%s", used ? ", " : "",
			     layout_clean(clean, !is_resource && is_label ? key_bare(name) : name));
		if (n < 0 || (size_t)n + sizeof(", ...") > room - used) {
			strcpy(out + used, used ? ", ..." : "...");
			return;
		}
		used += (size_t)n;
	}
	if (!used)
		strcpy(out, "none");
}

static void warn_of_key(const char *path, const struct model *m, const struct key *key)
{
	char others[1024], clean[LAYOUT_TEXT];

	if (!key->unknown)
		return;
	list_others(key, m, others, sizeof(others));
	cli_warning("%s: no %s '%s'; there are: %s", path, word_of(key),
		    layout_clean(clean, key_bare(key->text)), others);
}

void recording_warn(const char *path, const struct model *m, const struct key *by, size_t by_count,
		    const struct where *wheres, size_t where_count)
{
	for (size_t i = 0; i < by_count; i++)
		warn_of_key(path, m, &by[i]);
	for (size_t i = 0; i < where_count; i++)
		warn_of_key(path, m, &wheres[i].key);
}

/* ---- refusals */

size_t recording_start(const char *path, void *start, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t got = fd < 0 ? -1 : pread(fd, start, bytes, 0);

	if (fd >= 0)
		close(fd);
	return got > 0 ? (size_t)got : 0;
}

/* Says what a file is that does not begin with a whole chunk header. */
static int refuse_stranger(const char *path)
{
	unsigned char start[4] = {0};
	size_t bytes = recording_start(path, start, sizeof(start));
	const char *packing = unpack_name(start, bytes);

	if (packing)
		return cli_error("%s: packed by %s, and no recording in it, or cut short within "
				 "its first bytes",
				 path, packing);
	if (bytes == 0)
		return cli_error("%s: empty, not a JFR file", path);
	if (bytes == 4 && memcmp(start, "FLR", 4) == 0)
		return cli_error("%s: at byte 0: chunk header is cut short", path);
	return cli_error("%s: not a JFR file", path);
}

static int refuse_packed(const char *path, const char *why)
{
	unsigned char start[4] = {0};
	const char *packing = unpack_name(start, recording_start(path, start, sizeof(start)));

	return cli_error("%s: packed by %s%s", path, packing ? packing : "something", why);
}

int recording_refuse(const struct cli_args *args, const char *path, int error)
{
	switch (error) {
	case -EINVAL:
		return cli_usage("--event: unknown '%s'; known: cpu, wall, all, coroutine-run, "
				 "coroutine-wait, or the name of an event type that the file has",
				 cli_text(args, "event"));
	case -ENODATA:
		return cli_error("%s: damaged, and no event type of that name in what is whole",
				 path);
	case -EBADMSG:
		return refuse_stranger(path);
	case -EOPNOTSUPP:
		return refuse_packed(path,
				     " in a way that this weft was built without: unpack it first");
	case -EFBIG:
		return refuse_packed(path, ", and unpacked larger than a recording would be (200 "
					   "times its size and 64 MiB, or 8 GiB): unpack it first");
	case -ESPIPE:
		return cli_error("%s: not a regular file", path);
	case -EPROTONOSUPPORT:
		return cli_error("%s: this version of the JFR format is not supported", path);
	default:
		return cli_error("%s: %s", path, strerror(-error));
	}
}

int select_args_read(const struct cli_args *args, struct print_select *select)
{
	static const char *const options[] = {"events", "categories"};

	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < cli_count(args, options[k]); i++)
			if (select_add(select, cli_text_at(args, options[k], i), k))
				return cli_error("--%s: %s", options[k], strerror(ENOMEM));
	return CLI_DONE;
}

struct text_style terminal_style(void)
{
	return (struct text_style){
		.columns = term_is(stdout) ? term_columns(stdout) : 0,
		.bold = term_colour(stdout, TERM_BOLD),
		.dim = term_colour(stdout, TERM_DIM),
		.warn = term_colour(stdout, TERM_YELLOW),
		.hot = term_colour(stdout, TERM_RED),
		.plain = term_colour(stdout, TERM_PLAIN),
	};
}

struct text_style table_style_of(const struct cli_args *args, uint64_t top)
{
	struct text_style style = terminal_style();

	style.top = cli_given(args, "top") ? cli_number(args, "top") : top;
	if (cli_given(args, "width"))
		style.columns = (int)cli_number(args, "width");
	return style;
}
