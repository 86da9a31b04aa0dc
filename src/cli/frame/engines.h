/* SPDX-License-Identifier: Apache-2.0 */
/* What takes samples, how often, and of whom: options that record and collect share. */
#ifndef WEFT_CLI_ENGINES_H
#define WEFT_CLI_ENGINES_H

#include "cli/frame/cli.h"
#include "collector/run/collector.h"

extern const char *const engine_names[];           /* "cpu", "wall", NULL */
extern const char *const engine_wall_filters[];    /* "all", "context", NULL */
extern const char *const engine_context_sources[]; /* of enum published_from, NULL */

/* clang-format off */
#define ENGINE_OPTIONS \
	{"engine", 'e', CLI_CHOICE, CLI_LIST, "ENGINE,...", \
	 .help = "What takes the samples: cpu, CPU time that threads use; wall, time that passes " \
		 "for them, running or not", .fallback = "cpu", .choices = engine_names}, \
	{"frequency", 'F', CLI_RATE, 0, "HZ", \
	 .help = "Samples for each second of CPU time [199]; with -e wall alone, of each " \
		 "thread's time [19]"}, \
	{"interval", 'i', CLI_TIME, 0, "TIME", \
	 .help = "Time between two such samples, instead of -F"}, \
	{"wall-frequency", 0, CLI_RATE, 0, "HZ", \
	 .help = "Samples for each second of each thread's time, with -e wall", \
	 .fallback = "19"}, \
	{"wall-interval", 0, CLI_TIME, 0, "TIME", \
	 .help = "Time between two such samples, instead"}, \
	{"wall-filter", 0, CLI_CHOICE, 0, "WHICH", \
	 .help = "Blocked threads that are looked at: all, or those that have a context set", \
	 .fallback = "all", .choices = engine_wall_filters}, \
	{"context-from", 0, CLI_CHOICE, 0, "WHOSE", \
	 .help = "Whose context samples have: weft's own, that of other libraries " \
		 "(otel: OpenTelemetry's thread context; labels: Custom Labels), or auto, all in " \
		 "this order", \
	 .fallback = "auto", .choices = engine_context_sources}, \
	{"threads", 0, CLI_TEXT, 0, "GLOB", \
	 .help = "Only threads with such a name, for both engines: 'worker-*'"}
/* clang-format on */

#define ENGINE_CPU_PERIOD_MIN_NS UINT64_C(10000)
#define ENGINE_WALL_PERIOD_MIN_NS UINT64_C(1000000)
#define ENGINE_PERIOD_MAX_NS UINT64_C(3600000000000)

/* Is a rate given, by either of its options? */
int engines_rate_is_given(const struct cli_args *args, const char *frequency, const char *interval);

/* Fills periods, engines, filters. 0, or CLI_USAGE with the message printed. */
int engines_read(const struct cli_args *args, struct collector_options *o);

#endif
