/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft doctor: runs every probe and shows what it found, for people or as one JSON object.
 * Exit 0 when recording works here, 1 when not.
 */
#include "cli/doctor/doctor.h"
#include "cli/frame/cli.h"
#include "cli/frame/term.h"
#include "report/show/json_value.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <weft/abi/counters.h>

#define GROUP_COUNT 4
#define PROBES_MAX 64
#define VALUE_COLUMN 32 /* where values begin, behind states and titles */

static const struct probe_group groups[GROUP_COUNT] = {
	{"Kernel", doctor_kernel},
	{"Access", doctor_access},
	{"Limits", doctor_limits},
	{"weft", doctor_weft},
};

static const char *const state_words[] = {
	[FINDING_OK] = "ok",
	[FINDING_INFO] = "info",
	[FINDING_LIMITED] = "limited",
	[FINDING_MISSING] = "missing",
};

struct counter {
	int number;
	const char *name, *kind, *text;
};

#define KIND_BOOK "book"
#define KIND_LOST "lost"
#define KIND_CUT "cut"
#define KIND_CTX "ctx"
#define KIND_INFO "info"
#define COUNTER_ROW(number, id, name, kind, text) {number, name, KIND_##kind, text},
static const struct counter counters[] = {WEFT_COUNTERS(COUNTER_ROW)};

struct result {
	const struct probe_group *group;
	const struct probe *probe;
	struct finding finding;
};

static size_t run_probes(struct result *results)
{
	size_t count = 0;

	for (size_t i = 0; i < GROUP_COUNT; i++)
		for (const struct probe *p = groups[i].probes; p->title && count < PROBES_MAX;
		     p++) {
			struct result *result = &results[count++];

			*result = (struct result){.group = &groups[i], .probe = p};
			p->run(&result->finding);
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

static enum term_colour state_colour(const struct result *result)
{
	switch (result->finding.state) {
	case FINDING_OK:
		return TERM_GREEN;
	case FINDING_LIMITED:
		return TERM_YELLOW;
	case FINDING_MISSING:
		return is_fatal(result) ? TERM_RED : TERM_YELLOW;
	default:
		return TERM_DIM;
	}
}

static void print_result(const struct result *result)
{
	const struct finding *finding = &result->finding;

	printf("  %s%-8s%s %-20s ", term_colour(stdout, state_colour(result)),
	       state_words[finding->state], term_colour(stdout, TERM_PLAIN), result->probe->title);
	term_wrapped(stdout, finding->value, VALUE_COLUMN);
	if (!*finding->choice)
		return;
	printf("%*s%s", VALUE_COLUMN, "", term_colour(stdout, TERM_DIM));
	term_wrapped(stdout, finding->choice, VALUE_COLUMN);
	fputs(term_colour(stdout, TERM_PLAIN), stdout);
}

static void cmd_doctor_print_people(const struct result *results, size_t count)
{
	const struct probe_group *group = NULL;

	printf("weft %s\n", cli_version);
	for (size_t i = 0; i < count; i++) {
		if (results[i].group != group) {
			group = results[i].group;
			printf("\n%s%s%s\n", term_colour(stdout, TERM_BOLD), group->title,
			       term_colour(stdout, TERM_PLAIN));
		}
		print_result(&results[i]);
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
	json_t *object = json_object();

	json_object_set_new(object, "group", json_text(result->group->title));
	json_object_set_new(object, "title", json_text(result->probe->title));
	json_object_set_new(object, "state", json_text(state_words[finding->state]));
	json_object_set_new(object, "needed", json_boolean(result->probe->needed));
	json_object_set_new(object, "value", json_text(finding->value));
	json_object_set_new(object, "number",
			    finding->has_number ? json_integer(finding->number) : json_null());
	json_object_set_new(object, "unit",
			    result->probe->unit ? json_text(result->probe->unit) : json_null());
	json_object_set_new(object, "choice", json_text(finding->choice));
	return object;
}

static json_t *json_counters(void)
{
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		json_t *object = json_object();

		json_object_set_new(object, "name", json_text(counters[i].name));
		json_object_set_new(object, "kind", json_text(counters[i].kind));
		json_object_set_new(object, "text", json_text(counters[i].text));
		json_array_append_new(array, object);
	}
	return array;
}

static int cmd_doctor_print_json(const struct result *results, size_t count)
{
	json_t *object = json_object();
	json_t *checks = json_object();
	int rc;

	for (size_t i = 0; i < count; i++)
		json_object_set_new(checks, results[i].probe->key, json_result(&results[i]));
	json_object_set_new(object, "version", json_text(cli_version));
	json_object_set_new(object, "ok", json_boolean(works(results, count)));
	json_object_set_new(object, "checks", checks);
	json_object_set_new(object, "counters", json_counters());
	rc = json_emit(object, stdout, JSON_INDENT(2));
	return rc ? cli_error("standard output: %s", strerror(-rc)) : CLI_DONE;
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
	{.name = "json", .kind = CLI_FLAG, .help = "Print one JSON object"},
	{.name = "counters",
	 .kind = CLI_FLAG,
	 .help = "List the counters of a recording and what each counts"},
	{.name = "list-hooks",
	 .kind = CLI_FLAG,
	 .flags = CLI_HIDDEN,
	 .help = "Run under libweft.so, list the functions that it stands before"},
	{.name = NULL},
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
