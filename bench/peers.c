/* SPDX-License-Identifier: Apache-2.0 */
/* weft and the others, at 1 kHz asked where nothing else is said: see peers.h. */
#include "peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARGS_MAX 16

static const char *scratch(void)
{
	static char dir[] = "/tmp/weft-bench.XXXXXX";
	static const char *made;

	if (!made)
		made = mkdtemp(dir);
	return made ? made : "/tmp";
}

static const char *async_profiler(const struct bench_options *o)
{
	const char *given = getenv("WEFT_ASYNC_PROFILER");

	return given ? given : bench_text("%s/bench/libasyncProfiler.so", o->build);
}

/* The words before the program; their number. *setting: what goes into the environment. */
static size_t prefix(const struct bench_options *o, enum peer_id who, const char **argv,
		     const char **setting)
{
	size_t n = 0;

	*setting = NULL;
	if (peer_is_weft(who)) {
		argv[n++] = bench_text("%s/weft", o->build);
		argv[n++] = "record";
		if (who == PEER_WEFT) {
			argv[n++] = "-F";
			argv[n++] = "1000";
		} else if (who == PEER_WEFT_TICKS) {
			argv[n++] = "--clock";
			argv[n++] = "ticks";
		}
		argv[n++] = "-o";
		argv[n++] = bench_text("%s/weft.jfr", scratch());
		argv[n++] = "--";
	} else if (who == PEER_PERF) {
		argv[n++] = "perf";
		argv[n++] = "record";
		argv[n++] = "-q";
		argv[n++] = "-F";
		argv[n++] = "999";
		argv[n++] = "-g";
		argv[n++] = "-o";
		argv[n++] = bench_text("%s/perf.data", scratch());
		argv[n++] = "--";
	} else if (who == PEER_SAMPLY) {
		argv[n++] = "samply";
		argv[n++] = "record";
		argv[n++] = "--save-only";
		argv[n++] = "--rate";
		argv[n++] = "1000";
		argv[n++] = "-o";
		argv[n++] = bench_text("%s/samply.json", scratch());
		argv[n++] = "--";
	} else if (who == PEER_ASYNC) {
		*setting = bench_text("LD_PRELOAD=%s\nASPROF_COMMAND=start,event=cpu,interval=1ms,"
				      "file=%s/async.jfr",
				      async_profiler(o), scratch());
	}
	return n;
}

int peers_run(const struct bench_options *o, enum peer_id who, const char *program,
	      const char *argument, struct bench_run *out)
{
	const char *argv[ARGS_MAX] = {NULL}, *setting;
	size_t n = prefix(o, who, argv, &setting);
	int rc;

	argv[n++] = program;
	argv[n] = argument;
	rc = bench_spawn(argv, setting, out);
	if (rc)
		return rc;
	return out->status ? -ECHILD : 0;
}

void peers_find(const struct bench_options *o, struct peer peers[PEER_COUNT])
{
	static const char *const names[PEER_COUNT] = {
		"unrecorded",
		"unrecorded again",
		"weft record",
		"weft record, 199 Hz",
		"weft record, 199 Hz, ticks",
		"perf record -g",
		"async-profiler",
		"samply",
	};
	const char *nothing = bench_text("%s/bench/nothing", o->build);
	struct bench_run run;

	for (unsigned int i = 0; i < PEER_COUNT; i++) {
		peers[i] = (struct peer){names[i], true};
		if ((i == PEER_PERF && !bench_have("perf")) ||
		    (i == PEER_SAMPLY && !bench_have("samply")) ||
		    (i == PEER_ASYNC && access(async_profiler(o), R_OK))) {
			peers[i].works = false;
			bench_note("%s: not installed, left out", names[i]);
		} else if (peers_run(o, i, nothing, NULL, &run)) {
			peers[i].works = false;
			bench_note("%s: does not work here (status 0x%x), left out", names[i],
				   (unsigned int)run.status);
		}
	}
}
