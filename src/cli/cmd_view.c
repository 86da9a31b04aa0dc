/* SPDX-License-Identifier: Apache-2.0 */
/* weft view: one thing that a recording holds, as a table. */
#include "cli/frame/cli.h"

#include "base/text/nearest.h"
#include "cli/frame/recording_args.h"
#include "report/view/view.h"

#include <errno.h>
#include <string.h>

#define TOP 40

static void cmd_view_list(void)
{
	for (size_t i = 0; views[i]; i++)
		printf("%-12s %s\n", views[i]->name, views[i]->help);
	printf("%-12s %s\n", "TYPE", "the events of a type, by its name (jdk.ThreadPark)");
}

static int cmd_view_print(const struct cli_args *args, const struct view_run *v)
{
	struct text_style style = table_style_of(args, TOP);
	int rc;

	errno = 0;
	rc = cli_flag(args, "json") ? view_json(v, cli_given(args, "top") ? style.top : 0, stdout)
				    : view_text(v, &style, stdout);
	if (cli_flushed())
		return CLI_FAILED;
	return rc ? cli_error("%s: %s", v->query->path, strerror(-rc)) : CLI_DONE;
}

/* A damaged file is shown as far as it is whole; the exit status is a failure's. */
static int cmd_view_verdict(const struct view_run *v)
{
	const struct facts *f = source_facts(v->source);

	if (*f->damage)
		return cli_error("%s: %s; shown is what is whole", v->query->path, f->damage);
	if (table_rows(&v->table))
		return CLI_DONE;
	if (v->read && !v->number)
		return cli_error("%s: none of %llu events is selected by --where", v->query->path,
				 (unsigned long long)v->read);
	return cli_error("%s: nothing for %s", v->query->path,
			 v->view ? v->view->name : v->query->type);
}

static int refuse_name(const char *path, const char *name)
{
	struct nearest search = {name, NULL, 0};

	for (size_t i = 0; views[i]; i++)
		nearest_offer(&search, views[i]->name);
	if (search.best)
		return cli_usage("'%s' is no view, and no event type of %s; did you mean '%s'?",
				 name, path, search.best);
	return cli_usage("'%s' is no view, and no event type of %s; `weft view` lists the views",
			 name, path);
}

static int run_file(const struct cli_args *args, struct view_query *q, const char *path)
{
	struct view_run *v;
	int rc, status;

	q->path = path;
	rc = view_run(&v, q);
	if (rc == -EINVAL && !q->view)
		return refuse_name(path, q->type);
	if (rc)
		return recording_refuse(args, path, rc);
	recording_warn(path, source_model(v->source), &v->by, q->by != NULL, v->wheres,
		       q->where_count);
	status = cmd_view_print(args, v);
	if (!status)
		status = cmd_view_verdict(v);
	view_free(v);
	return status;
}

static int cmd_view_read_by(const struct cli_args *args, struct view_query *q, struct key *by)
{
	const char *text = cli_text(args, "by");
	int status;

	if (!text)
		return CLI_DONE;
	if (!q->view || !q->view->by)
		return cli_usage("--by: only of the view spans");
	q->by_type = strcmp(text, "type") == 0;
	if (q->by_type)
		return CLI_DONE;
	status = recording_key(by, "by", text);
	if (!status && (key_is_per_frame(by) || by->kind == KEY_STACK))
		return cli_usage("--by: a span has no %s", text);
	q->by = by;
	return status;
}

static int run_files(const struct cli_args *args, struct view_query *q)
{
	int count = cli_operand_count(args), status = CLI_DONE;

	if (count < 2)
		return run_file(args, q, RECORDING_FILE);
	for (int i = 1; i < count; i++) {
		int one;

		if (i > 1 && !cli_flag(args, "json"))
			putchar('\n');
		one = run_file(args, q, cli_operand(args, i));
		status = one > status ? one : status;
	}
	return status;
}

static int run(const struct cli_args *args)
{
	const char *name = cli_operand(args, 0);
	struct view_query q = {.events = cli_text(args, "event")};
	struct key by;
	int status;

	if (!name) {
		cmd_view_list();
		return CLI_DONE;
	}
	q.view = view_find(name);
	q.type = name;
	q.rows_max = cli_flag(args, "json") && !cli_given(args, "top") ? 0
		     : cli_given(args, "top")                          ? cli_number(args, "top")
								       : TOP;
	status = recording_wheres(args, &q.wheres, &q.where_count);
	if (!status)
		status = cmd_view_read_by(args, &q, &by);
	if (!status)
		status = run_files(args, &q);
	recording_wheres_free(q.wheres, q.where_count);
	return status;
}

static const struct cli_option options[] = {
	{"top", 'n', CLI_COUNT, 0, "N",
	 .help = "Show the N heaviest rows, of a type the first N events; 0 shows all"},
	{"by", 'b', CLI_TEXT, 0, "KEY",
	 .help = "spans: sum by this key of weft report, or by type [by what they say]"},
	RECORDING_OPTION_WHERE,
	RECORDING_OPTION_EVENT,
	TABLE_OPTION_WIDTH,
	{"json", 0, CLI_FLAG, .help = "Print one JSON object a file, with all rows"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft view", "which views there are"},
	{"weft view locks app.jfr", "what threads waited for, where, and who held it"},
	{"weft view spans --by tag:route",
	 "each route: how often, how long, with what CPU time and waits"},
	{"weft view latencies --where thread=worker*", "events that last, of some threads"},
	{"weft view jdk.ThreadPark jvm.jfr --top 10", "the first ten events of a type"},
	{NULL, NULL},
};

const struct cli_command cmd_view = {
	.name = "view",
	.summary = "Show one thing of a recording as a table",
	.operands = "[VIEW [FILE]...]",
	.operands_max = -1,
	.description = "VIEW is hot-methods, latencies, spans, labels, threads, locks, or the name "
		       "of an event type, whose events are listed. Takes any .jfr files "
		       "(default: " RECORDING_FILE
		       "), one after the other. Exits 1 when a file is damaged (what is whole is "
		       "shown) or has nothing for the view.",
	.options = options,
	.examples = examples,
	.run = run,
};
