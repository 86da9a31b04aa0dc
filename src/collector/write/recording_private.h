/* SPDX-License-Identifier: Apache-2.0 */
/* What the files recording_*.c share: the recording itself, and what each offers the others. */
#ifndef WEFT_COLLECTOR_RECORDING_PRIVATE_H
#define WEFT_COLLECTOR_RECORDING_PRIVATE_H

#include "base/clock.h"
#include "collector/process/label_sets.h"
#include "collector/session/settings_text.h"
#include "collector/write/recording.h"
#include "collector/write/recording_system.h"
#include "collector/write/recording_types.h"
#include "reader/target/live.h"

#include <string.h>

struct buf;

static inline void recording_events_add(struct recording_events *to,
					const struct recording_events *one)
{
	to->samples += one->samples;
	to->wall += one->wall;
	to->switches += one->switches;
	to->typed += one->typed;
}

/* A type of the programs' own, in the file. */
struct event_class {
	struct event_class *next;
	struct event_type *def;
	struct weft_jfr_type *type;
	struct event_settings settings; /* told last, of any process */
	int is_told;
};

/* What each chunk in the file has, when old ones are to leave it. */
struct chunk_events {
	struct recording_events *item;
	size_t count, room;
	uint64_t chunks, dropped;     /* written, and dropped again, by the writer's count */
	struct recording_events gone; /* what the dropped ones had */
};

struct recording {
	struct weft_jfr_writer *writer;
	/* NULL: not declared. Spans are not with --inline-context, and what is rare (warnings, runs
	 * and waits of coroutines) is with the first event of its type. */
	struct weft_jfr_type *type[TYPE_COUNT];
	struct weft_jfr_type *setting;
	/* Samples of each engine that is on, else NULL; with --inline-context they have tags. */
	struct weft_jfr_type *sample, *wall;
	struct tag_columns tags;
	size_t columns; /* of tags: those that the types with tags were declared with */
	struct label_sets *labels;
	struct live_context published; /* another library's, the newest that was decoded */

	struct recording_system *system;
	/* All whose last rows are not in the file yet, in the order in which they joined, so that
	 * after an exec the newest row is that of the program that runs now. */
	struct process *first, **end;
	struct recording_options o; /* as they were given, with the defaults in them */
	char *command_line;
	uint64_t start_ns, chunk_start_ns;
	uint64_t begun_bytes; /* what the open chunk began with: types, settings */
	char id[17];
	pid_t pid; /* of the program; atomic: told by another thread */
	uint64_t start_real_ns;
	uint64_t cpus;             /* of the machine; 0 = not asked yet */
	uint64_t used_ns, seen_ns; /* CPU time by the rows of weft.ThreadCPU */
	uint32_t times_off;        /* threads whose time does not add up, by weft.ThreadTime */
	int is_closing;            /* these rows are the last */
	int simulated;             /* time is what the caller says, */
	uint64_t now_ns;           /* and this is the latest */
	int error;
	int (*roll)(struct recording *r, uint64_t now_ns); /* recording_roll() */
	struct {
		uint64_t put_ns, safe_ns; /* CPU time that rows tell; that those in the file tell */
		char group[32];
	} cost; /* of the collector itself */
	struct chunk_events chunks;
	/* Events in the open chunk, in the file, and in chunks that could not be written. */
	struct recording_events chunk, safe, lost;

	/* All lines of settings, and what applies by them. */
	struct settings_text text;
	struct event_settings sample_settings[WEFT_EVENT_ROW_WALL + 1]; /* by row */
	struct event_settings switch_settings[2];                       /* of runs, and of waits */
	struct event_class *classes;
	size_t class_count;
	struct map *warned; /* texts */
};

struct context_texts {
	char trace[32], span[16], root[16], coroutine[24];
};

static inline struct weft_jfr_string text_value(const char *text)
{
	return (struct weft_jfr_string){text, text ? strlen(text) : 0};
}

static inline uint64_t recording_now(const struct recording *r)
{
	return r->simulated ? r->now_ns : clock_mono_ns();
}

static inline void recording_time_is(struct recording *r, uint64_t now_ns)
{
	if (now_ns > r->now_ns)
		r->now_ns = now_ns;
}

static inline pid_t recording_root(const struct recording *r)
{
	return load_relaxed(&r->pid);
}

/* In recording_put.c. The first error of the file is kept (@rc: 0 or -errno). */
void recording_note_error(struct recording *r, int rc);
void recording_put(struct recording *r, const struct weft_jfr_type *type,
		   const struct weft_jfr_value *values, size_t count);

