/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft ps: programs on this machine that carry the runtime, and what their sessions say. Looks
 * at every process by /proc (carrier.h) and changes nothing in any.
 */
#include "base/array.h"
#include "base/text/visible.h"
#include "cli/frame/cli.h"
#include "cli/frame/term.h"
#include "collector/process/carrier.h"
#include "collector/process/process.h"
#include "proc/proc_text.h"
#include "report/show/json_value.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	struct carrier carrier;
	enum carrier_state state;
	long threads;
	char *command; /* NULL: could not be read */
};

struct rows {
	struct row *row;
	size_t count, room;
	size_t hidden; /* processes that may not be looked at */
};

static const struct cli_option options[] = {
	{"json", 0, CLI_FLAG, .help = "Print one JSON object"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft ps", "what could be recorded with weft record -p"},
	{"weft ps --json | jq '.programs[] | select(.state == \"idle\") | .pid'",
	 "the same, for programs"},
	{NULL, NULL},
};

/* ---- looking */

/* Its command line; its name in brackets, as ps(1) shows it, where it has none. */
static char *cmd_ps_read_command(pid_t pid)
{
	char *text = process_command_line_of(pid);

	for (char *at = text; at && *at; at++)
		if (iscntrl((unsigned char)*at))
			*at = ' ';
	return text;
}

static int cmd_ps_add(struct rows *rows, const struct carrier *c)
{
	struct row *grown = array_grown(rows->row, rows->count + 1, &rows->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	rows->row = grown;
	rows->row[rows->count++] = (struct row){
		.carrier = *c,
		.state = carrier_state(c),
		.threads = carrier_status_number(c->pid, "Threads"),
		.command = cmd_ps_read_command(c->pid),
	};
	return 0;
}

static int cmd_ps_look_at(void *arg, pid_t pid)
{
	struct rows *rows = arg;
	struct carrier c;
	int rc = carrier_look(&c, pid);

	if (rc == -EACCES)
		rows->hidden++;
	return rc == 0 ? cmd_ps_add(rows, &c) : 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->carrier.pid < y->carrier.pid ? -1 : x->carrier.pid > y->carrier.pid;
}

static void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->row[i].command);
	free(rows->row);
}

/* ---- telling */

/* Is another process part of the state? Then *pid is it. */
static int has_other_pid(const struct row *r, int *pid)
{
	const struct weft_session_header *h = &r->carrier.header;

	*pid = r->state == CARRIER_FORKED ? h->pid : h->collector_pid;
	return r->state == CARRIER_RECORDED || r->state == CARRIER_LEFT ||
	       r->state == CARRIER_FORKED;
}

static void state_text(const struct row *r, char *out, size_t room)
{
	static const char *const words[] = {[CARRIER_RECORDED] = "recorded by",
					    [CARRIER_FORKED] = "forked from",
					    [CARRIER_OVER] = "recording over",
					    [CARRIER_LEFT] = "left by",
					    [CARRIER_UNKNOWN] = NULL};
	const char *word = words[r->state] ? words[r->state] : carrier_state_text(r->state);
	int pid;

	if (has_other_pid(r, &pid))
		snprintf(out, room, "%s %d", word, pid);
	else
		snprintf(out, room, "%s", word);
}

static void version_text(const struct row *r, char *out, size_t room)
{
	uint32_t version = r->carrier.header.runtime_version;

	if (!r->carrier.has_header)
		snprintf(out, room, "?");
	else
		snprintf(out, room, "%u.%u.%u", version >> 16 & 0xFFFF, version >> 8 & 0xFF,
			 version & 0xFF);
}

static void cmd_ps_print_people(const struct rows *rows)
{
	char state[64], version[32];

	printf("%s%7s %-20s %7s %-8s %-9s %s%s\n", term_colour(stdout, TERM_BOLD), "PID", "STATE",
	       "THREADS", "VERSION", "BY", "COMMAND", term_colour(stdout, TERM_PLAIN));
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *r = &rows->row[i];
		const char *command = r->command ? r->command : "?";

		state_text(r, state, sizeof(state));
		version_text(r, version, sizeof(version));
		printf("%7d %-20s %7ld %-8s %-9s ", (int)r->carrier.pid, state, r->threads, version,
		       carrier_way_text(r->carrier.way));
		visible_print(stdout, command, strlen(command));
		putchar('\n');
	}
	if (rows->hidden)
		fprintf(stderr,
			"weft ps: %zu %s could not be looked at (of other users, or with more "
			"rights: root with CAP_SYS_PTRACE can)\n",
			rows->hidden, rows->hidden == 1 ? "process" : "processes");
}

static json_t *cmd_ps_row_value(const struct row *r)
{
	char version[32];
	int pid;

	version_text(r, version, sizeof(version));
	return json_pack("{s:i, s:s, s:o, s:i, s:s, s:s, s:o}", "pid", (int)r->carrier.pid, "state",
			 carrier_state_text(r->state), "other_pid",
			 has_other_pid(r, &pid) ? json_integer(pid) : json_null(), "threads",
			 (int)r->threads, "version", version, "by",
			 carrier_way_text(r->carrier.way), "command", json_text(r->command));
}

static int cmd_ps_print_json(const struct rows *rows)
{
	json_t *list = json_array(), *all = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rows->count; i++)
		rc = json_array_append_new(list, cmd_ps_row_value(&rows->row[i]));
	if (rc == 0)
		all = json_pack("{s:i, s:O, s:i}", "version", 1, "programs", list, "hidden",
				(int)rows->hidden);
	json_decref(list);
	return cli_written(json_emit(all, stdout, JSON_INDENT(2)));
}

static int run(const struct cli_args *args)
{
	struct rows rows = {0};
	int rc = proc_each(cmd_ps_look_at, &rows), status = CLI_DONE;

	if (rows.count)
		qsort(rows.row, rows.count, sizeof(*rows.row), compare_rows);
	if (rc)
		status = cli_error("/proc: %s", strerror(-rc));
	else if (cli_flag(args, "json"))
		status = cmd_ps_print_json(&rows);
	else
		cmd_ps_print_people(&rows);
	rows_free(&rows);
	return status;
}

const struct cli_command cmd_ps = {
	.name = "ps",
	.summary = "List programs that carry weft, and who records them",
	.description = "Lists the programs on this machine that carry weft's runtime: their pid, "
		       "state, number of threads, the runtime's version, how it came into the "
		       "program, and the command.\n"
		       "\n"
		       "State: idle (nobody records; weft record -p can), recorded by PID, left by "
		       "PID (whoever recorded it is gone; weft record -p takes over), recording "
		       "over (it was recorded from its start, and runs on), forked from PID (has "
		       "begun no session of its own yet), unknown.\n"
		       "\n"
		       "By: preloaded (LD_PRELOAD), linked (the executable needs libweft.so), "
		       "loaded (dlopen, or another library needs it), libweft.a (context only: it "
		       "cannot be sampled on CPU).",
	.options = options,
	.examples = examples,
	.run = run,
};
