/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft coro ps: the coroutines of a shared file as they are now. Printed one after the other as
 * they are read, so that any number of them takes no memory; only --sort gathers them first.
 */
#include "base/array.h"
#include "cli/coro/coro_json.h"
#include "cli/coro/coro_open.h"
#include "cli/frame/cli.h"
#include "cli/frame/term.h"
#include "coro/look/top.h"
#include "report/show/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct coro_source source;
	uint64_t now_ns, stuck_ns;
	struct coro_json json;
	int all, is_json, columns;
	uint64_t shown, counts[WEFT_CTP_LISTED + 1];
	const char *sort;            /* --sort, or NULL: as they come */
	struct coro_state *gathered; /* to be sorted */
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

static void cmd_coro_ps_put_place(struct list *l, const char *key, uint32_t pid, uint64_t addr)
{
	char name[CORO_NAME_BYTES];

	coro_json_place(&l->json.w, key, addr,
			addr ? coro_source_name(&l->source, pid, addr, name) : NULL);
}

static void put_totals(struct json_writer *w, const struct weft_ctp_totals *t)
{
	coro_json_number(w, "resumes", t->resumes);
	coro_json_number(w, "run_ns", t->run_ns);
	coro_json_number(w, "wait_ns", t->wait_ns);
	coro_json_number(w, "max_run_ns", t->max_run_ns);
	coro_json_number(w, "max_wait_ns", t->max_wait_ns);
	coro_json_number(w, "wakes", t->wakes);
}

/* A coroutine takes one line. */
static void cmd_coro_ps_put_json(struct list *l, const struct coro_state *s)
{
	struct json_writer *w = &l->json.w;

	w->object = &json_shape_flat;
	json_write_object(w, NULL);
	coro_json_number(w, "probe_id", s->probe_id);
	json_write_text(w, "state", coro_state_text(s->state));
	coro_json_number(w, "since_ns", s->since_ns);
	coro_json_number(w, "for_ns", age(l, s));
	coro_json_number(w, "pid", s->pid);
	coro_json_number(w, "tid", s->tid);
	coro_json_number(w, "station", s->station);
	coro_json_number(w, "generation", s->generation);
	cmd_coro_ps_put_place(l, "where", s->pid, s->addr);
	coro_json_number(w, "birth_ns", s->birth_ts);
	cmd_coro_ps_put_place(l, "created_at", s->pid, s->site);
	if (s->has_totals)
		put_totals(w, &s->totals);
	if (s->has_context)
		coro_json_context(w, &s->context.prefix, &s->context);
	json_write_object_end(w);
	w->object = &json_shape_lines;
}

static int cmd_coro_ps_begin_json(struct list *l)
{
	struct json_writer *w = &l->json.w;
	int rc = coro_json_open(&l->json, &json_shape_lines);

	if (rc)
		return rc;
	json_write_text(w, "source", l->source.path);
	json_write_bool(w, "is_live", l->source.is_live);
	json_write_uint(w, "now_ns", l->now_ns);
	json_write_array(w, "coroutines");
	return 0;
}

static int cmd_coro_ps_end_json(struct list *l)
{
	struct json_writer *w = &l->json.w;

	json_write_array_end(w);
	json_write_made_key(w, "\"counts\": ", strlen("\"counts\": "));
	w->object = &json_shape_spaced;
	json_write_object(w, NULL);
	for (unsigned int i = WEFT_CTP_CREATED; i <= WEFT_CTP_DEAD; i++)
		json_write_uint(w, coro_state_text((uint8_t)i), l->counts[i]);
	json_write_uint(w, "refused", coro_source_refused(&l->source));
	json_write_object_end(w);
	w->object = &json_shape_lines;
	return coro_json_close(&l->json);
}

/* ---- all */

static int cmd_coro_ps_show(struct list *l, const struct coro_state *s)
{
	if (l->is_json)
		cmd_coro_ps_put_json(l, s);
	else
		cmd_coro_ps_print_text(l, s);
	l->shown++;
	return l->is_json ? l->json.sink.rc : ferror(stdout) ? -EIO : 0;
}

