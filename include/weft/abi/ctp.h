/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ctp.h
 * cTP, the coroTracer protocol, version 1, with weft's extensions: one file in shared memory
 * between any number of traced processes (probes) and one engine. Host endian, 64-bit.
 * Source: the cTP specification (docs/cTP.md of coroTracer). [X] marks weft's extensions, which
 * lie in bytes that other probes and engines neither write nor read.
 *
 *   0                header, 1024 bytes
 *   1024 (i + 1)     station i: 64 bytes of head, 8 slots (epochs) of 64 bytes, 448 bytes [X]
 *
 * A coroutine has a station from its birth to its death; each switch is an event in the next of
 * its eight slots. The file is made by the engine (or by whoever wants one), is not shortened
 * while it is mapped, and outlives both sides.
 *
 * Three dialects of writing a slot
 *   S  (station.dialect 0)  event n >= 0 of the station in slot n % 8; seq counts that slot's
 *      laps: +1 (odd) before the payload, +1 (even) after it
 *   D  (station.dialect 0)  seq = 1, 2, 3 ... numbers the station's events; the event lies in slot
 *      seq % 8; seq is stored last
 *   M  (station.dialect 1)  [X] event n in slot n % 8; seq is 2n + 1 while it is written, then
 *      2n + 2: gap-free, unique and even, so that a reader of S reads it too
 *
 * Writer's protocol of an event, dialect M. One writer at a time: the thread that runs the
 * coroutine (whoever hands it to another thread orders what the two do).
 *   seq = 2n + 1 (relaxed); release fence; payload (relaxed); seq = 2n + 2 (release); then the
 *   dirty bit, if it is not set already.
 *   Dying in between leaves the slot odd: "died in mid-write". n is never set back, so a station
 *   that is used again goes on at the next n, and an odd slot is passed over: its event counts
 *   as lost.
 * Reader's protocol
 *   s1 = seq (acquire); if odd, it is being written; copy (relaxed); acquire fence; s2 = seq
 *   (relaxed); if s1 != s2, try again later. D has no mark of being written: a copy of event s1 is
 *   good only while the slot of event s1 + 7, the last before s1's slot is used again, shows less
 *   than s1 + 7. Nothing that is read is trusted: every index is checked against the file's size.
 *
 * Identity of a coroutine [X]: (pid, station, generation). generation is a seqlock: odd while the
 *   station's head is made new, then even; it never goes back. Events n >= first_event are this
 *   generation's; those before it belong to coroutines that had the station earlier.
 *   Writer: generation odd (relaxed); release fence; the head; generation even (release).
 *   Reader: generation (acquire); head; slots; acquire fence; generation again: the same, and even.
 *
 * Claiming a station: a fresh one, by compare-and-swap on allocated_count below max_stations (so it
 *   never passes that, and never wraps); or one whose coroutine is dead, from two stacks [X].
 *   recycle_turn says which stack is popped from; dead stations are pushed on the other one. When
 *   the first is empty, the two change places: so a station rests as long as it can.
 *   The heads of the stacks carry a tag against ABA. Compare-and-swap of its state decides whose a
 *   station is: DEAD -> LISTED by whoever pushes it, LISTED -> CREATED by whoever popped it, after
 *   storing its own pid there (an engine that reads state, then pid, knows the owner). If a process
 *   is killed between pop and swap, or between swap and push, that one station is lost to all.
 *   The engine frees the stations of a process that died: state DEAD by compare-and-swap, is_dead,
 *   then the push.
 *
 * Loss: per station, at any time, written = harvested + lost + pending. written is n + 1 of the
 *   newest event; in S the sum of seq / 2 over the slots; in D the largest seq, minus the first
 *   one, plus 1.
 *
 * Sleep and wake: an engine that is about to sleep sets tracer_sleeping to 1, fences, looks once
 *   more, and reads its sockets. A probe that has written an event, fences and then finds 1 takes
 *   it to 0 by compare-and-swap; the winner alone sends a byte. With WEFT_CTP_TIMER in features the
 *   engine looks by itself: probes that know the bit send nothing and never fence.
 *
 * Time: CLOCK_MONOTONIC in nanoseconds. While the engine lives and the kernel keeps time by the
 *   TSC, `anchor` says how to make it from the TSC: ns = base_ns + ((tsc - base_tsc) * mult >> 32),
 *   as long as tsc - base_tsc < valid_ticks (written as 0 when the clock changes). Its seq is a
 *   seqlock that the engine writes: odd, release fence, fields, even (release).
 */
