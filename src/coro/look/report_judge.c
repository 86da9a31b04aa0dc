/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with coroutines. No finding is based on a moment alone: a coroutine that is stuck
 * has been so for a time, and each finding has its reasons and says how sure it is.
 */
#include "coro/look/report.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define GROWTH_LEAST 8 /* coroutines more in the last part than in the first */

static void because(struct coro_suspect *s, const char *reason)
{
	if (s->reason_count < CORO_REASONS)
		s->reason[s->reason_count++] = reason;
}

static void report_judge_lower(struct coro_suspect *s, enum coro_confidence most,
			       const char *reason)
{
	if (s->confidence > most)
		s->confidence = (uint8_t)most;
	because(s, reason);
}

/* ---- who it is */

struct key {
	uint64_t station, generation;
};

static int compare_abouts(const void *a, const void *b)
{
	const struct coro_about *x = *(struct coro_about *const *)a,
				*y = *(struct coro_about *const *)b;

	return x->station < y->station ? -1 : x->station > y->station;
}

struct judge {
	struct coro_report *r;
	struct coro_about **by_station;
	struct map *wakes; /* pids whose program tells of wakes */
};

static void who_created(const struct judge *j, const struct coro_about *a, struct coro_suspect *s)
{
	struct coro_about key = {.station = a->parent_station - 1}, *wanted = &key, **found;

	s->site = a->site;
	if (!a->parent_station)
		return;
	found = bsearch(&wanted, j->by_station, j->r->about_count, sizeof(wanted), compare_abouts);
	if (found && (*found)->generation == a->parent_generation)
		s->parent_id = (*found)->probe_id;
}

static void from_about(const struct judge *j, const struct coro_about *a, struct coro_suspect *s)
{
	s->probe_id = a->probe_id;
	s->pid = a->pid;
	s->station = a->station;
	s->generation = a->generation;
	s->knows_identity = 1;
	s->wakes = a->totals.wakes;
	s->last_wake_ns = a->last_wake_ns;
	s->resumes = a->totals.resumes;
	s->max_wait_ns = a->totals.max_wait_ns;
	if (a->has_context) {
		s->has_context = 1;
		s->context = a->context.prefix;
		s->station_context = &a->context;
	}
	who_created(j, a, s);
}

static void from_life(const struct judge *j, const struct coro_life *life, struct coro_suspect *s)
{
	s->probe_id = life->probe_id;
	s->pid = life->pid;
	s->station = life->station;
	s->generation = life->generation;
	s->knows_identity = life->knows_identity;
	s->resumes = life->resumes;
	s->max_wait_ns = life->max_wait_ns;
	s->moves = life->tids;
	s->returns = life->returns;
	s->tid = life->last_tid;
	s->addr = life->last_addr;
	s->since_ns = life->last_ns;
	s->for_ns = j->r->now_ns - life->last_ns;
	if (life->user)
		from_about(j, life->user, s);
	if (life->has_context) {
		s->has_context = 1;
		s->context = life->context;
	}
}

/* ---- stuck */

static void report_judge_station(const struct judge *j, const struct coro_about *a,
				 struct coro_suspect *s)
{
	uint64_t pid = a->pid;

	if (!a->generation) {
		s->confidence = CORO_MEDIUM;
		because(s, "another's probe: it tells neither wakes nor, always, deaths");
	} else if (a->last_wake_ns && a->last_wake_ns <= s->since_ns &&
		   a->last_wake_ns >= a->last_resume_ns && a->last_resume_ns) {
		s->confidence = CORO_HIGH;
		because(s, "its last wake came while it still ran, before it suspended");
	} else if (map_get(j->wakes, &pid, sizeof(pid))) {
		s->confidence = CORO_HIGH;
		because(s, "its program tells of wakes, and none came since it suspended");
	} else {
		s->confidence = CORO_MEDIUM;
		because(s, "its program does not tell of wakes");
	}
}

static void judge_trace(const struct coro_report *r, const struct coro_life *life,
			struct coro_suspect *s)
{
	s->confidence = CORO_MEDIUM;
	if (!life->knows_death)
		report_judge_lower(s, CORO_LOW, "the trace tells no deaths: it may be over");
	else
		because(s, "nothing tells here whether it was woken");
	if (!life->last_addr && !life->knows_death)
		report_judge_lower(s, CORO_LOW,
				   "it suspended at no address, as one does that ends");
	if (life->gaps)
		report_judge_lower(s, CORO_LOW, "events of it were lost");
	if (coro_report_untold(r))
		report_judge_lower(s, CORO_LOW,
				   "runs and waits were lost: its end may be among them");
}

