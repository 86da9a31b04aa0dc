/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event of a coroutine outside the shared file, what is known of a whole trace, and where
 * traces go and come from. All that reads or writes traces (engine, exports, reports) speaks in
 * these.
 */
#ifndef WEFT_CORO_TRACE_H
#define WEFT_CORO_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <weft/abi/ctp.h>

/* What of an event is known beyond the six fields that every trace has. */
enum coro_known {
	CORO_KNOWS_IDENTITY = 1 << 0, /* pid, station, generation */
	CORO_KNOWS_BIRTH = 1 << 1,
	CORO_KNOWS_CONTEXT = 1 << 2, /* trace and span id in context */
	CORO_KNOWS_PAYLOAD = 1 << 3,
	CORO_KNOWS_DEATH = 1 << 4, /* it was seen dead when this, its last event, was taken */
};

struct coro_event {
	uint64_t probe_id, tid, addr, seq, ts;
	uint8_t is_active;     /* 1 resumed, 0 suspended */
	uint8_t payload_bytes; /* 0 .. 28 */
	uint16_t known;        /* enum coro_known */
	uint32_t pid, station, generation;
	uint64_t birth_ts;
	struct weft_ctp_context_prefix context;
	uint8_t payload[WEFT_CTP_PAYLOAD_MAX];
};

/* A coroutine whose last event was told before is dead. No event: it is not in the books. */
struct coro_death {
	uint32_t pid, station, generation; /* whose */
	uint64_t ts;                       /* it was dead then; 0 = not known */
};

/* Sums of a trace. written = harvested + lost + pending, always; lost is the sum of its causes. */
struct coro_books {
	uint64_t written, harvested, lost, pending;
	uint64_t lost_lapped;    /* overwritten in its slot before it was read */
	uint64_t lost_recycled;  /* its station went to another coroutine first */
	uint64_t lost_mid_write; /* its writer died over it */
	uint64_t lost_unwritten; /* harvested, but the output was too slow, or the engine died */
	uint64_t refused;        /* coroutines without a station: no event of theirs is written */
	uint64_t stations;       /* ever had */
	uint64_t coroutines;     /* seen: a station's generations */
	uint64_t live, dead;     /* of the stations, now */
	uint64_t legacy;         /* stations of dialects S and D */
	uint64_t processes;
	uint64_t sweeps, sweeping_ns; /* over the stations, and the CPU time of all of them */
	uint64_t sweep_ns;            /* of one of late, when only those that say so are visited */
};

/*
 * Where events go: the rooms above make one for each format (export/trace.c). put() comes in time
 * order per coroutine, and with `ts` about in order over all. finish() gets the sums, after the
 * last event; what it writes is complete only when it returned 0. close() frees, and takes away an
 * output that is not complete; it must follow each open(), one that failed, too. Each returns 0 or
 * -errno.
 */
struct coro_sink {
	const struct coro_sink_ops *ops;
	const char *path; /* of the output; NULL or "-" = standard output where the format can */
	int extended;     /* keys beyond the six */
	int replace;      /* may take the place of a file that is there */
	int append;       /* the peer's way: added to the file's end */
	/* What is flushed is in the output for certain, whatever happens then; by append, another
	 * engine goes on there. */
	int is_live;
	int takes_deaths;
	/* The clocks, read together, where that is known: a timeline lines up with others then. */
	uint64_t mono_ns, real_ns, boot_ns;
};
struct coro_sink_ops {
	int (*open)(struct coro_sink *sink);
	int (*put)(struct coro_sink *sink, const struct coro_event *event);
	/* Comes behind the coroutine's last event; nothing where the format has no place for it. */
	int (*death)(struct coro_sink *sink, const struct coro_death *death);
	int (*flush)(struct coro_sink *sink);              /* of one that is live; else nothing */
	uint64_t (*written)(const struct coro_sink *sink); /* of one that is live: events */
	int (*finish)(struct coro_sink *sink, const struct coro_books *books);
	const char *(*why)(const struct coro_sink *sink); /* of the last error; NULL = none */
	void (*close)(struct coro_sink *sink);
};

/*
 * A JSONL trace, ours or another engine's: unknown keys and blank lines are passed over; a line
 * that is none is an error with its number. A line may be of any length up to 1 MiB.
 */
struct coro_input;
int coro_input_open(struct coro_input **out, const char *path);       /* "-" = standard input */
int coro_input_next(struct coro_input *in, struct coro_event *event); /* 1, 0 at the end, -errno */
/* After it: deaths that the same line tells, 1 for each (at the line's ts), then 0. */
int coro_input_death(struct coro_input *in, struct coro_death *death);
uint64_t coro_input_line(const struct coro_input *in);
const char *coro_input_why(const struct coro_input *in); /* of -EBADMSG */
void coro_input_close(struct coro_input *in);

#endif
