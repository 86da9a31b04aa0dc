/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft coro ps: the coroutines of a shared file as they are now. Printed one after the other as
 * they are read, so that any number of them takes no memory; only --sort gathers them first.
 */
#include "base/array.h"
#include "cli/coro/coro_source.h"
#include "cli/frame/cli.h"
#include "cli/frame/term.h"
#include "report/show/json_value.h"
#include "report/show/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct coro_source source;
	uint64_t now_ns, stuck_ns;
	int all, json, columns;
	uint64_t shown, counts[WEFT_CTP_LISTED + 1];
	struct coro_state *gathered; /* with --sort */
	size_t count, room;
};

static uint64_t age(const struct list *l, const struct coro_state *s)
{
	return l->now_ns > s->since_ns ? l->now_ns - s->since_ns : 0;
}

static int cmd_coro_ps_is_wanted(const struct list *l, const struct coro_state *s)
{
	if (s->state == WEFT_CTP_DEAD && !l->all)
		return 0;
	return !l->stuck_ns || (s->state == WEFT_CTP_SUSPENDED && age(l, s) > l->stuck_ns &&
				s->last_wake_ns <= s->since_ns);
}

/* ---- for people */

static void cmd_coro_ps_print_text(struct list *l, const struct coro_state *s)
{
	char time[LAYOUT_NUMBER], where[CORO_NAME_BYTES], context[CORO_CONTEXT_BYTES] = "";
	char *rest = NULL;
	uint64_t addr = s->state == WEFT_CTP_CREATED ? s->site : s->addr;
	int used;

	coro_source_name(&l->source, s->pid, addr, where);
	if (s->has_context)
		coro_context_text(&s->context.prefix, &s->context, context);
	used = printf("%-9s %10s %16llu %7u %7u  ", coro_state_text(s->state),
		      layout_time(time, age(l, s)), (unsigned long long)s->probe_id, s->pid,
		      s->tid);
	if (asprintf(&rest, "%s%s%s", where, *context ? "  " : "", context) < 0)
		rest = NULL;
	layout_name(stdout, rest ? rest : "", l->columns ? l->columns - used : 0);
	free(rest);
	putchar('\n');
}

static void cmd_coro_ps_print_heads(void)
{
	printf("%s%-9s %10s %16s %7s %7s  %s%s\n", term_colour(stdout, TERM_BOLD), "STATE", "FOR",
	       "ID", "PID", "TID", "WHERE  CONTEXT", term_colour(stdout, TERM_PLAIN));
}

static void cmd_coro_ps_print_sums(const struct list *l)
{
	uint64_t all = l->counts[WEFT_CTP_RUNNING] + l->counts[WEFT_CTP_SUSPENDED] +
		       l->counts[WEFT_CTP_READY] + l->counts[WEFT_CTP_CREATED] +
		       l->counts[WEFT_CTP_DEAD];

	printf("%s%llu of %llu: %llu running, %llu suspended, %llu ready, %llu created, %llu dead; "
	       "%llu refused%s\n",
	       term_colour(stdout, TERM_DIM), (unsigned long long)l->shown, (unsigned long long)all,
	       (unsigned long long)l->counts[WEFT_CTP_RUNNING],
	       (unsigned long long)l->counts[WEFT_CTP_SUSPENDED],
	       (unsigned long long)l->counts[WEFT_CTP_READY],
	       (unsigned long long)l->counts[WEFT_CTP_CREATED],
	       (unsigned long long)l->counts[WEFT_CTP_DEAD],
	       (unsigned long long)coro_source_refused(&l->source),
	       term_colour(stdout, TERM_PLAIN));
}

/* ---- for programs */

static json_t *cmd_coro_ps_place(struct list *l, uint32_t pid, uint64_t addr)
{
	char name[CORO_NAME_BYTES], number[24];

	if (!addr)
		return json_null();
	snprintf(number, sizeof(number), "0x%016llx", (unsigned long long)addr);
	return json_pack("{s:s, s:o}", "addr", number, "name",
			 json_text(coro_source_name(&l->source, pid, addr, name)));
}

static void put_totals(json_t *o, const struct coro_state *s)
{
	const struct weft_ctp_totals *t = &s->totals;

	json_object_set_new(o, "resumes", json_number(t->resumes));
	json_object_set_new(o, "run_ns", json_number(t->run_ns));
	json_object_set_new(o, "wait_ns", json_number(t->wait_ns));
	json_object_set_new(o, "max_run_ns", json_number(t->max_run_ns));
	json_object_set_new(o, "max_wait_ns", json_number(t->max_wait_ns));
	json_object_set_new(o, "wakes", json_number(t->wakes));
}

