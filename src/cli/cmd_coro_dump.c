/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft coro dump: what a shared file that was left over still holds, without its engine. The file
 * is only read.
 */
#include "base/output.h"
#include "cli/coro/coro_target.h"
#include "cli/frame/cli.h"
#include "cli/frame/leave.h"
#include "coro/engine/harvest.h"
#include "export/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {
	{"output", 'o', CLI_FILE, 0, "FILE",
	 .help = "Write the trace to FILE; - is standard output", .fallback = "-"},
	{"replace", 0, CLI_FLAG, .help = "Replace a FILE that is there"},
	{"extended", 0, CLI_FLAG,
	 .help = "Tell more of each event: pid, station, birth, death, context, payload"},
	{"stats", 0, CLI_FILE, 0, "FILE", .help = "Write the statistics to FILE, as JSON"},
	{"json", 0, CLI_FLAG, .help = "Print the statistics on standard error as JSON"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft coro dump --extended stations", "The last events of each coroutine, as JSON lines"},
	{NULL, NULL},
};

static int write_events(const struct cli_args *args, const struct coro_batch *batch,
			const struct coro_books *books)
{
	struct export_job x = {.sink = {.path = cli_text(args, "output"),
					.extended = cli_flag(args, "extended"),
					.replace = cli_flag(args, "replace")}};
	int rc;

	fflush(stdout);
	export_trace(&x, exporter_find("jsonl"));
	rc = x.sink.ops->open(&x.sink);
	for (size_t i = 0; i < batch->count && !rc; i++)
		rc = x.sink.ops->put(&x.sink, &batch->events[i]);
	if (!rc)
		rc = x.sink.ops->finish(&x.sink, books);
	x.sink.ops->close(&x.sink);
	return rc;
}

static int cmd_coro_dump_tell(const struct cli_args *args, const struct coro_engine_result *r,
			      uint32_t count)
{
	if (cli_flag(args, "json"))
		(void)coro_put_books(stderr, &r->books);
	else
		coro_tell(r, count);
	return cli_given(args, "stats") ? coro_tell_json(&r->books, cli_text(args, "stats"))
					: CLI_DONE;
}

static int dump(const struct cli_args *args, struct coro_shm *shm)
{
	struct coro_engine_result r = {.rc = 0};
	struct coro_batch batch = {0};
	struct coro_harvest *h;
	int64_t taken;
	int rc = coro_harvest_new(&h, shm), status;

	if (rc)
		return cli_error("%s", strerror(-rc));
	taken = coro_harvest_take(h, CORO_SWEEP_LAST, &batch);
	if (coro_harvest_books(h, &r.books) && taken >= 0)
		taken = -EIO;
	rc = write_events(args, &batch, &r.books);
	coro_harvest_free(h);
	coro_batch_free(&batch);
	if (rc)
		return cli_error("%s: %s", cli_text(args, "output"), output_why(rc));
	status = cmd_coro_dump_tell(args, &r, shm->count);
	if (taken == -EIO)
		return cli_error("%s: the file was cut short while it was read",
				 cli_operand(args, 0));
	return taken < 0 ? cli_error("%s", strerror((int)-taken)) : status;
}

static int cmd_coro_dump_check(const struct cli_args *args)
{
	const char *const names[] = {cli_text(args, "output"), cli_text(args, "stats")};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!is_standard_output(names[i]) &&
		    would_overwrite(cli_operand(args, 0), names[i]))
			return cli_usage("%s: is the shared file itself: name another file",
					 names[i]);
	return names[1] ? coro_tell_check(names[1], names[0]) : CLI_DONE;
}

static int run(const struct cli_args *args)
{
	const char *path = cli_operand(args, 0);
	struct coro_shm shm;
	int status = cmd_coro_dump_check(args), rc;

	if (status)
		return status;
	rc = coro_shm_open(&shm, path, 0);
	if (rc == -EBADMSG)
		return cli_error("%s: no cTP file, or of another version", path);
	if (rc)
		return cli_error("%s: %s", path, strerror(-rc));
	status = dump(args, &shm);
	coro_shm_close(&shm);
	return status;
}

const struct cli_command cmd_coro_dump = {
	.name = "coro dump",
	.summary = "Print what a shared file that was left over still holds",
	.operands = "SHM",
	.operands_min = 1,
	.operands_max = 1,
	.description = "Reads a shared file post mortem: up to eight events of each coroutine, as "
		       "JSON lines, and the statistics on standard error. An event that its "
		       "program died over is counted as such. The file is not changed.",
	.options = options,
	.examples = examples,
	.run = run,
};
