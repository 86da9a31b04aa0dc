/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace, or a shared file, says of its coroutines: runs and waits in groups, and what is
 * wrong. Fed with events or with states, then ended once, then read. Printing is somebody else's.
 *
 * A shared file's events are the last eight of each coroutine; its totals are complete, and groups
 * by label and by coroutine are built from them.
 */
#ifndef WEFT_CORO_REPORT_H
#define WEFT_CORO_REPORT_H

#include "coro/engine/snapshot.h"
#include "coro/engine/times.h"
#include "coro/look/lives.h"

enum coro_by { CORO_BY_ALL, CORO_BY_SITE, CORO_BY_THREAD, CORO_BY_LABEL, CORO_BY_COROUTINE };
#define CORO_BYS 5

struct coro_group {
	uint64_t key; /* by site: address; by thread: tid; by coroutine: probe_id */
	uint32_t pid; /* 0 = not known */
	char *label;  /* by label; NULL = has none */
	struct coro_times run, wait;
	uint64_t waiting, oldest_ns; /* how many wait at the end, and since when the first does */
	uint64_t ended; /* by site: coroutines that ended, with their last event there */
};

struct coro_groups {
	struct map *index;
	struct coro_group *group;
	size_t count, room;
};

enum coro_confidence { CORO_LOW, CORO_MEDIUM, CORO_HIGH };

#define CORO_REASONS 6

/* A coroutine with a finding. */
struct coro_suspect {
	uint64_t probe_id, since_ns, for_ns, addr, tid;
	uint64_t resumes, max_wait_ns, wakes, last_wake_ns; /* wakes: of stations alone */
	uint64_t moves, returns;                            /* between threads */
	uint64_t site, parent_id;                           /* 0 = not known */
	uint32_t pid, station, generation;
	uint8_t knows_identity, is_open, has_context;
	uint8_t confidence, reason_count; /* enum coro_confidence */
	const char *reason[CORO_REASONS];
	struct weft_ctp_context_prefix context;
	const struct weft_ctp_context *station_context; /* with labels; or NULL */
};

struct coro_suspects {
	struct coro_suspect *suspect;
	size_t count, room;
};

enum coro_finding {
	CORO_STUCK,
	CORO_WOKEN,         /* suspended as long, but woken since: it waits for its scheduler */
	CORO_NEVER_RESUMED, /* since its birth, or since it was first seen */
	CORO_NOT_YIELDING,  /* for_ns: a run's length */
	CORO_PING_PONG,
	CORO_FINDINGS
};

/* Is the number of live coroutines growing? Judged by the least number in each fifth of the trace
 * but the first: it must rise from each to the next, and by more than the number swings within
 * them, so that a server with steady load is not accused. */
#define CORO_PARTS 4
struct coro_leak {
	uint8_t is_judged, is_growing;
	const char *why_not;
	uint64_t least[CORO_PARTS], born, ended;
	uint64_t untold; /* of these: known to have ended by their successor alone */
};

/* Counters of a recording for runs and waits that it does not have. */
#define CORO_UNTOLD 8
extern const char *const coro_untold_names[CORO_UNTOLD];

struct coro_report_query {
	unsigned int by;        /* 1 << enum coro_by, each that is wanted */
	const char *label;      /* "trace-id", "span-id", or a label's key */
	uint64_t long_run_ns;   /* 0 = do not look */
	uint64_t stuck_ns;      /* 0 = do not look */
	uint64_t ping_pong_min; /* moves back to where it came from */
};

struct coro_report {
	struct coro_report_query query;
	struct coro_lives *lives;
	struct coro_groups groups[CORO_BYS];
	struct coro_suspects found[CORO_FINDINGS];
	struct coro_leak leak;
	const char *label_now; /* label of the event that is fed; its reader's */
	uint64_t events, now_ns, first_ns, last_ns;
	uint64_t coroutines, running, suspended, created, ready, dead;
	uint64_t gaps, lost;          /* in the trace, by sequence numbers */
	uint64_t untold[CORO_UNTOLD]; /* runs and waits that a recording counts as left out */
	uint8_t is_recording;         /* fed with one: untold counts */
	uint64_t legacy;              /* stations written by other probes */
	uint64_t processes, threads;
	uint8_t is_file; /* fed with states */
	uint8_t knows_identity, knows_deaths;
	int error; /* -ENOMEM within a callback */
	struct coro_about *abouts, *last_about, *beginning;
	size_t about_count;
	struct map *pids, *tids;
};

int coro_report_new(struct coro_report **out, const struct coro_report_query *query);
void coro_report_free(struct coro_report *r);
uint64_t coro_report_untold(const struct coro_report *r);                     /* the sum */
int coro_report_event(struct coro_report *r, const struct coro_event *event); /* 0 or -errno */
int coro_report_state(struct coro_report *r, const struct coro_state *state);
/* To be called once. @now_ns: the clock, for a file in use; 0 = the trace's last time. */
int coro_report_end(struct coro_report *r, uint64_t now_ns);

/* Feeds a whole JSONL trace, which need not be in order. -EBADMSG: *line tells where, @why what. */
int coro_report_jsonl(struct coro_report *r, const char *path, uint64_t *line, char why[128]);

/* --- for report_*.c */

/* What a station has, and events do not. */
struct coro_about {
	struct coro_about *next;
	uint64_t probe_id, birth_ns, site, last_wake_ns, last_resume_ns;
	uint32_t pid, station, generation, parent_station, parent_generation;
	uint8_t state;
	uint8_t has_context;
	struct weft_ctp_totals totals;
	struct weft_ctp_context context;
};

struct coro_group *coro_groups_get(struct coro_groups *g, const void *key, size_t bytes);
struct coro_group *coro_report_site(struct coro_report *r, uint32_t pid, uint64_t addr);
/* One more with this finding, all zeros; NULL, with r->error: no memory. */
struct coro_suspect *coro_report_suspect(struct coro_report *r, enum coro_finding finding);
int coro_report_judge(struct coro_report *r); /* findings; after all intervals */

#endif
