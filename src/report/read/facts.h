/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says about itself beside its samples: how long it is, which processes it is of,
 * what was lost and why. Complete once the file was read for the first time; while samples are read
 * only periods still change.
 */
#ifndef WEFT_REPORT_FACTS_H
#define WEFT_REPORT_FACTS_H

#include "report/read/model.h"

/* A counter, summed over all processes; base/recording.h has the names and kinds. */
struct fact_counter {
	uint32_t name, kind; /* ids in model.names */
	int64_t value;
};

struct fact_bucket {
	uint32_t name;
	int64_t up_to; /* the bucket has the values in [up_to / 2, up_to) */
	int64_t count;
};

struct fact_process {
	uint32_t id; /* of its session */
	uint32_t name, command_line, end;
	int64_t duration_ns; /* of several rows with one id the longest is kept */
};

/* The clock by which CPU samples of a process are taken. */
struct fact_clock {
	uint32_t process, clock, reason;
	uint32_t misjudged; /* what has another share by ticks than by random looks;
				0 = none is known */
	uint64_t period_ns, tick_ns;
	int64_t looks, clocked_ns, ticked_ns;
	double tick_share, look_share, chance;
};

/* CPU time of a thread; with thread 0 what its process used beside the threads that have a row. */
struct fact_cpu {
	uint32_t process, thread; /* id in model.names, id of model_thread() */
	int64_t used_ns, seen_ns, samples;
};

/* How a thread spent its time: due_ns as the kernel counted it, seen_ns as its samples say. */
enum fact_place { FACT_RUNNING, FACT_WAITING, FACT_BLOCKED, FACT_PLACES };
struct fact_time {
	uint32_t process, thread;
	int64_t due_ns[FACT_PLACES], seen_ns[FACT_PLACES];
};

/* A file that code came from. */
struct fact_module {
	uint32_t name, path, build_id; /* build_id in hex; 0 = it has none */
};

/* A type of sample events in the file. */
struct fact_type {
	uint32_t name;
	int64_t type_id;
	uint64_t events;
	uint64_t period_ns; /* of one sample, as the file says last; 0 = it does not say */
	uint64_t now_ns;    /* the same at the place of the file that is being read */
	int counted;        /* selected for the report */
	int lasts;          /* an event is a sample of its duration */
};

struct fact_level {
	int64_t time_ns, value;
};

struct facts {
	const struct model *model; /* whose names and threads all of these have */
	int64_t start_ns, end_ns;  /* epoch */
	uint64_t events;           /* of all types */
	struct fact_counter *counters;
	struct fact_bucket *buckets;
	struct fact_process *processes;
	struct fact_type *types;
	struct fact_module *modules;
	struct fact_clock *clocks;
	struct fact_cpu *cpus;
	struct fact_time *times;
	struct fact_level *levels;
	struct map *index; /* of the rows of all these arrays */
	uint32_t counter_count, bucket_count, process_count, type_count, module_count, clock_count,
		cpu_count, time_count, level_count;
	size_t room[9];         /* of each array */
	struct map *settings;   /* id of "EVENT#SETTING" -> id of its last value */
	uint32_t jvm;           /* "java [pid]"; 0 = the file does not name a JVM */
	uint32_t context_count; /* contextual events */
	int failed;             /* out of memory */
	char damage[256];       /* why the file could not be read to its end; "" = it could */
};

void facts_free(struct facts *f);
void facts_count(struct facts *f, uint32_t name, uint32_t kind, int64_t value);
/* A counter that is no sum (RECORDING_KIND_LEVEL): of a process's rows the newest stands, and those
 * of all processes are added. */
void facts_level(struct facts *f, uint32_t name, uint32_t kind, uint32_t process,
		 const struct fact_level *level);
void facts_bucket(struct facts *f, uint32_t name, int64_t up_to, int64_t count);
void facts_process(struct facts *f, const struct fact_process *p);
/* Replaces what is known of the same process. */
void facts_clock(struct facts *f, const struct fact_clock *c);
/* Adds to what is known of the same thread. */
void facts_cpu(struct facts *f, const struct fact_cpu *more);
void facts_time(struct facts *f, const struct fact_time *more);
/* The sum of two numbers from a file; INT64_MAX or INT64_MIN where it would overflow. */
int64_t facts_added(int64_t a, int64_t b);
void facts_module(struct facts *f, const struct fact_module *module);
/* The row of a type by its name, made when new; NULL: out of memory. */
struct fact_type *facts_type(struct facts *f, uint32_t name);
/* NULL: the file does not declare it. */
struct fact_type *facts_type_named(const struct facts *f, const char *name);
/* The last value of a setting holds. */
void facts_setting(struct facts *f, uint32_t name, uint32_t value);
/* NULL: nothing is told of this process or thread. */
const struct fact_clock *facts_clock_of(const struct facts *f, uint32_t process);
const struct fact_time *facts_time_of(const struct facts *f, uint32_t thread);
/* From its start to its end, 0 if that is before. */
uint64_t facts_duration(const struct facts *f);
/* The text of an id; a thread as people call it, NULL for thread 0. */
const char *facts_name(const struct facts *f, uint32_t id);
const char *facts_thread(const struct facts *f, uint32_t thread);
/* Sum of a counter; 0 when the file has none. */
int64_t facts_value(const struct facts *f, const char *name);
/* Sum of a kind of counters ("lost"). */
int64_t facts_sum(const struct facts *f, const char *kind);

#endif
