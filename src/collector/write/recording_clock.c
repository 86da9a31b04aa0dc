/* SPDX-License-Identifier: Apache-2.0 */
/* By which clock the CPU samples of a process were taken: rows of weft.Clock. */
#include "collector/write/recording_private.h"

#include "base/clock.h"
#include "base/recording.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

/* Why there is no hrtimer; NULL = there is. */
static const char *why_ticks(const struct process_clock *c)
{
	if (c->choice == WEFT_CLOCK_TICKS)
		return "asked for";
	if (c->is_careful)
		return "the program filters its system calls";
	switch (-c->error) {
	case 0:
		break;
	case EACCES:
	case EPERM:
		return "perf_event_open is not permitted";
	case EADDRINUSE:
		return "the program uses SIGURG itself";
	case EBUSY:
		return "the handler of SIGURG was replaced";
	default:
		return "the kernel has no perf_event_open that serves";
	}
	if (c->opened)
		return NULL;
	return c->signo == SIGURG ? "no thread had SIGURG open" : "SIGURG is not to be used";
}

/* Keeps what the session says, for when it is gone. */
void recording_look_at_clock(struct process *p)
{
	const struct weft_session_header *h = p->base;

	if (!h)
		return;
	p->work->clock = (struct process_clock){
		.choice = load_relaxed(&h->clock),
		.error = load_relaxed(&h->clock_error),
		.opened = load_relaxed(&h->clock_opened),
		.rested = load_relaxed(&h->clock_rested),
		.lacked = load_relaxed(&h->clock_lacked),
		.signo = load_relaxed(&h->prime_signal_used),
		.is_careful = load_relaxed(&h->counters[WEFT_COUNTER_CAREFUL]) != 0,
	};
}

static const char *recording_clock_plural(uint32_t count)
{
	return count == 1 ? "" : "s";
}

/* How many threads were sampled by ticks, at least for a time, although there are hrtimers. */
static void put_limits(const struct process_clock *c, char *text, size_t room)
{
	int used = 0;

	*text = 0;
	if (c->rested)
		used = snprintf(text, room, "%u thread%s by ticks, for switching too often",
				c->rested, recording_clock_plural(c->rested));
	if (c->lacked)
		snprintf(text + used, room - (size_t)used,
			 "%s%u thread%s by ticks, for want of descriptors or memory to be locked",
			 used ? "; " : "", c->lacked, recording_clock_plural(c->lacked));
}

void recording_put_clock(struct recording *r, struct process *p, uint64_t now_ns)
{
	struct weft_jfr_value v[6 + VERDICT_FIELDS] = {{.number = (int64_t)now_ns}};
	const char *why;
	char limits[160];

	recording_look_at_clock(p);
	why = why_ticks(&p->work->clock);
	put_limits(&p->work->clock, limits, sizeof(limits));
	v[1].string = text_value(p->group);
	v[2].string = text_value(why ? RECORDING_CLOCK_TICKS : RECORDING_CLOCK_HRTIMER);
	if (why || *limits)
		v[3].string = text_value(why ? why : limits);
	v[4].number = (int64_t)r->o.period_ns;
	v[5].number = (int64_t)clock_tick_ns();
	recording_judge(r, p);
	recording_fill_verdict(p, why != NULL, v + 6);
	recording_put(r, r->type[TYPE_CLOCK], v, 6 + VERDICT_FIELDS);
}