static void cmd_coro_ps_put_context(json_t *o, const struct coro_state *s)
{
	char trace[33], span[17], text[CORO_CONTEXT_BYTES];

	coro_hex(s->context.prefix.trace_id, 16, trace);
	coro_hex(s->context.prefix.span_id, 8, span);
	coro_context_text(&s->context.prefix, &s->context, text);
	json_object_set_new(o, "trace_id", json_string(trace));
	json_object_set_new(o, "span_id", json_string(span));
	json_object_set_new(o, "context", json_text(text));
}

static int cmd_coro_ps_print_json(struct list *l, const struct coro_state *s)
{
	json_t *o =
		json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "probe_id",
			  json_number(s->probe_id), "state", coro_state_text(s->state), "since_ns",
			  json_number(s->since_ns), "for_ns", json_number(age(l, s)), "pid",
			  json_number(s->pid), "tid", json_number(s->tid), "station",
			  json_number(s->station), "generation", json_number(s->generation),
			  "where", cmd_coro_ps_place(l, s->pid, s->addr));
	int rc;

	if (!o)
		return -ENOMEM;
	json_object_set_new(o, "birth_ns", json_number(s->birth_ts));
	json_object_set_new(o, "created_at", cmd_coro_ps_place(l, s->pid, s->site));
	if (s->has_totals)
		put_totals(o, s);
	if (s->has_context)
		cmd_coro_ps_put_context(o, s);
	printf("%s\n    ", l->shown ? "," : "");
	rc = json_dumpf(o, stdout, JSON_COMPACT);
	json_decref(o);
	return rc ? -ENOMEM : 0;
}

static void begin_json(const struct list *l)
{
	json_t *path = json_text(l->source.path);

	printf("{\n  \"version\": 1,\n  \"source\": ");
	json_dumpf(path, stdout, JSON_ENCODE_ANY);
	printf(",\n  \"is_live\": %s,\n  \"now_ns\": %llu,\n  \"coroutines\": [",
	       l->source.is_live ? "true" : "false", (unsigned long long)l->now_ns);
	json_decref(path);
}

static void end_json(const struct list *l)
{
	printf("%s],\n  \"counts\": {", l->shown ? "\n  " : "");
	for (unsigned int i = WEFT_CTP_CREATED; i <= WEFT_CTP_DEAD; i++)
		printf("\"%s\": %llu, ", coro_state_text((uint8_t)i),
		       (unsigned long long)l->counts[i]);
	printf("\"refused\": %llu}\n}\n", (unsigned long long)coro_source_refused(&l->source));
}

/* ---- all */

static int cmd_coro_ps_show(struct list *l, const struct coro_state *s)
{
	int rc = 0;

	if (l->json)
		rc = cmd_coro_ps_print_json(l, s);
	else
		cmd_coro_ps_print_text(l, s);
	l->shown++;
	return rc ? rc : ferror(stdout) ? -EIO : 0;
}

static int stream(void *arg, const struct coro_state *s)
{
	struct list *l = arg;

	l->counts[s->state <= WEFT_CTP_LISTED ? s->state : 0]++;
	return cmd_coro_ps_is_wanted(l, s) ? cmd_coro_ps_show(l, s) : 0;
}