static void judge_place(struct coro_report *r, const struct coro_life *life, struct coro_suspect *s)
{
	const struct coro_group *g = coro_report_site(r, life->pid, life->last_addr);

	if (!g) {
		r->error = -ENOMEM;
		return;
	}
	if (g->wait.count && g->wait.max_ns >= s->for_ns)
		report_judge_lower(s, CORO_LOW, "others waited as long at this place, and went on");
	else if (g->wait.count)
		because(s, "waits at this place have ended sooner");
	if (g->ended && !life->user && !life->knows_death)
		report_judge_lower(s, CORO_LOW, "others ended at this place");
}

static int report_judge_is_over(const struct coro_life *life)
{
	const struct coro_about *a = life->user;

	return life->is_dead || (a && a->state == WEFT_CTP_DEAD);
}

static void look_for_stuck(const struct judge *j, const struct coro_life *life)
{
	const struct coro_about *a = life->user;
	struct coro_report *r = j->r;
	int is_woken = a && (a->state == WEFT_CTP_READY || a->last_wake_ns > life->last_ns);
	struct coro_suspect *s;

	if (life->is_running || report_judge_is_over(life) ||
	    r->now_ns - life->last_ns <= r->query.stuck_ns)
		return;
	s = coro_report_suspect(r, is_woken ? CORO_WOKEN : CORO_STUCK);
	if (!s)
		return;
	from_life(j, life, s);
	if (is_woken)
		return;
	if (a)
		report_judge_station(j, a, s);
	else
		judge_trace(r, life, s);
	judge_place(r, life, s);
}

/* ---- never resumed, ping-pong */

static void never_resumed(const struct judge *j, const struct coro_life *life)
{
	const struct coro_about *a = life->user;
	struct coro_suspect *s;

	if (life->resumes || report_judge_is_over(life) || !life->suspends ||
	    (a && a->totals.resumes))
		return;
	s = coro_report_suspect(j->r, CORO_NEVER_RESUMED);
	if (s)
		from_life(j, life, s);
}

static void never_begun(const struct judge *j, const struct coro_about *a)
{
	struct coro_suspect *s;

	if (a->state != WEFT_CTP_CREATED || !a->generation)
		return;
	s = coro_report_suspect(j->r, CORO_NEVER_RESUMED);
	if (!s)
		return;
	from_about(j, a, s);
	s->since_ns = a->birth_ns;
	s->for_ns = j->r->now_ns > a->birth_ns ? j->r->now_ns - a->birth_ns : 0;
}

/* At least half of its moves lead back to where it came from. */
static void ping_pong(const struct judge *j, const struct coro_life *life)
{
	struct coro_suspect *s;

	if (!j->r->query.ping_pong_min || life->returns < j->r->query.ping_pong_min ||
	    life->returns < life->tids / 2)
		return;
	s = coro_report_suspect(j->r, CORO_PING_PONG);
	if (s)
		from_life(j, life, s);
}

/* ---- growth */

struct change {
	uint64_t ns;
	int by;
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return y->by - x->by; /* births before deaths: a successor at once is never one fewer */
}

static size_t changes_of(struct coro_report *r, struct change *change)
{
	size_t count = 0;

	for (size_t i = 0; i < r->lives->count; i++) {
		const struct coro_life *life = coro_lives_at(r->lives, i);
		uint64_t born = life->birth_ns && life->birth_ns < life->first_ns ? life->birth_ns
										  : life->first_ns;

		change[count++] = (struct change){born < r->first_ns ? r->first_ns : born, 1};
		if (life->is_dead) {
			change[count++] = (struct change){
				life->death_ns ? life->death_ns : life->last_ns, -1};
			r->leak.ended++;
			r->leak.untold += life->is_replaced;
		}
	}
	r->leak.born = r->lives->count;
	return count;
}

/* Part 0, in which coroutines are seen for the first time, is not judged. Returns the widest swing
 * within a part. */
static uint64_t least_in_parts(struct coro_report *r, const struct change *change, size_t count)
{
	uint64_t length = r->last_ns - r->first_ns, live = 0, widest = 0;
	size_t at = 0;

	for (unsigned int part = 0; part <= CORO_PARTS; part++) {
		uint64_t end = r->first_ns + length / (CORO_PARTS + 1) * (part + 1);
		uint64_t least = live, most = live;

		for (; at < count && (part == CORO_PARTS || change[at].ns < end); at++) {
			live += (uint64_t)(int64_t)change[at].by;
			least = live < least ? live : least;
			most = live > most ? live : most;
		}
		if (!part)
			continue;
		r->leak.least[part - 1] = least;
		widest = most - least > widest ? most - least : widest;
	}
	return widest;
}