void recording_put_setting(struct recording *r, const struct weft_jfr_type *type, const char *name,
			   const char *value);
void recording_put_one_setting(struct recording *r, const struct weft_jfr_type *type,
			       const struct event_settings *s, enum event_setting which);
/* The number of a stack; 0 when it has no frames. */
int64_t recording_stack(const struct recording *r, const struct recording_trace *trace);

/* In recording_context.c. */
struct weft_jfr_string recording_hex(char *room, const void *bytes, size_t count);
struct weft_jfr_string recording_hex_id(char room[16], uint64_t id); /* null when it is 0 */
void recording_fill_context(struct recording *r, struct process *p, const struct context_key *key,
			    struct context_texts *texts, struct weft_jfr_value *v);
void recording_put_span(struct recording *r, struct process *p, const struct process_thread *t,
			const struct stretch *s);

/* In recording_context.c. To be called before an event with this context (NULL = none): when its
 * tags or labels need new columns, the chunk ends. recording_extend(): the thread's stretch goes on
 * with it, or ends (see stretch_add()). */
void recording_meet_context(struct recording *r, struct process *p, const struct context_key *key);
void recording_extend(struct recording *r, struct process *p, struct process_thread *t,
		      const struct context_key *key, uint64_t first_ns, uint64_t last_ns);

/* In recording_labels.c. The number of a set, 0 when it has no labels; finds columns for its keys;
 * puts its values into @v, which begins with the first column; frees sets that are not in use. */
uint32_t recording_label_set(struct recording *r, const uint8_t *labels, uint32_t bytes);
void recording_learn_labels(struct recording *r, struct process *p, uint32_t number);
void recording_fill_labels(const struct recording *r, uint32_t number, struct weft_jfr_value *v);
void recording_forget_labels(struct recording *r);

/* In recording_wall.c. Samples for the time on a CPU that @spread stands for; and an event for what
 * the open stay has lasted since its last one. */
void recording_put_running(struct recording *r, struct process *p, struct process_thread *t,
			   const struct spread *spread, uint64_t stack,
			   const struct context_key *key);
void recording_put_stay(struct recording *r, struct process *p, struct process_thread *t);
/* So many samples in that state with an unknown stack. */
void recording_put_unseen(struct recording *r, struct process *p, struct process_thread *t,
			  enum weft_thread_state state, uint64_t samples);

/* In recording_settings.c. */
void recording_begin_settings(struct recording *r, const struct settings_text *text);
void recording_put_settings(struct recording *r);
void recording_put_switch_settings(struct recording *r);
void recording_sample_settings(struct recording *r, struct process *p,
			       const struct type_word *word);

/* In recording_event.c. */
void recording_put_class_settings(struct recording *r, const struct event_class *c);
void recording_free_classes(struct recording *r);

/* In recording_clock.c. Reads the session's clock while the session is there; puts a row. */
void recording_look_at_clock(struct process *p);
void recording_put_clock(struct recording *r, struct process *p, uint64_t now_ns);

/* In recording_lockstep.c. Judges ticks by looks; warns of a share that is misjudged; fills the
 * fields of weft.Clock about it. */
#define VERDICT_FIELDS 7
void recording_judge(const struct recording *r, struct process *p);
void recording_warn_of_lockstep(struct recording *r, const struct process *p);
void recording_fill_verdict(const struct process *p, int is_ticks, struct weft_jfr_value v[]);

/* In recording_account.c. Rows of one process and its threads at the end of a chunk; the last rows
 * of its threads when it is over, which frees their entries; and the keys of the thread pool that
 * entries have. */
void recording_account_rows(struct recording *r, struct process *p);
void recording_account_close(struct recording *r, struct process *p);
void recording_account_keys(const struct process *p, struct buf *out);

/* In recording_resource.c. Rows of what a process has said of itself since its last ones, and of
 * what it had said by then. */
void recording_resource(struct recording *r, struct process *p);

/* In recording_counts.c. Counter and histogram rows of one process: what has changed since the
 * last.
 */
void recording_counts(struct recording *r, struct process *p, uint64_t now_ns);

/* Rows of what the collector itself has used: CPU time since recording_cost_begin(), memory. */
void recording_cost_begin(struct recording *r);
void recording_cost(struct recording *r, uint64_t now_ns);
void recording_cost_settle(struct recording *r, int reached);

/* The chunk with these rows has reached the file; or it has not, and they are put again. */
void recording_counts_settle(struct process *p, int reached);

#endif