#ifndef WEFT_ABI_CTP_H
#define WEFT_ABI_CTP_H

#include "context_v1.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_CTP_MAGIC UINT64_C(0x434F524F54524352) /* on disk "RCRTOROC" */
#define WEFT_CTP_VERSION 1
#define WEFT_CTP_EXTENSION 0x31585443u /* "CTX1" */
#define WEFT_CTP_HEADER_BYTES 1024
#define WEFT_CTP_STATION_BYTES 1024
#define WEFT_CTP_SLOTS 8
#define WEFT_CTP_PAYLOAD_MAX 28 /* bytes of the program's own per event */
#define WEFT_CTP_BUCKETS 32     /* in a histogram */
#define WEFT_CTP_DIRTY_WORDS 94
#define WEFT_CTP_DIRTY_BITS (WEFT_CTP_DIRTY_WORDS * 64)
#define WEFT_CTP_DIRTY_SHIFT_LEAST 6 /* a bit stands for 64 stations or more */
/** From so many dead stations on, one of these is used again before a fresh one. */
#define WEFT_CTP_RECYCLE_EARLY 1024

/** How large a file for @n stations is. */
#define WEFT_CTP_FILE_BYTES(n)                                                                     \
	(WEFT_CTP_HEADER_BYTES + (uint64_t)(n) * (uint64_t)WEFT_CTP_STATION_BYTES)

/** header.features: what the engine does. Probes ignore bits they do not know. */
enum weft_ctp_feature {
	WEFT_CTP_TIMER = 1 << 0,   /* looks by itself: no byte is needed to wake it */
	WEFT_CTP_RECYCLE = 1 << 1, /* stations may be used again */
	WEFT_CTP_DIRTY = 1 << 2,   /* reads the dirty bitmap */
	WEFT_CTP_ANCHOR = 1 << 3,  /* keeps `anchor` up to date */
};

enum weft_ctp_dialect {
	WEFT_CTP_LEGACY = 0,    /* S or D */
	WEFT_CTP_MONOTONIC = 1, /* M */
};

/** station.state */
enum weft_ctp_state {
	WEFT_CTP_UNUSED = 0,
	WEFT_CTP_CREATED = 1, /* never resumed yet */
	WEFT_CTP_RUNNING = 2,
	WEFT_CTP_SUSPENDED = 3,
	WEFT_CTP_READY = 4, /* suspended, and woken since */
	WEFT_CTP_DEAD = 5,
	WEFT_CTP_LISTED = 6, /* dead: about to be pushed, on a stack, or just popped */
};

/** station.language */
enum weft_ctp_language {
	WEFT_CTP_C = 1,
	WEFT_CTP_CPP = 2,
	WEFT_CTP_RUST = 3,
	WEFT_CTP_OTHER = 255,
};

/** epoch.kind */
enum weft_ctp_kind {
	WEFT_CTP_KIND_UNKNOWN = 0, /* not told: the probe is not weft's */
	WEFT_CTP_KIND_RESUME = 1,
	WEFT_CTP_KIND_SUSPEND = 2,
};

