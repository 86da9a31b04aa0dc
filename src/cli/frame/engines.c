/* SPDX-License-Identifier: Apache-2.0 */
/* What takes samples, and how often: see engines.h. */
#include "cli/frame/engines.h"

#include <string.h>

#define CPU_MILLIHERTZ 199000

const char *const engine_names[] = {"cpu", "wall", NULL};
const char *const engine_wall_filters[] = {"all", "context", NULL};
const char *const engine_context_sources[] = {[PUBLISHED_AUTO] = "auto",
					      [PUBLISHED_WEFT] = "weft",
					      [PUBLISHED_OTEL] = "otel",
					      [PUBLISHED_LABELS] = "labels",
					      NULL};

/* A rate and the time that may be given instead of it. */
struct rate {
	const char *frequency, *interval;
	uint64_t least_ns;
	const char *least;
	uint64_t millihertz; /* when neither is given */
};

static int read_rate(const struct cli_args *args, const struct rate *rate, uint64_t *period_ns)
{
	const char *option = cli_given(args, rate->interval) ? rate->interval : rate->frequency;
	uint64_t ns;

	if (cli_given(args, rate->interval) && cli_given(args, rate->frequency))
		return cli_usage("--%s and --%s: give one of them", rate->interval,
				 rate->frequency);
	if (cli_given(args, rate->interval))
		ns = cli_number(args, rate->interval);
	else if (cli_given(args, rate->frequency))
		ns = UINT64_C(1000000000000) / cli_number(args, rate->frequency);
	else
		ns = UINT64_C(1000000000000) / rate->millihertz;
	if (ns < rate->least_ns || ns > ENGINE_PERIOD_MAX_NS)
		return cli_usage("--%s: '%s': a sample each %llu ns is not between %s and 1h",
				 option, cli_text(args, option), (unsigned long long)ns,
				 rate->least);
	*period_ns = ns;
	return 0;
}

int engines_rate_is_given(const struct cli_args *args, const char *frequency, const char *interval)
{
	return cli_given(args, frequency) || cli_given(args, interval);
}

static uint32_t engines_given(const struct cli_args *args)
{
	uint32_t engines = 0;

	for (size_t i = 0; i < cli_count(args, "engine"); i++)
		engines |= strcmp(cli_text_at(args, "engine", i), "cpu") == 0 ? WEFT_ENGINE_CPU
									      : WEFT_ENGINE_WALL;
	return engines;
}

static enum published_from read_context_from(const struct cli_args *args)
{
	int from = PUBLISHED_AUTO;

	while (strcmp(engine_context_sources[from], cli_text(args, "context-from")) != 0)
		from++;
	return (enum published_from)from;
}

/* If the wall engine is the only one, -F and -i are its rate. */
static int read_wall(const struct cli_args *args, struct collector_options *o)
{
	struct rate rate = {"wall-frequency", "wall-interval", ENGINE_WALL_PERIOD_MIN_NS, "1ms",
			    19000};

	if (o->engines == WEFT_ENGINE_WALL &&
	    engines_rate_is_given(args, "frequency", "interval")) {
		if (engines_rate_is_given(args, "wall-frequency", "wall-interval"))
			return cli_usage("--%s and --%s: of one engine: give one of them",
					 cli_given(args, "interval") ? "interval" : "frequency",
					 cli_given(args, "wall-interval") ? "wall-interval"
									  : "wall-frequency");
		rate.frequency = "frequency";
		rate.interval = "interval";
	}
	o->wall.context_only = strcmp(cli_text(args, "wall-filter"), "context") == 0;
	return read_rate(args, &rate, &o->wall.period_ns);
}

static int refuse_wall(const struct cli_args *args)
{
	static const char *const options[] = {"wall-frequency", "wall-interval", "wall-filter"};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (cli_given(args, options[i]))
			return cli_usage("--%s: the wall engine is not on; give -e wall or "
					 "-e cpu,wall",
					 options[i]);
	return 0;
}

int engines_read(const struct cli_args *args, struct collector_options *o)
{
	struct rate cpu = {"frequency", "interval", ENGINE_CPU_PERIOD_MIN_NS, "10us",
			   CPU_MILLIHERTZ};
	int rc;

	o->engines = engines_given(args);
	o->wall.pattern = cli_text(args, "threads");
	o->wall.from = read_context_from(args);
	rc = o->engines & WEFT_ENGINE_WALL ? read_wall(args, o) : refuse_wall(args);
	if (rc)
		return rc;
	if (o->engines & WEFT_ENGINE_CPU)
		return read_rate(args, &cpu, &o->period_ns);
	/* CPU timers take the samples of time on a CPU for the wall engine, too. */
	o->period_ns = o->wall.period_ns;
	return 0;
}
