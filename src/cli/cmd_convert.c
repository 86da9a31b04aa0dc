/* SPDX-License-Identifier: Apache-2.0 */
/* weft convert: a recording in another program's format. */
#include "cli/frame/cli.h"

#include "base/output.h"
#include "cli/frame/leave.h"
#include "cli/frame/recording_args.h"
#include "cli/frame/term.h"
#include "export/export.h"

#define BY_MAX 16

static int cmd_convert_read_by(const struct cli_args *args, struct key *by, size_t *count)
{
	*count = cli_count(args, "by");
	if (*count > BY_MAX)
		return cli_usage("--by: at most %d keys", BY_MAX);
	for (size_t i = 0; i < *count; i++) {
		int status = recording_key(&by[i], "by", cli_text_at(args, "by", i));

		if (status)
			return status;
		if (key_is_per_frame(&by[i]) || by[i].kind == KEY_STACK)
			return cli_usage("--by: %s is in the stacks already", by[i].text);
	}
	return CLI_DONE;
}

static void cmd_convert_bind(const char *path, struct export_job *x)
{
	struct model *m = source_model(x->source);

	for (size_t i = 0; i < x->by_count; i++)
		key_bind(&x->by[i], m);
	for (size_t i = 0; i < x->where_count; i++)
		where_bind(&x->wheres[i], m);
	recording_warn(path, m, x->by, x->by_count, x->wheres, x->where_count);
}

static int convert(const struct cli_args *args, struct export_job *x)
{
	const char *path = cli_operand(args, 0), *to = cli_text(args, "output");
	int status = CLI_DONE, rc = source_open(&x->source, path, cli_text(args, "event"));

	if (rc)
		return recording_refuse(args, path, rc);
	cmd_convert_bind(path, x);
	rc = export_samples(x, to);
	if (rc)
		status = cli_error("%s: %s", output_name(to), output_why(rc));
	else if (*source_facts(x->source)->damage)
		status = cli_error("%s: %s; converted is what is whole", path,
				   source_facts(x->source)->damage);
	else if (!x->samples)
		status = cli_error("%s: no samples%s", path,
				   x->where_count ? " of which --where holds" : "");
	source_free(x->source);
	return status;
}

/* Refuses what can be refused before anything is read. */
static int cmd_convert_check(const struct cli_args *args, struct export_job *x)
{
	const char *to = cli_text(args, "output");

	if (!cli_given(args, "to"))
		return cli_usage("missing --to FORMAT");
	x->format = exporter_find(cli_text(args, "to"));
	if (x->format->flags & EXPORT_BINARY && is_standard_output(to) && term_is(stdout))
		return cli_usage("%s is binary: give -o FILE, or redirect it", x->format->name);
	if (!is_standard_output(to) && would_overwrite(cli_operand(args, 0), to))
		return cli_usage("%s: is the recording itself: name another file", to);
	return CLI_DONE;
}

static int run(const struct cli_args *args)
{
	struct key by[BY_MAX];
	struct export_job x = {.by = by,
			       .lines = cli_flag(args, "lines"),
			       .no_inlines = cli_flag(args, "no-inlines")};
	int status = cmd_convert_check(args, &x);

	leave_no_half_files();
	if (!status)
		status = cmd_convert_read_by(args, by, &x.by_count);
	if (!status)
		status = recording_wheres(args, &x.wheres, &x.where_count);
	if (!status)
		status = convert(args, &x);
	recording_wheres_free(x.wheres, x.where_count);
	return status;
}

static const char *const formats[] = {
#define NAME(NAME, KIND, FLAGS, EXTENSION, HELP) EXPORT_IF_SAMPLES(KIND, #NAME, )
	EXPORT_FORMATS(NAME)
#undef NAME
		NULL,
};

static const struct cli_option options[] = {
	{"to", 't', CLI_CHOICE, 0, "FORMAT", .help = "The format to write", .choices = formats},
	{"output", 'o', CLI_FILE, 0, "OUT",
	 .help = "Write this file, whole or not at all; - or none: standard output"},
	{"by", 'b', CLI_TEXT, CLI_LIST, "KEY,...",
	 .help = "Put span, root, trace, thread, process, state, tag:NAME, label:KEY or "
		 "resource:KEY "
		 "before the stacks (pprof: only these labels)"},
	RECORDING_OPTION_WHERE,
	RECORDING_OPTION_EVENT,
	RECORDING_OPTION_NO_INLINES,
	{"lines", 0, CLI_FLAG,
	 .help = "Frames of collapsed are \"function file.c:42\" (pprof always has lines)"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft convert weft.jfr --to collapsed --by tag:route | flamegraph.pl > flame.svg",
	 "a flame graph with a tower for each route"},
	{"weft convert weft.jfr --to pprof -o weft.pb.gz && go tool pprof -top weft.pb.gz",
	 "the same samples in pprof"},
	{NULL, NULL},
};

const struct cli_command cmd_convert = {
	.name = "convert",
	.summary = "Write a recording in another program's format",
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.description = "Formats:\n"
#define HELP(NAME, KIND, FLAGS, EXTENSION, HELP) EXPORT_IF_SAMPLES(KIND, "  " #NAME ": " HELP "\n")
	EXPORT_FORMATS(HELP)
#undef HELP
		"\n"
		"Exits 1 when the file is damaged (what is whole is converted) or has no samples.",
	.options = options,
	.examples = examples,
	.run = run,
};