/** epoch.holds: what the 28 bytes of an event are. */
enum weft_ctp_holds {
	WEFT_CTP_HOLDS_UNKNOWN = 0, /* not told: passed through as it is */
	WEFT_CTP_HOLDS_CONTEXT = 1, /* struct weft_ctp_context_prefix */
	WEFT_CTP_HOLDS_PAYLOAD = 2, /* payload_bytes bytes of the program's own */
};

/** The first 28 bytes of an OpenTelemetry thread context record (OTEP 4947). */
struct weft_ctp_context_prefix {
	uint8_t trace_id[16]; /* 0x00 W3C byte order */
	uint8_t span_id[8];   /* 0x10 most significant byte first */
	uint8_t valid;        /* 0x18 always 1 */
	uint8_t trace_flags;  /* 0x19 */
	uint16_t attrs_bytes; /* 0x1A always 0 */
};

/** A slot: one event. */
struct weft_ctp_epoch {
	uint64_t timestamp; /* 0x00 CLOCK_MONOTONIC ns */
	uint64_t tid;       /* 0x08 as gettid() has it in its own pid namespace */
	uint64_t addr;      /* 0x10 where it is resumed or suspends; 0 = not told */
	uint64_t seq;       /* 0x18 by dialect; stored last */
	uint8_t reserved[WEFT_CTP_PAYLOAD_MAX]; /* 0x20 [X] by `holds` */
	uint8_t kind;                           /* 0x3C [X] enum weft_ctp_kind */
	uint8_t payload_bytes;                  /* 0x3D [X] 0 .. 28 */
	uint8_t holds;                          /* 0x3E [X] enum weft_ctp_holds */
	uint8_t is_active;                      /* 0x3F 1 = resumed, 0 = suspended */
};

/** [X] A coroutine's context at its last suspension. Written under the seqlock `seq`. */
struct weft_ctp_context {
	struct weft_ctp_context_prefix prefix; /* 0x00 */
	uint32_t seq;                          /* 0x1C odd while it is written; 0 = never was */
	uint64_t root_span_id;                 /* 0x20 native number */
	uint16_t label_bytes;                  /* 0x28 bytes of `labels` in use */
	uint16_t left_out;                     /* 0x2A how many labels found no room */
	/** 0x2C Each: u8 length of key, u8 length of value, key, value. UTF-8, no NUL. */
	uint8_t labels[84];
};

/** [X] Totals, of lost events too. Writer: whoever writes the coroutine's events, by relaxed
 * stores; of `wakes` any thread, by atomic adds. */
struct weft_ctp_totals {
	uint64_t resumes;     /* 0x00 events of this generation */
	uint64_t suspends;    /* 0x08 */
	uint64_t run_ns;      /* 0x10 from resume to suspend */
	uint64_t wait_ns;     /* 0x18 from suspend (or birth) to resume */
	uint64_t max_run_ns;  /* 0x20 */
	uint64_t max_wait_ns; /* 0x28 */
	uint64_t last_ns;     /* 0x30 of the last event, or birth */
	uint64_t wakes;       /* 0x38 */
};

/** A station. */
struct weft_ctp_station {
	uint64_t probe_id;          /* 0x000 */
	uint64_t birth_ts;          /* 0x008 CLOCK_MONOTONIC ns */
	uint8_t is_dead;            /* 0x010 1 = destroyed */
	uint8_t dialect;            /* 0x011 [X] enum weft_ctp_dialect */
	uint8_t language;           /* 0x012 [X] enum weft_ctp_language */
	uint8_t state;              /* 0x013 [X] enum weft_ctp_state */
	uint32_t generation;        /* 0x014 [X] even; odd while the head is made new */
	uint32_t pid;               /* 0x018 [X] in its own pid namespace */
	uint32_t next_dead;         /* 0x01C [X] 1 + station below it on its stack; 0 = none */
	uint32_t parent_station;    /* 0x020 [X] 1 + station of who created it; 0 = not known */
	uint32_t parent_generation; /* 0x024 [X] */
	uint64_t site;         /* 0x028 [X] address of the code that created it; 0 = not told */
	uint64_t first_event;  /* 0x030 [X] n of this generation's first event */
	uint64_t last_wake_ns; /* 0x038 [X] 0 = never woken */
	struct weft_ctp_epoch slots[WEFT_CTP_SLOTS]; /* 0x040 */
	struct weft_ctp_totals totals;               /* 0x240 [X] */
	/** [X] Bucket b counts times from 2^(b+5) to 2^(b+6) ns; the first one also shorter times,
	 * the last one also longer ones. */
	uint32_t run_histogram[WEFT_CTP_BUCKETS];  /* 0x280 */
	uint32_t wait_histogram[WEFT_CTP_BUCKETS]; /* 0x300 */
	struct weft_ctp_context context;           /* 0x380 [X] */
};

