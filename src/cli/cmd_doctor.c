/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft doctor: runs every probe and shows what it found, for people or as one JSON object.
 * Exit 0 when recording works here, 1 when not.
 */
#include "cli/doctor/doctor.h"
#include "cli/frame/cli.h"
#include "cli/frame/term.h"
#include "report/show/json_value.h"

#include <jansson.h>
#include <stdio.h>
#include <weft/abi/counters.h>

#define PROBES_MAX 64
#define VALUE_COLUMN 32 /* where values begin, behind states and titles */

static const struct probe_group groups[] = {
	{"Kernel", doctor_kernel},
	{"Access", doctor_access},
	{"Limits", doctor_limits},
	{"weft", doctor_weft},
	{NULL, NULL},
};

static const struct {
	const char *word;
	enum term_colour colour;
} states[] = {
	[FINDING_OK] = {"ok", TERM_GREEN},
	[FINDING_INFO] = {"info", TERM_DIM},
	[FINDING_LIMITED] = {"limited", TERM_YELLOW},
	[FINDING_MISSING] = {"missing", TERM_YELLOW}, /* red where it is needed */
};

struct counter {
	const char *name, *kind, *text;
};

#define KIND_BOOK "book"
#define KIND_LOST "lost"
#define KIND_CUT "cut"
#define KIND_CTX "ctx"
#define KIND_INFO "info"
#define COUNTER_ROW(number, id, name, kind, text) {name, KIND_##kind, text},
static const struct counter counters[] = {WEFT_COUNTERS(COUNTER_ROW)};

struct result {
	const struct probe_group *group;
	const struct probe *probe;
	struct finding finding;
};

static size_t run_probes(struct result *results)
{
	size_t count = 0;

	for (const struct probe_group *g = groups; g->title; g++)
		for (const struct probe *p = g->probes; p->title && count < PROBES_MAX; p++) {
			results[count] = (struct result){.group = g, .probe = p};
			p->run(&results[count++].finding);
		}
	return count;
}

static int is_fatal(const struct result *result)
{
	return result->probe->needed && result->finding.state == FINDING_MISSING;
}

static int works(const struct result *results, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_fatal(&results[i]))
			return 0;
	return 1;
}

/* ---- for people */

static void cmd_doctor_print_people(const struct result *results, size_t count)
{
	const struct probe_group *group = NULL;

	printf("weft %s\n", cli_version);
	for (const struct result *r = results; r < results + count; r++) {
		const struct finding *f = &r->finding;

		if (r->group != group) {
			group = r->group;
			printf("\n%s%s%s\n", term_colour(stdout, TERM_BOLD), group->title,
			       term_colour(stdout, TERM_PLAIN));
		}
		term_finding(is_fatal(r) ? TERM_RED : states[f->state].colour,
			     states[f->state].word, r->probe->title, VALUE_COLUMN, f->value,
			     f->choice);
	}
	if (works(results, count)) {
		printf("\nRecording works here.\n");
		return;
	}
	printf("\nRecording does not work here:");
	for (size_t i = 0; i < count; i++)
		if (is_fatal(&results[i]))
			printf(" %s;", results[i].probe->title);
	printf(" see above.\n");
}

static void print_counters(void)
{
	printf("%-18s %-5s %s\n", "counter", "kind", "what it counts");
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		printf("%-18s %-5s %s\n", counters[i].name, counters[i].kind, counters[i].text);
	printf("\nbook: attempted = delivered + lost + pending   lost: a sample that was not "
	       "delivered\ncut: delivered with less than a whole stack    ctx: delivered without "
	       "context\n");
}

/* ---- for programs */

static json_t *json_result(const struct result *result)
{
	const struct finding *finding = &result->finding;

	return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:s?, s:o}", "group", result->group->title,
			 "title", result->probe->title, "state", states[finding->state].word,
			 "needed", result->probe->needed, "value", json_text(finding->value),
			 "number",
			 finding->has_number ? json_integer(finding->number) : json_null(), "unit",
			 result->probe->unit, "choice", json_text(finding->choice));
}

static json_t *json_counters(void)
{
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:s}", "name", counters[i].name, "kind",
						counters[i].kind, "text", counters[i].text));
	return array;
}

static int cmd_doctor_print_json(const struct result *results, size_t count)
{
	json_t *object, *checks = json_object();

	for (size_t i = 0; i < count; i++)
		json_object_set_new(checks, results[i].probe->key, json_result(&results[i]));
	object = json_pack("{s:s, s:b, s:o, s:o}", "version", cli_version, "ok",
			   works(results, count), "checks", checks, "counters", json_counters());
	return cli_written(json_emit(object, stdout, JSON_INDENT(2)));
}

static int run(const struct cli_args *args)
{
	static struct result results[PROBES_MAX];
	size_t count;

	if (cli_flag(args, "list-hooks"))
		return doctor_list_hooks();
	if (cli_flag(args, "counters") && !cli_flag(args, "json")) {
		print_counters();
		return CLI_DONE;
	}
	count = run_probes(results);
	if (!cli_flag(args, "json"))
		cmd_doctor_print_people(results, count);
	else if (cmd_doctor_print_json(results, count))
		return CLI_FAILED;
	return works(results, count) ? CLI_DONE : CLI_FAILED;
}

static const struct cli_option options[] = {
	{"json", 0, CLI_FLAG, .help = "Print one JSON object"},
	{"counters", 0, CLI_FLAG, .help = "List the counters of a recording and what each counts"},
	{"list-hooks", 0, CLI_FLAG, CLI_HIDDEN,
	 .help = "Run under libweft.so, list the functions that it stands before"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft doctor", "every check, and what weft does because of it"},
	{"weft doctor --json | jq .checks.cpu_timer.number",
	 "the highest rate of CPU timers, in Hz"},
	{NULL, NULL},
};

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.summary = "Show what this machine and kernel allow, and what weft makes of it",
	.description =
		"Tries everything that a recording needs, here and as the user who asks,\n"
		"and says which choice weft makes because of what it found. Changes nothing.\n"
		"Exits 0 when recording works here, 1 when it does not.",
	.options = options,
	.examples = examples,
	.run = run,
};