static int cmd_coro_ps_gather(void *arg, const struct coro_state *s)
{
	struct list *l = arg;
	struct coro_state *grown;

	l->counts[s->state <= WEFT_CTP_LISTED ? s->state : 0]++;
	if (!cmd_coro_ps_is_wanted(l, s))
		return 0;
	grown = array_grown(l->gathered, l->count + 1, &l->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->gathered = grown;
	grown[l->count++] = *s;
	return 0;
}

static int more_first(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

static int by_age(const void *a, const void *b)
{
	const struct coro_state *x = a, *y = b;

	return more_first(y->since_ns, x->since_ns);
}

static int by_run(const void *a, const void *b)
{
	const struct coro_state *x = a, *y = b;

	return more_first(x->totals.run_ns, y->totals.run_ns);
}

static int by_wait(const void *a, const void *b)
{
	const struct coro_state *x = a, *y = b;

	return more_first(x->totals.wait_ns, y->totals.wait_ns);
}

static int by_switches(const void *a, const void *b)
{
	const struct coro_state *x = a, *y = b;

	return more_first(x->totals.resumes, y->totals.resumes);
}

static int by_id(const void *a, const void *b)
{
	const struct coro_state *x = a, *y = b;

	return more_first(y->probe_id, x->probe_id);
}

static const char *const sorts[] = {"for", "run", "wait", "switches", "id", NULL};
static int (*const compares[])(const void *a, const void *b) = {by_age, by_run, by_wait,
								by_switches, by_id};

static int list_sorted(struct list *l, const char *sort)
{
	int rc = coro_snapshot(&l->source.shm, cmd_coro_ps_gather, l);

	for (size_t i = 0; l->count && sorts[i]; i++)
		if (!strcmp(sorts[i], sort))
			qsort(l->gathered, l->count, sizeof(*l->gathered), compares[i]);
	for (size_t i = 0; rc == 0 && i < l->count; i++)
		rc = cmd_coro_ps_show(l, &l->gathered[i]);
	free(l->gathered);
	return rc;
}

static int cmd_coro_ps_list_all(struct list *l, const char *sort)
{
	int rc;

	if (l->json)
		begin_json(l);
	else
		cmd_coro_ps_print_heads();
	errno = 0;
	rc = sort ? list_sorted(l, sort) : coro_snapshot(&l->source.shm, stream, l);
	if (l->json)
		end_json(l);
	else
		cmd_coro_ps_print_sums(l);
	fflush(stdout);
	if (ferror(stdout))
		return cli_error("standard output: %s", strerror(errno ? errno : EIO));
	return rc ? cli_error("%s: %s", l->source.path, strerror(-rc)) : CLI_DONE;
}

static int run(const struct cli_args *args)
{
	struct list l = {.stuck_ns = cli_number(args, "stuck"),
			 .all = cli_flag(args, "all"),
			 .json = cli_flag(args, "json"),
			 .columns = term_is(stdout) ? term_columns(stdout) : 0};
	int status;

	if (cli_given(args, "stuck") && !l.stuck_ns)
		return cli_usage("--stuck wants a time above 0");
	status = coro_source_open(&l.source, cli_operand(args, 0));
	if (status)
		return status;
	l.now_ns = coro_source_now_ns(&l.source);
	status = cmd_coro_ps_list_all(&l, cli_text(args, "sort"));
	coro_source_close(&l.source);
	return status;
}

static const struct cli_option options[] = {
	{.name = "stuck",
	 .kind = CLI_TIME,
	 .argument = "TIME",
	 .help = "Only those suspended longer than this, and not woken since"},
	{.name = "sort",
	 .letter = 's',
	 .kind = CLI_CHOICE,
	 .choices = sorts,
	 .argument = "KEY",
	 .help = "Most first: time in this state, time run, time waited, switches; or by id"},
	{.name = "all", .letter = 'a', .kind = CLI_FLAG, .help = "Dead ones, too"},
	{.name = "json", .kind = CLI_FLAG, .help = "Print one JSON object, a coroutine a line"},
	{.name = NULL},
};

static const struct cli_example examples[] = {
	{"weft coro ps", "all coroutines of the engine that runs now"},
	{"weft coro ps 1234 --stuck 10s --sort for", "what in process 1234 waits longest"},
	{"weft coro ps --json left.shm | jq '.coroutines[] | select(.state == \"running\")'",
	 "what ran when it died, for programs"},
	{NULL, NULL},
};

const struct cli_command cmd_coro_ps = {
	.name = "coro ps",
	.summary = "List coroutines: state, since when, where, for whom",
	.operands = "[SHM|PID]",
	.operands_max = 1,
	.description =
		"Lists the coroutines of an engine's shared file, of the one that a process writes "
		"to, or without an operand of the one that is in use. Reads only, needs no engine, "
		"and lists a left-over file as well.\n"
		"\n"
		"State: created (never resumed yet), running, suspended, ready (suspended, and "
		"woken since), dead. FOR is the time in it; of a file that nobody uses any more, "
		"up "
		"to the last that happened in it. WHERE is where it suspended or was resumed (of "
		"one that was created: where it was), with the function's name while its process "
		"lives. Other probes tell no pid, no totals and no context.\n"
		"\n"
		"Each coroutine is shown as it was at one moment, and one after the other: those "
		"born or dead meanwhile may be there or not.",
	.options = options,
	.examples = examples,
	.run = run,
};
