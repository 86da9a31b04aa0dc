/* SPDX-License-Identifier: Apache-2.0 */
/* weft annotate: which lines of a function the time went to. */
#include "cli/frame/cli.h"

#include "cli/frame/recording_args.h"
#include "report/annotate/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_MAX 20
#define NEAREST_MAX 5

/* --path OLD=NEW and --source-dir; freed by free_places(). */
static int read_places(const struct cli_args *args, struct source_places *places)
{
	size_t maps = cli_count(args, "path"), directories = cli_count(args, "source-dir");
	struct path_map *map = calloc(maps + 1, sizeof(*map));
	const char **directory = calloc(directories + 1, sizeof(*directory));

	*places = (struct source_places){map, 0, directory, directories};
	if (!map || !directory)
		return cli_error("%s", strerror(ENOMEM));
	for (size_t i = 0; i < directories; i++)
		directory[i] = cli_text_at(args, "source-dir", i);
	for (size_t i = 0; i < maps; i++) {
		const char *text = cli_text_at(args, "path", i), *equals = strchr(text, '=');

		if (!equals || equals == text)
			return cli_usage("--path: '%s' is no OLD=NEW", text);
		map[i].from = strndup(text, (size_t)(equals - text));
		map[i].to = equals + 1;
		places->map_count++;
		if (!map[i].from)
			return cli_error("%s", strerror(ENOMEM));
	}
	return CLI_DONE;
}

static void free_places(struct source_places *places)
{
	for (size_t i = 0; i < places->map_count; i++)
		free((char *)(uintptr_t)places->maps[i].from);
	free((void *)(uintptr_t)places->maps);
	free((void *)(uintptr_t)places->directories);
}

static int unknown_function(const struct annotate *a, const char *wanted)
{
	const char *near[NEAREST_MAX];
	size_t count = annotate_nearest(a, wanted, near, NEAREST_MAX);
	char list[1024] = "";
	size_t used = 0;

	if (!a->whole.samples && a->read)
		return cli_error("%s: none of %llu samples is selected by --where", a->path,
				 (unsigned long long)a->read);
	if (!a->whole.samples)
		return cli_error("%s: no samples", a->path);
	for (size_t i = 0; i < count && used < sizeof(list); i++) {
		int n = snprintf(list + used, sizeof(list) - used, "%s'%s'",
				 i ? ", " : "; did you mean ", near[i]);

		used += n > 0 ? (size_t)n : 0;
	}
	return cli_error("%s: no sample is in a function '%s'%s%s", a->path, wanted, list,
			 count ? "?" : "; weft report --by function shows them");
}

static int several_functions(const struct annotate *a, const char *wanted)
{
	cli_error("%u functions match '%s'; name one, or give --where module=MODULE:",
		  a->functions.count, wanted);
	for (size_t i = 0; i < a->functions.count && i < LISTED_MAX; i++) {
		fprintf(stderr, "  %9llu samples  ",
			(unsigned long long)a->functions.item[i].weight.total.samples);
		annotate_print_function(a, &a->functions.item[i], stderr);
		fputc('\n', stderr);
	}
	if (a->functions.count > LISTED_MAX)
		fprintf(stderr, "  ... and %u more\n", a->functions.count - LISTED_MAX);
	return CLI_FAILED;
}

/* --where module=M selects samples that have M anywhere on the stack; here the function itself must
 * be in M. */
static int cmd_annotate_in_module(const struct annotate *a, const struct annotate_place *f)
{
	const struct model *m = source_model(a->source);

	for (size_t i = 0; i < a->where_count; i++)
		if (a->wheres[i].key.kind == KEY_MODULE &&
		    !where_match(a->wheres[i].value, names_text(&m->names, f->module)))
			return 0;
	return 1;
}

static void keep_module(struct annotate *a)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < a->functions.count; i++)
		if (cmd_annotate_in_module(a, &a->functions.item[i]))
			a->functions.item[kept++] = a->functions.item[i];
	a->functions.count = kept;
}