static int cmd_coro_ps_take(void *arg, const struct coro_state *s)
{
	struct list *l = arg;
	struct coro_state *grown;

	l->counts[s->state <= WEFT_CTP_LISTED ? s->state : 0]++;
	if (!cmd_coro_ps_is_wanted(l, s))
		return 0;
	if (!l->sort)
		return cmd_coro_ps_show(l, s);
	grown = array_grown(l->gathered, l->count + 1, &l->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->gathered = grown;
	grown[l->count++] = *s;
	return 0;
}

/* The coroutine with the larger weight comes first. */
static uint64_t cmd_coro_ps_weight(const struct coro_state *s, enum top_sort by)
{
	switch (by) {
	case TOP_BY_FOR:
		return ~s->since_ns;
	case TOP_BY_RUN:
		return s->totals.run_ns;
	case TOP_BY_WAIT:
		return s->totals.wait_ns;
	case TOP_BY_SWITCHES:
		return s->totals.resumes;
	default:
		return ~s->probe_id;
	}
}

static int cmd_coro_ps_compare(const void *a, const void *b, void *by)
{
	uint64_t x = cmd_coro_ps_weight(a, *(enum top_sort *)by);
	uint64_t y = cmd_coro_ps_weight(b, *(enum top_sort *)by);

	return x > y ? -1 : x < y;
}

static int cmd_coro_ps_list(struct list *l)
{
	enum top_sort by = l->sort ? top_sort_of(l->sort) : TOP_BY_FOR;
	int rc = coro_snapshot(&l->source.shm, cmd_coro_ps_take, l);

	if (l->count)
		qsort_r(l->gathered, l->count, sizeof(*l->gathered), cmd_coro_ps_compare, &by);
	for (size_t i = 0; rc == 0 && i < l->count; i++)
		rc = cmd_coro_ps_show(l, &l->gathered[i]);
	free(l->gathered);
	return rc;
}

static int cmd_coro_ps_list_all(struct list *l)
{
	int rc, status;

	errno = 0;
	if (!l->is_json)
		cmd_coro_ps_print_heads();
	else if (cli_written(cmd_coro_ps_begin_json(l)))
		return CLI_FAILED;
	rc = cmd_coro_ps_list(l);
	if (l->is_json) {
		status = cli_written(cmd_coro_ps_end_json(l));
	} else {
		cmd_coro_ps_print_sums(l);
		status = cli_flushed();
	}
	if (status)
		return status;
	return rc ? cli_error("%s: %s", l->source.path, strerror(-rc)) : CLI_DONE;
}

static int run(const struct cli_args *args)
{
	struct list l = {.stuck_ns = cli_number(args, "stuck"),
			 .all = cli_flag(args, "all"),
			 .is_json = cli_flag(args, "json"),
			 .sort = cli_text(args, "sort"),
			 .columns = term_is(stdout) ? term_columns(stdout) : 0};
	int status;

	if (cli_given(args, "stuck") && !l.stuck_ns)
		return cli_usage("--stuck wants a time above 0");
	status = coro_open(&l.source, cli_operand(args, 0));
	if (status)
		return status;
	l.now_ns = coro_source_now_ns(&l.source);
	status = cmd_coro_ps_list_all(&l);
	coro_source_close(&l.source);
	return status;
}

static const struct cli_option options[] = {
	{"stuck", 0, CLI_TIME, 0, "TIME",
	 .help = "Only those suspended longer than this, and not woken since"},
	{"sort", 's', CLI_CHOICE, 0, "KEY",
	 .help = "Most first: time in this state, time run, time waited, switches; or by id",
	 .choices = top_sorts},
	{"all", 'a', CLI_FLAG, .help = "Dead ones, too"},
	{"json", 0, CLI_FLAG, .help = "Print one JSON object, a coroutine a line"},
	{0},
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
		"up to the last that happened in it. WHERE is where it suspended or was resumed "
		"(of one that was created: where it was), with the function's name while its "
		"process lives. Other probes tell no pid, no totals and no context.\n"
		"\n"
		"Each coroutine is shown as it was at one moment, and one after the other: those "
		"born or dead meanwhile may be there or not.",
	.options = options,
	.examples = examples,
	.run = run,
};
