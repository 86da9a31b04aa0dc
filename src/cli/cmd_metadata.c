/* SPDX-License-Identifier: Apache-2.0 */
/* weft metadata: the types that a recording declares. */
#include "cli/frame/cli.h"

#include "cli/frame/recording_args.h"
#include "cli/inspect/metadata.h"
#include "jfr/read/declared.h"
#include "report/show/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- order, choice */

static int ends_in(const char *text, const char *tail)
{
	size_t n = strlen(text), m = strlen(tail);

	return n >= m && strcmp(text + n - m, tail) == 0;
}

static int cmd_metadata_is_event(const struct weft_jfr_class *c)
{
	return ends_in(weft_jfr_class_super(c), ".Event");
}

/* Types are shown in these groups: primitives, structs, annotations, settings, events. */
static int cmd_metadata_group_of(const struct weft_jfr_class *c)
{
	const char *super = weft_jfr_class_super(c);

	if (!*super)
		return strchr(weft_jfr_class_name(c), '.') != NULL;
	if (cmd_metadata_is_event(c))
		return 4;
	return ends_in(super, ".Annotation") ? 2 : 3;
}

static int by_group(const void *a, const void *b)
{
	const struct weft_jfr_class *x = *(const struct weft_jfr_class *const *)a;
	const struct weft_jfr_class *y = *(const struct weft_jfr_class *const *)b;
	int order = cmd_metadata_group_of(x) - cmd_metadata_group_of(y);

	if (!order)
		order = strcmp(weft_jfr_class_name(x), weft_jfr_class_name(y));
	if (order)
		return order;
	return (weft_jfr_class_id(x) > weft_jfr_class_id(y)) -
	       (weft_jfr_class_id(x) < weft_jfr_class_id(y));
}

/* With globs, which are of event types, only the types that match are kept. */
static size_t choose(struct jfr_declared *d, struct print_select *select)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct weft_jfr_class *c = d->classes[i];

		if (!select->count || (cmd_metadata_is_event(c) && select_matches(select, c)))
			d->classes[kept++] = c;
	}
	if (kept)
		qsort(d->classes, kept, sizeof(*d->classes), by_group);
	return kept;
}

static void cmd_metadata_warn_of_globs(const struct print_select *select)
{
	char clean[LAYOUT_TEXT];

	for (size_t i = 0; i < select->count; i++)
		if (!select->globs[i].hits)
			cli_warning("no event type %s '%s'",
				    select->globs[i].is_category ? "of a category" : "named",
				    layout_clean(clean, select->globs[i].text));
}

/* ---------------------------------------------------------------- */

static int cmd_metadata_show(const struct cli_args *args, struct jfr_declared *d,
			     struct print_select *select)
{
	size_t count = choose(d, select);
	int status = CLI_DONE;

	errno = 0;
	if (!cli_flag(args, "json"))
		metadata_text(d->classes, count);
	else
		status = cli_written(metadata_json(d->classes, count));
	if (status || cli_flushed())
		return CLI_FAILED;
	cmd_metadata_warn_of_globs(select);
	return count || !select->count ? CLI_DONE : cli_error("nothing is selected");
}

static int cmd_metadata_look(const struct cli_args *args, struct print_select *select)
{
	const char *path = cli_operand(args, 0);
	struct weft_jfr_reader *r = weft_jfr_open(path);
	struct jfr_declared d;
	int status, rc;

	if (!r)
		return recording_refuse(args, path, -errno);
	rc = jfr_declared(r, &d);
	status = d.count || !rc ? cmd_metadata_show(args, &d, select) : CLI_FAILED;
	if (rc)
		status = cli_error("%s: %s%s", path, weft_jfr_error(r),
				   d.count ? "; shown is what is whole" : "");
	jfr_declared_free(&d);
	weft_jfr_reader_free(r);
	return status;
}

static int run(const struct cli_args *args)
{
	struct print_select select = {0};
	int status = select_args_read(args, &select);

	if (!status)
		status = cmd_metadata_look(args, &select);
	select_free(&select);
	return status;
}

static const struct cli_option options[] = {
	{"events", 'e', CLI_TEXT, CLI_LIST, "GLOB,...",
	 .help = "Only these event types: 'jdk.*', ExecutionSample, '*Sample'"},
	{"categories", 'c', CLI_TEXT, CLI_LIST, "GLOB,...",
	 .help = "Only event types in these categories, or named by --events: GC, 'Java*', JVM "
		 "(first letters)"},
	{"json", 0, CLI_FLAG, .help = "Print one JSON object"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft metadata --events ExecutionSample weft.jfr", "the fields of a type"},
	{"weft metadata --json weft.jfr | jq -r '.types[].name'", "all types, for a program"},
	{NULL, NULL},
};

const struct cli_command cmd_metadata = {
	.name = "metadata",
	.summary = "Show the types that a recording declares: fields, annotations, settings",
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.description = "Prints what `jfr metadata` prints of a file, and the settings of types as "
		       "comments. Without globs all types are shown, those of fields, annotations "
		       "and settings, too.\n"
		       "\n"
		       "Exits 1 when the file is damaged (the types of whole chunks are shown), or "
		       "nothing is selected.",
	.options = options,
	.examples = examples,
	.run = run,
};