static int cmd_annotate_print(const struct cli_args *args, const struct annotate *a,
			      const struct annotate_view *view)
{
	int rc;

	errno = 0;
	rc = cli_flag(args, "json") ? annotate_json(a, &a->functions.item[0], view, stdout)
				    : annotate_text(a, &a->functions.item[0], view, stdout);
	if (cli_flushed())
		return CLI_FAILED;
	if (rc == -ENOENT)
		return cli_error(
			"%s: no %s of '%s' to show", a->path,
			view->disassemble ? "code" : "source or code",
			names_text(&source_model(a->source)->names, a->functions.item[0].function));
	return rc ? cli_error("%s: %s", a->path, strerror(-rc)) : CLI_DONE;
}

static int annotate(const struct cli_args *args, const struct annotate_query *q,
		    const struct annotate_view *view)
{
	const struct facts *facts;
	struct annotate *a;
	int status, rc = annotate_run(&a, q);

	if (rc)
		return recording_refuse(args, q->path, rc);
	facts = source_facts(a->source);
	recording_warn(a->path, source_model(a->source), NULL, 0, a->wheres, a->where_count);
	keep_module(a);
	if (a->functions.count == 0)
		status = unknown_function(a, q->function);
	else if (a->functions.count > 1)
		status = several_functions(a, q->function);
	else
		status = cmd_annotate_print(args, a, view);
	if (*facts->damage)
		status = cli_error("%s: %s; shown is what is whole", a->path, facts->damage);
	annotate_free(a);
	return status;
}

static int run(const struct cli_args *args)
{
	struct annotate_query q = {.function = cli_operand(args, 0), .path = cli_operand(args, 1)};
	struct annotate_view view = {0};
	int status = read_places(args, &view.places);

	if (!status)
		status = recording_wheres(args, &q.wheres, &q.where_count);
	if (!q.path)
		q.path = RECORDING_FILE;
	q.events = cli_text(args, "event");
	q.no_inlines = cli_flag(args, "no-inlines");
	view.disassemble = cli_flag(args, "disassemble");
	view.style = terminal_style();
	if (!status)
		status = annotate(args, &q, &view);
	recording_wheres_free(q.wheres, q.where_count);
	free_places(&view.places);
	return status;
}

static const struct cli_option options[] = {
	RECORDING_OPTION_WHERE,
	RECORDING_OPTION_EVENT,
	RECORDING_OPTION_NO_INLINES,
	{"source-dir", 's', CLI_FILE, CLI_MANY, "DIR",
	 .help = "Look for source files below this directory, too"},
	{"path", 0, CLI_TEXT, CLI_MANY, "OLD=NEW",
	 .help = "Paths of sources and programs that begin with OLD are at NEW"},
	{"disassemble", 'd', CLI_FLAG, .help = "Show instructions, where the source is there, too"},
	{"json", 0, CLI_FLAG, .help = "Print one JSON object"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft annotate parse", "the lines of parse(), with what each one cost"},
	{"weft annotate parse --where tag:route=/search --disassemble",
	 "its instructions, for one route"},
	{"weft annotate parse --path /build/shop=.", "the sources lie here"},
	{NULL, NULL},
};

const struct cli_command cmd_annotate = {
	.name = "annotate",
	.summary = "Show which lines or instructions of a function the time went to",
	.operands = "FUNCTION [FILE]",
	.operands_min = 1,
	.operands_max = 2,
	.description = "Shows the source of a function of a .jfr file (default: " RECORDING_FILE
		       ") with the weight of each line: self, what ran there; total, with what was "
		       "called or inlined there. Where there is no source, its instructions, if "
		       "the file that ran is still there.\n"
		       "\n"
		       "FUNCTION is a name as weft report shows it, or the same without arguments, "
		       "or its last part, or a pattern with *. Exits 1 when no function or several "
		       "match, or there is nothing to show them by.",
	.options = options,
	.examples = examples,
	.run = run,
};
