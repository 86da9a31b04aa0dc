/* SPDX-License-Identifier: Apache-2.0 */
/* weft coro conform: does a probe keep to cTP? By the file that it wrote. */
#include "cli/coro/coro_json.h"
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

static void put_finding(struct json_writer *w, const char *weight, const struct conform_finding *f)
{
	json_write_object(w, NULL);
	json_write_text(w, "weight", weight);
	if (f->station == CONFORM_NO_STATION)
		json_write_null(w, "station");
	else
		json_write_uint(w, "station", f->station);
	json_write_text(w, "rule", f->rule);
	json_write_text(w, "text", f->text);
	json_write_object_end(w);
}

/* @arg: the JSON to write, or NULL for text. */
static void cmd_coro_conform_tell(void *arg, const struct conform_finding *f)
{
	const char *weight = f->weight == CONFORM_BROKEN ? "broken" : "note";
	struct coro_json *json = arg;

	if (json)
		put_finding(&json->w, weight, f);
	else if (f->station == CONFORM_NO_STATION)
		printf("%-6s  header: %s: %s\n", weight, f->rule, f->text);
	else
		printf("%-6s  station %u: %s: %s\n", weight, f->station, f->rule, f->text);
}

static int begin_json(struct coro_json *j)
{
	int rc = coro_json_open(j, &json_shape_flat);

	if (rc == 0)
		json_write_array(&j->w, "findings");
	return rc;
}

static int end_json(struct coro_json *j, const struct conform_sums *s)
{
	struct json_writer *w = &j->w;

	json_write_array_end(w);
	json_write_uint(w, "stations", s->stations);
	json_write_uint(w, "monotonic", s->ours);
	json_write_uint(w, "s", s->s);
	json_write_uint(w, "d", s->d);
	json_write_uint(w, "empty", s->empty);
	json_write_uint(w, "events", s->events);
	json_write_uint(w, "broken", s->broken);
	json_write_uint(w, "notes", s->notes);
	return coro_json_close(j);
}

static void print_sums(const struct conform_sums *s)
{
	printf("%u stations (dialect M %u, S %u, D %u, without events %u), %" PRIu64
	       " events: %s\n",
	       s->stations, s->ours, s->s, s->d, s->empty, s->events,
	       s->broken ? "does not conform" : "conforms");
}

static int run(const struct cli_args *args)
{
	const char *path = cli_operand(args, 0);
	int is_json = cli_flag(args, "json"), printed = 0;
	struct conform_sums sums = {0};
	struct coro_json j;
	struct coro_shm shm;
	int rc = coro_shm_open(&shm, path, 0);

	if (rc == -EBADMSG)
		return cli_error("%s: no cTP file of version 1 (magic, version, size)", path);
	if (rc)
		return cli_error("%s: %s", path, strerror(-rc));
	if (is_json)
		printed = begin_json(&j);
	if (!printed)
		rc = coro_conform(&shm, cmd_coro_conform_tell, is_json ? &j : NULL, &sums);
	if (!is_json)
		print_sums(&sums);
	else if (!printed)
		printed = end_json(&j, &sums);
	coro_shm_close(&shm);
	if (printed)
		return cli_written(printed);
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