/** [X] How to make time from the TSC. Writer: the engine. */
struct weft_ctp_anchor {
	uint32_t seq;         /* 0x00 odd while it is written; 0 = never was */
	uint32_t rsv;         /* 0x04 */
	uint64_t base_tsc;    /* 0x08 */
	uint64_t base_ns;     /* 0x10 */
	uint64_t mult;        /* 0x18 ns per tick << 32 */
	uint64_t valid_ticks; /* 0x20 0 = not valid: ask clock_gettime */
	uint64_t rsv2[3];
};

/** The header. Who stores: [E] the engine; [P] probes, atomically; [M] the maker, once. */
struct weft_ctp_header {
	uint64_t magic;           /* 0x000 [M] */
	uint32_t version;         /* 0x008 [M] 1 */
	uint32_t max_stations;    /* 0x00C [M] N */
	uint32_t allocated_count; /* 0x010 [P] claimed so far; others' probes may add past N */
	uint32_t tracer_sleeping; /* 0x014 [E,P] */

	uint32_t extension;    /* 0x018 [M] WEFT_CTP_EXTENSION; else nothing below counts */
	uint32_t features;     /* 0x01C [E] enum weft_ctp_feature bits */
	uint64_t engine_epoch; /* 0x020 [E] random, another one for each engine; 0 = no engine */
	int32_t engine_pid;    /* 0x028 [E] */
	int32_t clock_id;      /* 0x02C [M] CLOCK_MONOTONIC = 1 */
	uint64_t mono_ns;      /* 0x030 [E] CLOCK_MONOTONIC; this and the next two: read together */
	uint64_t real_ns;      /* 0x038 [E] CLOCK_REALTIME */
	uint64_t boot_ns;      /* 0x040 [E] CLOCK_BOOTTIME */
	uint64_t refused;      /* 0x048 [P] coroutines that found no station */
	uint64_t wakes_sent;   /* 0x050 [P] */
	uint64_t harvested_ns; /* 0x058 [E] CLOCK_MONOTONIC of its last harvest */
	uint32_t dirty_shift;  /* 0x060 [M] a dirty bit is 1 << dirty_shift stations */
	uint32_t rsv0;         /* 0x064 */
	uint64_t rsv1[3];      /* 0x068 */

	/** Stacks of dead stations: tag << 32 | 1 + station; low half 0 = empty. */
	uint64_t recycle[2];    /* 0x080 [P,E] */
	uint32_t recycle_turn;  /* 0x090 [P,E] lowest bit: the stack that is popped from */
	uint32_t recycle_count; /* 0x094 [P,E] about how many lie on both */
	uint64_t rsv2[5];       /* 0x098 */

	struct weft_ctp_anchor anchor; /* 0x0C0 [E] */
	uint64_t rsv3[2];              /* 0x100 */
	/** A bit per 1 << dirty_shift stations: something was written since the engine took it
	 * away. A hint: a writer does not fence between its event and its look at the bit, so one
	 * may be missed until the next event or the engine's next sweep of everything. */
	uint64_t dirty[WEFT_CTP_DIRTY_WORDS]; /* 0x110 [P] sets, [E] clears */
};

