/* SPDX-License-Identifier: Apache-2.0 */
/* weft coro conform: does a probe keep to cTP? By the file that it wrote. */
#include "cli/frame/cli.h"
#include "coro/look/conform.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {
	{.name = "json", .kind = CLI_FLAG, .help = "Print one JSON object"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft coro run --keep --shm probe.shm -- ./my-probe-test && weft coro conform probe.shm",
	 "Judge a probe of your own"},
	{NULL, NULL},
};

struct printer {
	int json;
	uint64_t count;
};

/* Texts are made of our own words and of numbers: nothing to escape. */
static void cmd_coro_conform_tell(void *arg, const struct conform_finding *f)
{
	struct printer *p = arg;
	const char *weight = f->weight == CONFORM_BROKEN ? "broken" : "note";
	char where[32] = "header";

	if (f->station != CONFORM_NO_STATION)
		snprintf(where, sizeof(where), p->json ? "%u" : "station %u", f->station);
	if (!p->json)
		printf("%-6s  %s: %s: %s\n", weight, where, f->rule, f->text);
	else
		printf("%s{\"weight\":\"%s\",\"station\":%s,\"rule\":\"%s\",\"text\":\"%s\"}",
		       p->count ? "," : "", weight,
		       f->station == CONFORM_NO_STATION ? "null" : where, f->rule, f->text);
	p->count++;
}

static void sum_up(const struct printer *p, const struct conform_sums *s)
{
	if (p->json)
		printf("],\"stations\":%u,\"monotonic\":%u,\"s\":%u,\"d\":%u,\"empty\":%u,"
		       "\"events\":%" PRIu64 ",\"broken\":%u,\"notes\":%u}\n",
		       s->stations, s->ours, s->s, s->d, s->empty, s->events, s->broken, s->notes);
	else
		printf("%u stations (dialect M %u, S %u, D %u, without events %u), %" PRIu64
		       " events: %s\n",
		       s->stations, s->ours, s->s, s->d, s->empty, s->events,
		       s->broken ? "does not conform" : "conforms");
}

static int run(const struct cli_args *args)
{
	const char *path = cli_operand(args, 0);
	struct printer p = {.json = cli_flag(args, "json")};
	struct conform_sums sums;
	struct coro_shm shm;
	int rc = coro_shm_open(&shm, path, 0);

	if (rc == -EBADMSG)
		return cli_error("%s: no cTP file of version 1 (magic, version, size)", path);
	if (rc)
		return cli_error("%s: %s", path, strerror(-rc));
	if (p.json)
		fputs("{\"version\":1,\"findings\":[", stdout);
	rc = coro_conform(&shm, cmd_coro_conform_tell, &p, &sums);
	sum_up(&p, &sums);
	coro_shm_close(&shm);
	if (rc)
		return cli_error("%s: the file was cut short while it was read", path);
	return sums.broken ? CLI_FAILED : CLI_DONE;
}

const struct cli_command cmd_coro_conform = {
	.name = "coro conform",
	.summary = "Judge whether a probe keeps to cTP, by the file it wrote",
	.operands = "SHM",
	.operands_min = 1,
	.operands_max = 1,
	.description =
		"Looks at a shared file (weft coro run --keep leaves it) for what no probe may "
		"write: header, size, dialect, parity and order of slots, times that go back, "
		"reserved bytes, states, totals that do not fit the events. Best while the "
		"program is at rest, or over.\n"
		"\n"
		"Exit: 0 when it conforms, 1 when it does not or cannot be read, 2 for wrong "
		"usage.",
	.options = options,
	.examples = examples,
	.run = run,
};