static int is_growing(const struct coro_leak *leak, uint64_t swing)
{
	uint64_t rise = leak->least[CORO_PARTS - 1] - leak->least[0];

	for (unsigned int i = 1; i < CORO_PARTS; i++)
		if (leak->least[i] <= leak->least[i - 1])
			return 0;
	return rise >= GROWTH_LEAST && rise >= swing - swing / 4;
}

static const char *why_not_judged(const struct coro_report *r)
{
	if (r->is_file)
		return "a shared file tells how it is, not how it was: give a trace";
	if (!r->knows_deaths)
		return "no death is told in this trace: weft coro run --extended tells them";
	return NULL;
}

static void judge_growth(struct coro_report *r)
{
	size_t lives = r->lives->count, count;
	struct coro_leak *leak = &r->leak;
	struct change *change;
	uint64_t swing;

	leak->why_not = why_not_judged(r);
	if (leak->why_not || !lives)
		return;
	change = malloc(2 * lives * sizeof(*change));
	if (!change) {
		r->error = -ENOMEM;
		return;
	}
	count = changes_of(r, change);
	if (2 * leak->untold > leak->ended) {
		leak->why_not = "most deaths are not told: coroutines were destroyed while "
				"suspended, or events lost";
		free(change);
		return;
	}
	qsort(change, count, sizeof(*change), compare_changes);
	swing = least_in_parts(r, change, count);
	free(change);
	leak->is_judged = 1;
	leak->is_growing = (uint8_t)is_growing(leak, swing);
}

/* ---- all */

static int longest_first(const void *a, const void *b)
{
	const struct coro_suspect *x = a, *y = b;

	if (x->for_ns != y->for_ns)
		return x->for_ns > y->for_ns ? -1 : 1;
	return x->probe_id < y->probe_id ? -1 : x->probe_id > y->probe_id;
}

static int surest_first(const void *a, const void *b)
{
	const struct coro_suspect *x = a, *y = b;

	return x->confidence != y->confidence ? y->confidence - x->confidence : longest_first(a, b);
}

static int most_returns_first(const void *a, const void *b)
{
	const struct coro_suspect *x = a, *y = b;

	if (x->returns != y->returns)
		return x->returns > y->returns ? -1 : 1;
	return longest_first(a, b);
}

static void report_judge_sort(struct coro_report *r)
{
	for (unsigned int f = 0; f < CORO_FINDINGS; f++)
		if (r->found[f].count)
			qsort(r->found[f].suspect, r->found[f].count, sizeof(struct coro_suspect),
			      f == CORO_STUCK       ? surest_first
			      : f == CORO_PING_PONG ? most_returns_first
						    : longest_first);
}

static void count_lives(struct coro_report *r)
{
	for (size_t i = 0; i < r->lives->count; i++) {
		const struct coro_life *life = coro_lives_at(r->lives, i);
		struct coro_group *g;

		r->gaps += life->gaps;
		r->lost += life->lost;
		if (!r->is_file) {
			r->coroutines++;
			r->dead += life->is_dead;
			r->running += !life->is_dead && life->is_running;
			r->suspended += !life->is_dead && !life->is_running;
		}
		g = report_judge_is_over(life) ? coro_report_site(r, life->pid, life->last_addr)
					       : NULL;
		if (g)
			g->ended++;
	}
}

static int report_judge_begin(struct judge *j, struct coro_report *r)
{
	size_t i = 0;

	j->r = r;
	j->wakes = map_new();
	j->by_station = calloc(r->about_count + 1, sizeof(struct coro_about *));
	if (!j->wakes || !j->by_station)
		return -ENOMEM;
	for (struct coro_about *a = r->abouts; a; a = a->next) {
		uint64_t pid = a->pid;
		int fresh;

		j->by_station[i++] = a;
		if (a->totals.wakes && !map_put(j->wakes, &pid, sizeof(pid), &fresh))
			return -ENOMEM;
	}
	qsort(j->by_station, i, sizeof(struct coro_about *), compare_abouts);
	return 0;
}

int coro_report_judge(struct coro_report *r)
{
	struct judge j;
	int rc = report_judge_begin(&j, r);

	if (rc == 0)
		count_lives(r);
	for (size_t i = 0; rc == 0 && i < r->lives->count; i++) {
		const struct coro_life *life = coro_lives_at(r->lives, i);

		if (r->query.stuck_ns)
			look_for_stuck(&j, life);
		never_resumed(&j, life);
		ping_pong(&j, life);
	}
	for (const struct coro_about *a = r->abouts; rc == 0 && a; a = a->next)
		never_begun(&j, a);
	if (rc == 0)
		judge_growth(r);
	report_judge_sort(r);
	map_free(j.wakes);
	free(j.by_station);
	return rc ? rc : r->error;
}
