/* SPDX-License-Identifier: Apache-2.0 */
/* weft summary: how many events of which type recordings hold, in the shape of the JDK's tool. */
#include "cli/frame/cli.h"

#include "cli/frame/recording_args.h"
#include "jfr/read/summary.h"
#include "report/show/json_value.h"
#include "report/show/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

static size_t widest_name(const struct jfr_summary *s)
{
	size_t width = strlen("Event Type");

	for (size_t i = 0; i < s->count; i++)
		if (layout_columns(s->rows[i].name) > width)
			width = layout_columns(s->rows[i].name);
	return width;
}

static void print_start(int64_t start_ns)
{
	time_t seconds = (time_t)(start_ns / 1000000000);
	char text[40];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		printf(" Start: %s (UTC)\n", text);
	else
		printf(" Start: %" PRId64 " ns\n", start_ns);
}

static void cmd_summary_print_row(const char *name, size_t width, uint64_t count, uint64_t bytes)
{
	putchar(' ');
	for (size_t used = layout_name(stdout, name, 0); used < width; used++)
		putchar(' ');
	printf("%10" PRIu64 "  %12" PRIu64 "\n", count, bytes);
}

static void cmd_summary_print_text(const struct jfr_summary *s)
{
	uint64_t duration = s->duration_ns > 0 ? (uint64_t)s->duration_ns : 0;
	char time[LAYOUT_NUMBER];
	size_t width = widest_name(s);

	printf("\n Version: %u.%u\n Chunks: %" PRIu64 "\n", s->major, s->minor, s->chunks);
	print_start(s->start_ns);
	printf(" Duration: %s\n\n", layout_time(time, duration));
	printf(" %-*s%10s  %12s \n", (int)width, "Event Type", "Count", "Size (bytes)");
	for (size_t i = 0; i < width + 26; i++)
		putchar('=');
	putchar('\n');
	for (size_t i = 0; i < s->count; i++)
		cmd_summary_print_row(s->rows[i].name, width, s->rows[i].count, s->rows[i].bytes);
	if (s->undeclared.count)
		cmd_summary_print_row("(of no declared type)", width, s->undeclared.count,
				      s->undeclared.bytes);
}

static json_t *cmd_summary_counted(const struct jfr_row *row)
{
	return json_pack("{s:o*, s:o, s:o}", "name", row->name ? json_text(row->name) : NULL,
			 "count", json_number(row->count), "bytes", json_number(row->bytes));
}

/* Each file makes one line. */
static int cmd_summary_print_json(const char *path, const struct jfr_summary *s, const char *damage)
{
	json_t *events = json_array();

	for (size_t i = 0; i < s->count; i++)
		json_array_append_new(events, cmd_summary_counted(&s->rows[i]));
	return json_emit(
		json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "file", json_text(path),
			  "version", json_sprintf("%u.%u", s->major, s->minor), "chunks",
			  json_number(s->chunks), "bytes", json_number(s->bytes), "start_ns",
			  (json_int_t)s->start_ns, "duration_ns", (json_int_t)s->duration_ns,
			  "events", events, "undeclared", cmd_summary_counted(&s->undeclared),
			  "damage", json_text(damage)),
		stdout, JSON_COMPACT);
}

static int summarize(const struct cli_args *args, const char *path)
{
	struct weft_jfr_reader *r = weft_jfr_open(path);
	struct jfr_summary s;
	int status = CLI_DONE, rc;

	if (!r)
		return recording_refuse(args, path, -errno);
	rc = jfr_summarize(r, &s);
	if (cli_flag(args, "json")) {
		status = cli_written(
			cmd_summary_print_json(path, &s, rc ? weft_jfr_error(r) : NULL));
	} else if (s.chunks || s.count) {
		errno = 0;
		if (cli_operand_count(args) > 1) {
			putchar('\n');
			layout_name(stdout, path, 0);
			putchar('\n');
		}
		cmd_summary_print_text(&s);
		status = cli_flushed();
	}
	if (rc)
		status = cli_error("%s: %s%s", path, weft_jfr_error(r),
				   s.chunks ? "; counted is what is whole" : "");
	jfr_summary_free(&s);
	weft_jfr_reader_free(r);
	return status;
}

static int run(const struct cli_args *args)
{
	int status = CLI_DONE;

	for (int i = 0; i < cli_operand_count(args); i++) {
		int one = summarize(args, cli_operand(args, i));

		if (one)
			status = one;
	}
	return cli_flushed() ? CLI_FAILED : status;
}

static const struct cli_option options[] = {
	{"json", 0, CLI_FLAG, .help = "Print a JSON object for each file, a line each"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft summary weft.jfr", "what is in a recording"},
	{"weft summary --json weft.jfr | jq '.events[] | select(.count > 0)'",
	 "the same for a program"},
	{NULL, NULL},
};

const struct cli_command cmd_summary = {
	.name = "summary",
	.summary = "How many events of which type recordings hold, and their bytes",
	.operands = "FILE...",
	.operands_min = 1,
	.operands_max = -1,
	.description = "Reads any recording of the JFR format, a JVM's too. Events are counted, "
		       "not looked into, so this is as fast as the file can be read.\n"
		       "\n"
		       "Exits 1 when a file is damaged; what is whole is counted all the same.",
	.options = options,
	.examples = examples,
	.run = run,
};