#define WEFT_CTP_OFFSET(type, field, offset)                                                       \
	WEFT_ABI_ASSERT(offsetof(struct type, field) == (offset), #type "." #field)

WEFT_ABI_ASSERT(sizeof(struct weft_ctp_header) == WEFT_CTP_HEADER_BYTES, "ctp header");
WEFT_CTP_OFFSET(weft_ctp_header, magic, 0x000);
WEFT_CTP_OFFSET(weft_ctp_header, version, 0x008);
WEFT_CTP_OFFSET(weft_ctp_header, max_stations, 0x00C);
WEFT_CTP_OFFSET(weft_ctp_header, allocated_count, 0x010);
WEFT_CTP_OFFSET(weft_ctp_header, tracer_sleeping, 0x014);
WEFT_CTP_OFFSET(weft_ctp_header, extension, 0x018);
WEFT_CTP_OFFSET(weft_ctp_header, features, 0x01C);
WEFT_CTP_OFFSET(weft_ctp_header, engine_epoch, 0x020);
WEFT_CTP_OFFSET(weft_ctp_header, engine_pid, 0x028);
WEFT_CTP_OFFSET(weft_ctp_header, clock_id, 0x02C);
WEFT_CTP_OFFSET(weft_ctp_header, mono_ns, 0x030);
WEFT_CTP_OFFSET(weft_ctp_header, real_ns, 0x038);
WEFT_CTP_OFFSET(weft_ctp_header, boot_ns, 0x040);
WEFT_CTP_OFFSET(weft_ctp_header, refused, 0x048);
WEFT_CTP_OFFSET(weft_ctp_header, wakes_sent, 0x050);
WEFT_CTP_OFFSET(weft_ctp_header, harvested_ns, 0x058);
WEFT_CTP_OFFSET(weft_ctp_header, dirty_shift, 0x060);
WEFT_CTP_OFFSET(weft_ctp_header, recycle, 0x080);
WEFT_CTP_OFFSET(weft_ctp_header, recycle_turn, 0x090);
WEFT_CTP_OFFSET(weft_ctp_header, recycle_count, 0x094);
WEFT_CTP_OFFSET(weft_ctp_header, anchor, 0x0C0);
WEFT_CTP_OFFSET(weft_ctp_header, dirty, 0x110);
WEFT_ABI_ASSERT(sizeof(struct weft_ctp_anchor) == 64, "ctp anchor");
WEFT_CTP_OFFSET(weft_ctp_anchor, seq, 0x00);
WEFT_CTP_OFFSET(weft_ctp_anchor, base_tsc, 0x08);
WEFT_CTP_OFFSET(weft_ctp_anchor, base_ns, 0x10);
WEFT_CTP_OFFSET(weft_ctp_anchor, mult, 0x18);
WEFT_CTP_OFFSET(weft_ctp_anchor, valid_ticks, 0x20);
WEFT_ABI_ASSERT(sizeof(struct weft_ctp_epoch) == 64, "ctp epoch");
WEFT_CTP_OFFSET(weft_ctp_epoch, timestamp, 0x00);
WEFT_CTP_OFFSET(weft_ctp_epoch, tid, 0x08);
WEFT_CTP_OFFSET(weft_ctp_epoch, addr, 0x10);
WEFT_CTP_OFFSET(weft_ctp_epoch, seq, 0x18);
WEFT_CTP_OFFSET(weft_ctp_epoch, reserved, 0x20);
WEFT_CTP_OFFSET(weft_ctp_epoch, kind, 0x3C);
WEFT_CTP_OFFSET(weft_ctp_epoch, payload_bytes, 0x3D);
WEFT_CTP_OFFSET(weft_ctp_epoch, holds, 0x3E);
WEFT_CTP_OFFSET(weft_ctp_epoch, is_active, 0x3F);
WEFT_ABI_ASSERT(sizeof(struct weft_ctp_context_prefix) == 28, "ctp context prefix");
WEFT_CTP_OFFSET(weft_ctp_context_prefix, trace_id, 0x00);
WEFT_CTP_OFFSET(weft_ctp_context_prefix, span_id, 0x10);
WEFT_CTP_OFFSET(weft_ctp_context_prefix, valid, 0x18);
WEFT_CTP_OFFSET(weft_ctp_context_prefix, trace_flags, 0x19);
WEFT_CTP_OFFSET(weft_ctp_context_prefix, attrs_bytes, 0x1A);
WEFT_ABI_ASSERT(sizeof(struct weft_ctp_context) == 128, "ctp context");
WEFT_CTP_OFFSET(weft_ctp_context, prefix, 0x00);
WEFT_CTP_OFFSET(weft_ctp_context, seq, 0x1C);
WEFT_CTP_OFFSET(weft_ctp_context, root_span_id, 0x20);
WEFT_CTP_OFFSET(weft_ctp_context, label_bytes, 0x28);
WEFT_CTP_OFFSET(weft_ctp_context, left_out, 0x2A);
WEFT_CTP_OFFSET(weft_ctp_context, labels, 0x2C);
WEFT_ABI_ASSERT(sizeof(struct weft_ctp_totals) == 64, "ctp totals");
WEFT_CTP_OFFSET(weft_ctp_totals, resumes, 0x00);
WEFT_CTP_OFFSET(weft_ctp_totals, suspends, 0x08);
WEFT_CTP_OFFSET(weft_ctp_totals, run_ns, 0x10);
WEFT_CTP_OFFSET(weft_ctp_totals, wait_ns, 0x18);
WEFT_CTP_OFFSET(weft_ctp_totals, max_run_ns, 0x20);
WEFT_CTP_OFFSET(weft_ctp_totals, max_wait_ns, 0x28);
WEFT_CTP_OFFSET(weft_ctp_totals, last_ns, 0x30);
WEFT_CTP_OFFSET(weft_ctp_totals, wakes, 0x38);
WEFT_ABI_ASSERT(sizeof(struct weft_ctp_station) == WEFT_CTP_STATION_BYTES, "ctp station");
WEFT_CTP_OFFSET(weft_ctp_station, probe_id, 0x000);
WEFT_CTP_OFFSET(weft_ctp_station, birth_ts, 0x008);
WEFT_CTP_OFFSET(weft_ctp_station, is_dead, 0x010);
WEFT_CTP_OFFSET(weft_ctp_station, dialect, 0x011);
WEFT_CTP_OFFSET(weft_ctp_station, language, 0x012);
WEFT_CTP_OFFSET(weft_ctp_station, state, 0x013);
WEFT_CTP_OFFSET(weft_ctp_station, generation, 0x014);
WEFT_CTP_OFFSET(weft_ctp_station, pid, 0x018);
WEFT_CTP_OFFSET(weft_ctp_station, next_dead, 0x01C);
WEFT_CTP_OFFSET(weft_ctp_station, parent_station, 0x020);
WEFT_CTP_OFFSET(weft_ctp_station, parent_generation, 0x024);
WEFT_CTP_OFFSET(weft_ctp_station, site, 0x028);
WEFT_CTP_OFFSET(weft_ctp_station, first_event, 0x030);
WEFT_CTP_OFFSET(weft_ctp_station, last_wake_ns, 0x038);
WEFT_CTP_OFFSET(weft_ctp_station, slots, 0x040);
WEFT_CTP_OFFSET(weft_ctp_station, totals, 0x240);
WEFT_CTP_OFFSET(weft_ctp_station, run_histogram, 0x280);
WEFT_CTP_OFFSET(weft_ctp_station, wait_histogram, 0x300);
WEFT_CTP_OFFSET(weft_ctp_station, context, 0x380);

#ifdef __cplusplus
}
#endif
#endif
