/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file session.h
 * The session: one sealed memfd between one target process and the collector. Host endian, 64-bit,
 * every offset from its start. Byte map of it (the header says where; none of it ever moves):
 *
 *   0                 header, WEFT_SESSION_HEADER_BYTES
 *   states_offset     u64 word per slot: generation << 8 | state     (memory is never given back)
 *   free_offset       u64 bitmap word per block of 64 slots: hints   (likewise)
 *   dict_offset       dictionary log: append-only records
 *   modules_offset    module log: append-only records, written by the target
 *   map_offset        module map snapshots (abi/module_map.h), written by the collector
 *   event_area_offset settings of events (abi/events.h)
 *   slots_offset      slot_count slots of slot_stride bytes
 *
 * Byte map of a slot (struct weft_slot is its first WEFT_SLOT_CONTROL_BYTES)
 *
 *   0x0000  context v1 record (abi/context_v1.h)                  owner
 *   0x0040  context extension: seq, trace id, flags               owner
 *   0x0080  thread: tid, generation, stack bounds, timer          owner
 *   0x00C0  events: commits, open contexts, coroutine; the thread's CPU time at its end   owner
 *   0x0100  the collector's word: samples taken from outside      collector
 *   0x0140  samples ring, producer's line                         owner's handlers
 *   0x0180  samples ring, consumer's line                         collector
 *   0x01C0  events ring, producer's line                          owner
 *   0x0200  events ring, consumer's line                          collector
 *   0x0240  names (the given one: by any thread), handle, notes   owner (and its handlers)
 *   0x0280  counters                                              owner (and its handlers)
 *   0x0580  OpenTelemetry thread context record, 640 bytes        owner
 *   0x0800  labels: what the owner and its handlers keep of them   owner (and its handlers)
 *   0x0A00  what the owner keeps of the OpenTelemetry record      owner
 *   0x0A80  labels 0 and 1 of coroutines without labels           owner
 *   0x0FF8  the generation of the set behind it                   owner
 *   0x1000  custom label block (abi/custom_labels_v1.h), its twin, saved labels, up to 0x8000
 *   samples_offset  samples ring       events_offset  events ring
 *
 * Slot life: one word, changed by compare-and-swap alone, generation and state together.
 *
 *        claim (next generation)   slot made new       thread ends
 *   FREE ------------------> OPENING ---------> LIVE -------------> DEAD
 *    ^                          ^                                    |  collector
 *    |                          +--- stolen, none FREE left ---------+
 *    +------------------------------- DRAINING <---------------------+
 *          books closed                       (without collector: DEAD -> FREE by owner)
 *
 *   OPENING is the claimer's alone (then DEAD, if a handler of its thread claimed another): the
 *   collector reads only counters there. The claimer publishes LIVE with release. A word in the
 *   free bitmap is a hint: whoever clears a set bit may try FREE -> OPENING; the word decides.
 *   WEFT_SLOT_HELD in the word: the collector has its hands in the slot's rings. It sets the
 *   bit by compare-and-swap on LIVE, takes records, stores tail, delivered and refused, and
 *   clears the bit with release. The owner ends its slot without touching the bit; a thief
 *   takes a DEAD slot only without it. So no record is taken, and no tail stored, that the
 *   slot's next owner could meet.
 *   A slot that has been FREE for long: the collector takes it to DRAINING, gives the memory
 *   of all of it back, and frees it again.
 *   A thread that is gone without a word (raw clone, raw exit): the collector, when it has
 *   seen in /proc that the tid is no more, sets that very generation from LIVE to DEAD.
 *   Generations only grow; one whose low 24 bits would be 0 (WEFT_SIGVAL_ADOPTED) is skipped.
 *   If the owner's process dies anywhere, the collector closes what it finds: every slot
 *   that is not FREE is drained to its head (OPENING: not at all) and counted. If the
 *   collector dies, at most the one slot that it held or drained stays out of use.
 *
 * Books: counters, written, delivered and refused of a slot. The collector wipes them in
 *   DRAINING after it has added them up, so they are zero while FREE; a thief carries them on
 *   and adds one word, LOST_STOLEN = written - delivered - refused. So whoever dies wherever,
 *   what a slot's memory says is the truth about all its threads since it was FREE:
 *     attempted = written + lost in the handler (+ 1 while a handler is at it)
 *     written = delivered + refused + stolen + pending
 *   The header's counters are of what had no slot: there only the losses are counted, and
 *   attempted is their sum.
 *   Of the events ring likewise, by counters of its own:
 *     events_attempted = written + events_ring_full + events_nested (+ 1 while one is at it, and
 *       one for each append that was left by a longjmp)
 *     written = delivered + refused + events_stolen + pending
 *
 * Rings: one producer, one consumer; positions are bytes since the slot's claim and only
 * grow; a byte's place is position & (ring_bytes - 1). Both rings are powers of two.
 *   Producer: reads tail (acquire); if the record does not fit: counts the loss. Writes the
 *   record at head; stores head (release). A record exists when head has passed it.
 *   A record never crosses the end: a WEFT_RECORD_PAD record fills the rest.
 *   No record is longer than half the ring: with its pad it then always fits an empty one.
 *   Consumer: reads head (acquire), copies, stores tail (release). Both begin each generation
 *   at 0.
 *   samples: written by weft's handlers only; they block asynchronous signals, so never nest.
 *   events: written by the API on the thread; `busy` holds the frame address of the append
 *   in progress. An append that finds it set, and is higher up on the same stack, knows that the
 *   other was left by a longjmp, and takes over. In a handler that interrupted the other, or on
 *   another stack, it drops its record and counts that; after a second (a minute, if the other was
 *   in its last few steps) it takes over, and makes a pad of what the other had reserved.
 *   Dying between any two stores leaves at most an unpublished record behind head.
 *
 * The reader of a session trusts nothing in it: every offset, length and count is checked
 * against the size of the memfd as fstat tells it.
 */
#ifndef WEFT_ABI_SESSION_H
#define WEFT_ABI_SESSION_H

#include "context_v1.h"
#include "counters.h"
#include "sample_parts.h"
#include "session_log.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_SESSION_MAGIC UINT64_C(0x3153534554464557) /* "WEFTESS1" */
#define WEFT_SESSION_VERSION 1
#define WEFT_SESSION_HEADER_BYTES 4096
#define WEFT_SESSION_SLOTS_MAX 65536
#define WEFT_SESSION_BLOCK_SLOTS 64
#define WEFT_SESSION_FRESH_WORDS (WEFT_SESSION_SLOTS_MAX / WEFT_SESSION_BLOCK_SLOTS / 64)
#define WEFT_SLOT_CONTROL_BYTES 0x8000
#define WEFT_SLOT_TOUCHED_BYTES 0x1000
#define WEFT_RING_BYTES_DEFAULT (256 * 1024)
#define WEFT_RING_BYTES_MIN (32 * 1024)
#define WEFT_RING_BYTES_MAX (16 * 1024 * 1024)
#define WEFT_FRAMES_MAX 512
#define WEFT_STACK_COPY_MAX (32 * 1024)

enum weft_slot_state {
	WEFT_SLOT_FREE = 0,
	WEFT_SLOT_OPENING = 1,
	WEFT_SLOT_LIVE = 2,
	WEFT_SLOT_DEAD = 3,
	WEFT_SLOT_DRAINING = 4,
};
/** A bit in the state's byte, beside LIVE or DEAD: the collector is reading the slot's rings. */
#define WEFT_SLOT_HELD 0x80

/** run_state: written by the collector (by the runtime when there is none). */
enum weft_run_state {
	WEFT_RUN_IDLE = 0,      /* context only; handlers not armed */
	WEFT_RUN_RECORDING = 1, /* engines armed */
	WEFT_RUN_STOPPED = 2,   /* recording over: timers disarm at their next tick */
	WEFT_RUN_CLOSED = 3,    /* stopped, and nobody drains: owners free their own slots */
};

/** target_state: written by the runtime; a shared futex word. */
enum weft_target_state {
	WEFT_TARGET_STARTING = 0,
	WEFT_TARGET_LIVE = 1,
	WEFT_TARGET_EXITING = 2, /* exit handlers run; waits for collector_done */
};

/** Engines: bits of weft_session_header.engines. */
enum weft_engine {
	WEFT_ENGINE_CPU = 1 << 0,
	WEFT_ENGINE_WALL = 1 << 1,
};

/** clock: by what the cpu engine takes its samples (docs/accuracy.md). */
enum weft_clock_choice {
	WEFT_CLOCK_AUTO = 0,  /* an hrtimer for each thread where perf is allowed, else ticks */
	WEFT_CLOCK_TICKS = 1, /* CPU timers alone, which the kernel looks at in its tick */
};

/** stack_mode: how the handler records a stack. */
enum weft_stack_mode {
	WEFT_STACK_RAW = 0,   /* registers and a copy of the stack */
	WEFT_STACK_AUTO = 1,  /* by tables; a copy where they do not (yet) reach */
	WEFT_STACK_TABLE = 2, /* by tables, cut where they do not reach; never a copy */
	WEFT_STACK_FP = 3,    /* by frame pointers alone; never a copy */
	WEFT_STACK_CHECK = 4, /* RAW and AUTO: a copy, and behind it the frames walked by tables */
};

/** Groups of functions that libweft.so interposes: bits of weft_session_header.hooks. */
enum weft_hook {
	WEFT_HOOK_THREADS = 1 << 0, /* pthread_create, thrd_create, timer_create, mq_notify */
	WEFT_HOOK_SIGNALS = 1 << 1, /* dispositions, masks and waits, as far as SIGPROF goes */
	WEFT_HOOK_EXEC = 1 << 2,    /* exec and spawn: signal state and environment handed down */
	WEFT_HOOK_MODULES = 1 << 3, /* dlclose: which code lay where, and when */
};

/** Who publishes a format in this process. */
enum weft_publisher {
	WEFT_PUBLISHER_NONE = 0,    /* nobody (yet), or switched off */
	WEFT_PUBLISHER_WEFT = 1,    /* we do */
	WEFT_PUBLISHER_ANOTHER = 2, /* another library came first: we leave it alone */
	WEFT_PUBLISHER_FAILED = 3,  /* wanted, and could not be had */
};

/** Feature bits of the session; a reader ignores those it does not know. */
enum weft_session_feature {
	WEFT_FEATURE_CLOCKSOURCE_TSC = 1 << 0,
	WEFT_FEATURE_RUNTIME_MADE = 1 << 1, /* created by the runtime, no collector yet */
	WEFT_FEATURE_CAREFUL = 1 << 2, /* [C] saw a filter that may kill: nothing more is asked */
};

/** The header. Who stores: [M] the maker of the memfd before it is shared, then nobody;
 * [C] the collector; [R] the runtime (any thread, atomically). */
struct weft_session_header {
	uint64_t magic;             /* 0x000 [M] */
	uint32_t version;           /* 0x008 [M] */
	uint32_t header_bytes;      /* 0x00C [M] */
	uint64_t features;          /* 0x010 [M,C] enum weft_session_feature bits */
	uint64_t total_bytes;       /* 0x018 [M] */
	uint32_t slot_count;        /* 0x020 [M] a multiple of 64, 64 .. 65536 */
	uint32_t block_slots;       /* 0x024 [M] 64 */
	uint64_t states_offset;     /* 0x028 [M] */
	uint64_t free_offset;       /* 0x030 [M] */
	uint64_t slots_offset;      /* 0x038 [M] page aligned */
	uint64_t slot_stride;       /* 0x040 [M] page aligned */
	uint32_t samples_offset;    /* 0x048 [M] in the slot, page aligned */
	uint32_t samples_bytes;     /* 0x04C [M] power of two */
	uint32_t events_offset;     /* 0x050 [M] in the slot, page aligned */
	uint32_t events_bytes;      /* 0x054 [M] power of two */
	uint64_t dict_offset;       /* 0x058 [M] */
	uint64_t dict_bytes;        /* 0x060 [M] */
	uint64_t modules_offset;    /* 0x068 [M] */
	uint64_t modules_bytes;     /* 0x070 [M] */
	uint64_t map_offset;        /* 0x078 [M] */
	uint64_t map_bytes;         /* 0x080 [M] */
	uint64_t event_area_offset; /* 0x088 [M] page aligned */
	uint64_t event_area_bytes;  /* 0x090 [M] */
	uint8_t rsv_layout[0x100 - 0x098];

	int32_t pid;             /* 0x100 [M] in the namespace of the process itself */
	int32_t parent_pid;      /* 0x104 [M] 0 = not known */
	uint64_t pid_start;      /* 0x108 [M] /proc/PID/stat field 22, clock ticks */
	uint64_t session_id;     /* 0x110 [M] random, never 0 */
	uint64_t mono_anchor_ns; /* 0x118 [M,C] CLOCK_MONOTONIC */
	uint64_t real_anchor_ns; /* 0x120 [C] CLOCK_REALTIME at mono_anchor_ns */
	uint64_t tsc_anchor;     /* 0x128 [C] TSC at mono_anchor_ns; 0 = none */
	uint64_t tsc_hz;         /* 0x130 [C] 0 = none */
	uint64_t drained_ns;     /* 0x138 [C] CLOCK_MONOTONIC of the last drain; 0 = none yet */
	uint8_t rsv_identity[0x180 - 0x140];

	uint32_t run_state;        /* 0x180 [M,C] enum weft_run_state */
	int32_t collector_pid;     /* 0x184 [C] 0 = none */
	uint64_t cookie;           /* 0x188 [M,C] low 24 bits used; tells our signals from others */
	uint64_t period_ns;        /* 0x190 [C] cpu engine: CPU time that one sample stands for */
	uint32_t engines;          /* 0x198 [C] enum weft_engine bits */
	uint32_t stack_mode;       /* 0x19C [C] enum weft_stack_mode */
	uint32_t stack_copy_bytes; /* 0x1A0 [C] raw copy limit, <= WEFT_STACK_COPY_MAX */
	uint32_t frames_max;       /* 0x1A4 [C] <= WEFT_FRAMES_MAX */
	uint32_t timer_budget;     /* 0x1A8 [C] CPU timers this process may hold at a time */
	uint32_t publish;          /* 0x1AC not used: 0 (see `formats`) */
	uint32_t collector_done;   /* 0x1B0 [C] 1 = file complete; a shared futex word */
	uint32_t map_number;       /* 0x1B4 [C] number of the newest module map snapshot */
	uint64_t map_current;      /* 0x1B8 [C] offset of that snapshot; 0 = none */
	uint64_t tables_bytes;     /* 0x1C0 [C] size of the table memfd; 0 = there is none */
	uint64_t tables_used;      /* 0x1C8 [C] its bytes in use, from its start; only grows */
	uint32_t prime_signal;     /* 0x1D0 [C] the signal wanted for priming; 0 = none */
	uint32_t attach_number;    /* 0x1D4 [C] recordings that attached to this session so far */
	uint32_t prime_sending;    /* 0x1D8 [C,R] senders about to use prime_signal_used */
	uint32_t clock;            /* 0x1DC [C] enum weft_clock_choice */
	int64_t time_shift_ns; /* 0x1E0 [C] added to the target's CLOCK_MONOTONIC in all times */
	uint32_t tick_signal;  /* 0x1E8 [C,R] of ticks: SIGWINCH, else (0) SIGPROF */
	uint8_t rsv_control[0x200 - 0x1EC];

	uint32_t target_state;    /* 0x200 [R] enum weft_target_state */
	uint32_t blocks_open;     /* 0x204 [R] blocks of 64 slots that are mapped */
	uint32_t slots_high;      /* 0x208 [R] high-water mark: 1 + highest slot ever claimed */
	uint32_t slots_used;      /* 0x20C [R] slots claimed and not released */
	uint64_t dict_head;       /* 0x210 [R] bytes written to the dictionary log */
	uint64_t modules_head;    /* 0x218 [R] bytes written to the module log */
	uint32_t timers_armed;    /* 0x220 [R] CPU timers in existence */
	uint32_t hooks;           /* 0x224 [R] enum weft_hook bits that are on */
	uint32_t hook_calls;      /* 0x228 [R] calls that went through the start hook */
	uint32_t runtime_version; /* 0x22C [R] */
	/** Bits 32..63 grow whenever code was unloaded; bits 0..31: dlclose calls in progress. */
	uint64_t modules_epoch;     /* 0x230 [R] */
	uint32_t prime_signal_used; /* 0x238 [R] the one with a handler installed; 0 = none */
	uint32_t attach_taken;      /* 0x23C [R] attach_number of the newest order carried out */
	int32_t attach_error;       /* 0x240 [R] of that order: 0, or -errno */
	uint32_t hooks_patched;     /* 0x244 [R] groups of hooks put in place by patching */
	uint32_t handling;          /* 0x248 [R] our handlers at work on threads without slot */
	uint32_t engines_run;       /* 0x24C [R] 1 = handlers and timers of a recording in place */
	uint32_t formats;       /* 0x250 [M,R] enum weft_format bits (weft/publish.h) that are on */
	uint32_t otel_process;  /* 0x254 [R] enum weft_publisher: who has the process context */
	uint32_t otel_thread;   /* 0x258 [R] enum weft_publisher: who has otel_thread_ctx_v1 */
	uint32_t custom_labels; /* 0x25C [R] enum weft_publisher: libcustomlabels-weft.so */
	uint32_t labels_max;    /* 0x260 [R] labels per thread, reserved ones included */
	uint32_t rsv_labels;    /* 0x264 */
	uint64_t mapped_at;     /* 0x268 [R] where the session lies in the target */
	int32_t clock_error; /* 0x270 [C,R] -errno: why there are no hrtimers; 0 = no error known */
	uint32_t clock_opened; /* 0x274 [R] hrtimers opened so far */
	/* Threads that were without an hrtimer for a time: they switched too often (rested), or no
	 * descriptor or no memory to be locked was left (lacked). */
	uint32_t clock_rested; /* 0x278 [R] */
	uint32_t clock_lacked; /* 0x27C [R] */
	/** A bit per block of 64 slots: something was published, or a thread ended, in it since
	 * the collector took the bit away. A hint: all are looked at now and then. */
	uint64_t fresh[WEFT_SESSION_FRESH_WORDS]; /* 0x280 [R] sets, [C] clears */

	uint64_t counters[WEFT_COUNTER_ROOM]; /* 0x300 [R] atomic adds; of what had no slot */
	/* How long samples and claims took, as log2 histograms: bucket b counts values in
	 * [2^(b-1), 2^b), bucket 0 counts zeros. */
	uint64_t handler_ns[64]; /* 0x600 [R] atomic adds */
	uint64_t claim_ns[64];   /* 0x800 [R] atomic adds */
	char socket_path[112];   /* 0xA00 [C] who attached listens there; "" = none */
	uint64_t exit_cpu_ns;    /* 0xA70 [R] CPU time as the process began to end; 0 = not yet */
	/** 1: the collector attached, so that this process and its children have no WEFT_SOCKET in
	 * their environment. A program that is started without one gets socket_path there. */
	uint32_t tell_children; /* 0xA78 [C] 0 or 1 */
	uint32_t time_source;   /* 0xA7C [R] 1 = the vDSO, 2 = a system call; 0 = not told */
	struct weft_published published; /* 0xA80 [C] other libraries' contexts: sample_parts.h */
	uint8_t rsv_tail[0x1000 - 0xAC0];
};

struct weft_context_ext {
	uint64_t seq;              /* 0x40 odd = the owner is writing more than the v1 record */
	uint64_t v1_checksum;      /* 0x48 checksum of the v1 record that the rest belongs to */
	uint8_t trace_id[16];      /* 0x50 W3C byte order; zeros = none */
	uint32_t trace_flags;      /* 0x60 W3C trace flags */
	uint32_t label_generation; /* 0x64 low half of the generation of label_set */
	/* Address in the target of the label set to be recorded (struct weft_custom_labels_set);
	 * 0 = no labels yet. The u64 before a set is its generation: it grows with each change, and
	 * says, with the address, whether the labels are those of the sample before. */
	uint64_t label_set;   /* 0x68 */
	uint64_t formats_seq; /* 0x70 equal to an odd seq: the context is whole, formats are not */
	/* Address of the label store in use, minus that of the slot's own (label_state.store): 0 =
	 * the slot's own; else a coroutine's, or the spare one (coro_labels). While seq is odd it
	 * may be the one before. */
	uint64_t label_store; /* 0x78 */
};

struct weft_slot_thread {
	int32_t tid;         /* 0x80 */
	uint32_t flags;      /* 0x84 enum weft_slot_flag */
	uint64_t generation; /* 0x88 equals the state word's while LIVE */
	uint64_t stack_low;  /* 0x90 0 = not known */
	uint64_t stack_high; /* 0x98 one past the highest byte that may be read */
	uint64_t claimed_ns; /* 0xA0 CLOCK_MONOTONIC */
	int32_t timer_id;    /* 0xA8 kernel's id; -1 = none */
	uint32_t primed_by;  /* 0xAC counter number: WEFT_COUNTER_PRIMED_* */
	uint64_t ended_ns;   /* 0xB0 CLOCK_MONOTONIC when events.cpu_ns was read; 0 = as there */
	uint64_t handling;   /* 0xB8 frame address of our handler at work here; 0 = none */
};

struct weft_slot_events {
	/* Events and samples committed on this thread. While a coroutine runs, its own: they move
	 * with it. weft_event_begin() remembers the sum of this and outside.samples (modulo 2^64),
	 * weft_event_end() compares it. */
	uint64_t commits;              /* 0xC0 */
	uint64_t open_contexts;        /* 0xC8 open contextual events; likewise a coroutine's own */
	uint64_t coroutine;            /* 0xD0 id of the coroutine that runs; 0 = none */
	uint64_t coroutine_stack_low;  /* 0xD8 */
	uint64_t coroutine_stack_high; /* 0xE0 */
	uint64_t coroutine_at;         /* 0xE8 its struct weft_coro in the target */
	uint64_t index;                /* 0xF0 1 + the slot's, noted at its first event; or 0 */
	/* CPU time of the thread, ns, as its slot was released (stored before DEAD) or, if it lives
	 * then, as the process began to end (stored by the thread that ends it); 0 = it lives, or
	 * ended without releasing its slot. */
	uint64_t cpu_ns; /* 0xF8 */
};
struct weft_slot_outside {
	uint64_t samples; /* 0x100 samples that the collector took of this thread */
	uint64_t rsv[7];
};

struct weft_ring_producer {
	uint64_t head;    /* +0x00 bytes published since the claim */
	uint64_t busy;    /* +0x08 frame address of the append in progress; 0 = none */
	uint64_t written; /* +0x10 records published since FREE; one ahead of head at times */
	/* +0x18 Private to the runtime. Samples ring: the thread's clock
	 * (src/runtime/sample/clock.h; if the first word is not 0, a clock is open, and whoever
	 * claims the slot next closes it). Events ring: the append in progress
	 * (src/runtime/core/ring_append.h). */
	uint64_t own[5];
};

struct weft_ring_consumer {
	uint64_t tail;      /* +0x00 bytes consumed */
	uint64_t delivered; /* +0x08 records consumed since FREE */
	uint64_t refused;   /* +0x10 records found malformed since FREE */
	uint64_t rsv[5];
};

/** What owner and handlers remember of labels. Outside readers look at ext.label_set instead. */
struct weft_slot_labels {
	/* [handler] The set whose labels were recorded last, by a sample, and its generation. */
	uint64_t recorded_set;        /* 0x800 */
	uint64_t recorded_generation; /* 0x808 */
	uint32_t recorded_number;     /* 0x810 label_generation of that sample; 0 = no labels */
	uint32_t numbers;             /* 0x814 the newest number given, without its top byte */
	/* [owner, handler] Address of the thread's custom_labels_current_set in the target; 0 = not
	 * known. If it leads to a set outside the session, that is the program's own, and is what
	 * samples record. */
	uint64_t current_at; /* 0x818 */
	uint64_t owner[12];  /* 0x820 the writer's own (src/runtime/core/label_store.h) */
	uint64_t store[48];  /* 0x880 likewise: the state of the thread's sets */
};

/** What the owner notes about the slot's OpenTelemetry record. Not for readers. */
struct weft_slot_otel {
	uint64_t root_span_id; /* 0xA00 that the first attribute holds; 0 = there is none */
	uint32_t left_out;     /* 0xA08 bit n: label n is not among the attributes */
	uint16_t label_bytes;  /* 0xA0C bytes of the attributes that are labels */
	uint16_t is_foreign;   /* 0xA0E another library's context was found on this thread */
	uint16_t keys[32];     /* 0xA10 1 + the index of label n's key when last looked up */
	uint64_t generation;   /* 0xA50 of the label set that the attributes show */
	uint64_t rsv[5];
};

/**
 * The control part of a slot. Fields of the owner are written by plain stores of that thread.
 * given_name: whoever names the thread stores [0] = 0, [1], [0], with release; a reader loads [0]
 * and [1] (acquire), then [0] again, and begins anew if that has changed.
 */
struct weft_slot {
	struct weft_context_v1 context;       /* 0x000 */
	struct weft_context_ext ext;          /* 0x040 */
	struct weft_slot_thread thread;       /* 0x080 */
	struct weft_slot_events events;       /* 0x0C0 */
	struct weft_slot_outside outside;     /* 0x100 */
	struct weft_ring_producer samples_p;  /* 0x140 */
	struct weft_ring_consumer samples_c;  /* 0x180 */
	struct weft_ring_producer events_p;   /* 0x1C0 */
	struct weft_ring_consumer events_c;   /* 0x200 */
	char name[16];                        /* 0x240 NUL-terminated */
	uint64_t given_name[2];               /* 0x250 likewise, in memory's order; 0 = none */
	uint64_t pthread_self;                /* 0x260 of the owner; 0 = not known */
	uint64_t clock_rest[2];               /* 0x268 [handler] src/runtime/sample/clock_rest.h */
	uint64_t kernel_time;                 /* 0x278 [handler] src/runtime/sample/kernel_time.h */
	uint64_t counters[WEFT_COUNTER_ROOM]; /* 0x280 */
	uint8_t otel_record[640];             /* 0x580 */
	struct weft_slot_labels label_state;  /* 0x800 */
	struct weft_slot_otel otel;           /* 0xA00 */
	uint64_t coro_labels[175];            /* 0xA80 */
	uint64_t labels_generation;           /* 0xFF8 of the set at 0x1000 */
	uint8_t labels[0x8000 - 0x1000];      /* 0x1000 */
};

enum weft_slot_flag {
	WEFT_SLOT_MAIN = 1 << 0,     /* the thread whose tid is the pid */
	WEFT_SLOT_NO_TIMER = 1 << 1, /* no CPU timer could be had */
	WEFT_SLOT_NO_CLOCK = 1 << 2, /* was without an hrtimer once, counted in clock_lacked */
	WEFT_SLOT_PAUSED = 1 << 3,   /* has its timer stopped while it blocks SIGPROF */
};

/** Ring records: 8-aligned, header first, never across the ring's end. */
enum weft_record_type {
	WEFT_RECORD_PAD = 1,    /* a gap, up to the ring's end or over an append that was left; at
				 * least the first 8 bytes of a struct weft_record */
	WEFT_RECORD_SAMPLE = 2, /* struct weft_sample_record */
	WEFT_RECORD_LABELS = 3, /* reserved */
	WEFT_RECORD_SWITCH = 4, /* struct weft_switch_record, in the events ring */
	WEFT_RECORD_EVENT = 5,  /* struct weft_event_record (abi/events.h), likewise */
};

struct weft_record {
	uint32_t bytes;      /* 0x00 whole record with header, multiple of 8, >= 16 */
	uint16_t type;       /* 0x04 enum weft_record_type */
	uint16_t flags;      /* 0x06 */
	uint32_t generation; /* 0x08 low 32 bits of the slot's generation */
	uint32_t rsv;        /* 0x0C */
};

/** What the sample's context fields hold. */
enum weft_sample_context {
	WEFT_CONTEXT_NONE = 0,     /* none was set */
	WEFT_CONTEXT_IDS = 1,      /* span, root span and tags */
	WEFT_CONTEXT_TRACE = 2,    /* and the trace id and its flags */
	WEFT_CONTEXT_BUSY = 3,     /* being written: fields are zero */
	WEFT_CONTEXT_BAD = 4,      /* failed its checksum: fields are zero */
	WEFT_CONTEXT_SLOTLESS = 5, /* claimed by this very handler: fields are zero */
};

/** How the stack follows the fixed part of a sample. */
enum weft_sample_stack {
	WEFT_SAMPLE_RAW = 1,    /* registers, then a copy of the stack */
	WEFT_SAMPLE_FRAMES = 2, /* u64 pcs, leaf first */
};

/** Why a walk ended: enum unwind_end by other names. */
enum weft_stack_end {
	WEFT_END_OUTERMOST = 0,
	WEFT_END_MAX_FRAMES = 1,
	WEFT_END_NO_MODULE = 2,
	WEFT_END_NO_RULE = 3,
	WEFT_END_COPY_LIMIT = 4, /* the next word lies above what may be read */
	WEFT_END_BAD_READ = 5,   /* it lies below that, or the next frame is not higher up */
};

/** What a thread was at when a sample of it was taken; letters: states of /proc/PID/stat. */
enum weft_thread_state {
	WEFT_STATE_RUNNING = 0,         /* on a CPU: every sample of a CPU timer */
	WEFT_STATE_SLEEPING = 1,        /* blocked, can be woken by a signal (S; I, T, t too) */
	WEFT_STATE_UNINTERRUPTIBLE = 2, /* blocked, most often on a disk (D) */
	WEFT_STATE_WAITING_FOR_CPU = 3, /* could run, and waits for a CPU (run delay) */
	WEFT_STATE_COUNT = 4,
};

enum weft_sample_flag {
	WEFT_SAMPLE_CUT = 1 << 0,        /* copy_bytes or frames reached their limit */
	WEFT_SAMPLE_ALT_STACK = 1 << 1,  /* sp was on the alternate signal stack */
	WEFT_SAMPLE_NO_STACK = 1 << 2,   /* bounds unknown and unreadable: registers only */
	WEFT_SAMPLE_SELF_READ = 1 << 3,  /* copied by process_vm_readv */
	WEFT_SAMPLE_STALE_MAP = 1 << 4,  /* modules changed: the map is not the loader's any more */
	WEFT_SAMPLE_CHECK = 1 << 5,      /* RAW, with the handler's own frames behind the copy */
	WEFT_SAMPLE_OUTSIDE = 1 << 6,    /* taken from outside: of the registers only pc and sp */
	WEFT_SAMPLE_NO_LABELS = 1 << 7,  /* it has labels that could not be recorded */
	WEFT_SAMPLE_IN_CONTEXT = 1 << 8, /* a contextual event was open on the thread */
	WEFT_SAMPLE_TICK = 1 << 9,       /* taken by the kernel's tick, not by an hrtimer */
	WEFT_SAMPLE_KERNEL = 1 << 10,    /* TICK, and the thread was in the kernel */
	WEFT_SAMPLE_PUBLISHED = 1 << 11, /* another library's context follows: sample_parts.h */
	WEFT_SAMPLE_PUBLISHED_SET = 1 << 12, /* likewise, as a set of Custom Labels */
	WEFT_SAMPLE_UNREADABLE = 1 << 13,    /* likewise, but something of it could not be read */
};

/**
 * One sample. After this struct:
 *   RAW:    u64 registers[register_count], then copy_bytes bytes from address copy_address
 *           (record padded to 8). x86-64: 17 registers by DWARF number, 16 = rip.
 *           aarch64: 33 by DWARF number, 31 = sp, 32 = pc.
 *   FRAMES: u64 pcs[frame_count], leaf first; `end` says why there are no more.
 *   RAW with WEFT_SAMPLE_CHECK: frame_count pcs follow the copy, and `end` is theirs; only
 *   stacks that AUTO would walk have them. The copy may end before them: on an alternate stack.
 *
 * Who counts a stack that is not whole: with NO_STACK the handler has (CUT_NO_BOUNDS); all
 * others the collector does, by `end` or by its own walk. STALE_MAP on FRAMES (mode TABLE):
 * they end, as NO_MODULE, at the first pc whose module the loader does not confirm.
 */
struct weft_sample_record {
	/* 0x00 rsv: in a sample by a tick of a thread without an hrtimer, the thread's CPU time so
	 * far, us modulo 2^32, never 0; else, and in programs that filter system calls, 0. */
	struct weft_record record;
	uint64_t time_ns;                    /* 0x10 CLOCK_MONOTONIC */
	uint32_t weight;                     /* 0x18 periods that it stands for */
	uint16_t engine;                     /* 0x1C enum weft_engine */
	uint16_t flags;                      /* 0x1E enum weft_sample_flag */
	uint8_t context;                     /* 0x20 enum weft_sample_context */
	uint8_t stack;                       /* 0x21 enum weft_sample_stack */
	uint16_t register_count;             /* 0x22 */
	uint32_t frame_count;                /* 0x24 */
	uint64_t span_id;                    /* 0x28 */
	uint64_t root_span_id;               /* 0x30 */
	uint8_t trace_id[16];                /* 0x38 */
	uint32_t trace_flags;                /* 0x48 */
	uint32_t label_generation;           /* 0x4C number of its labels; 0 = none, or NO_LABELS */
	uint32_t tags[WEFT_CONTEXT_V1_TAGS]; /* 0x50 */
	uint32_t map_number;   /* 0x78 module map that the frames refer to; 0 = none */
	uint32_t copy_bytes;   /* 0x7C */
	uint64_t copy_address; /* 0x80 */
	uint64_t coroutine;    /* 0x88 */
	uint8_t end;           /* 0x90 enum weft_stack_end; 0 when there are no frames */
	uint8_t state;         /* 0x91 enum weft_thread_state; 0 from a handler */
	uint16_t label_bytes;  /* 0x92 of the labels in this record; 0 = none here */
	uint32_t labels_at;    /* 0x94 where they begin, from the record's start; 8-aligned */
};

/** In record.flags of a switch. */
enum weft_switch_flag {
	WEFT_SWITCH_RUN = 1 << 0,   /* it ran from begin to end, on this thread; else it waited */
	WEFT_SWITCH_FIRST = 1 << 1, /* a wait that began with the coroutine's birth */
	WEFT_SWITCH_LAST = 1 << 2,  /* the coroutine was destroyed at its end */
	WEFT_SWITCH_WOKEN = 1 << 3, /* woken_ns is known */
	WEFT_SWITCH_TAGS = 1 << 4,  /* ten tag ids (u32) follow the fixed part */
};
/** Most bytes of labels in a switch record. Others are left out, in order, and counted. */
#define WEFT_SWITCH_LABELS_BYTES 512

/**
 * A coroutine's run or wait that just ended on this thread. Written by weft_coro_carry_v1. Behind
 * the fixed part, or the tags, stand record.rsv bytes of labels, as in a sample; padded to 8.
 */
struct weft_switch_record {
	struct weft_record record; /* 0x00 rsv: bytes of labels */
	uint64_t begin_ns;         /* 0x10 CLOCK_MONOTONIC */
	uint64_t end_ns;           /* 0x18 not before begin_ns */
	uint64_t coroutine;        /* 0x20 its id */
	uint64_t addr;             /* 0x28 where it suspended; 0 = not told */
	uint64_t woken_ns;         /* 0x30 of a wait: when it was woken; 0 = not known */
	uint64_t span_id;          /* 0x38 the coroutine's context as the interval ends */
	uint64_t root_span_id;     /* 0x40 */
	uint8_t trace_id[16];      /* 0x48 */
};

/** sigval of our signals: cookie << 40 | generation (24 bits) << 16 | slot index. */
#define WEFT_SIGVAL(cookie, generation, index)                                                     \
	((((uint64_t)(cookie)&0xFFFFFF) << 40) | (((uint64_t)(generation)&0xFFFFFF) << 16) |       \
	 ((uint64_t)(index)&0xFFFF))
#define WEFT_SIGVAL_COOKIE(value) ((uint32_t)((uint64_t)(value) >> 40))
#define WEFT_SIGVAL_GENERATION(value) ((uint32_t)((uint64_t)(value) >> 16) & 0xFFFFFF)
#define WEFT_SIGVAL_INDEX(value) ((uint32_t)((uint64_t)(value)&0xFFFF))
/** Generation 0 is never live: the timer was armed for a thread that had no slot yet. */
#define WEFT_SIGVAL_ADOPTED 0

/**
 * Orders to a thread: the priming signal, by rt_tgsigqueueinfo (SI_QUEUE) from the collector or
 * the process itself, with WEFT_SIGVAL(cookie, 0, order). Sent to a thread that runs; ADOPT also to
 * one that sleeps in a system call which goes on after a handler.
 */
enum weft_order {
	WEFT_ORDER_PRIME = 1,  /* claim a slot and arm a timer for this thread */
	WEFT_ORDER_ATTACH = 2, /* carry out header.attach_number: begin engines, map tables */
	WEFT_ORDER_STOP = 3,   /* the recording is over: end the engines */
	WEFT_ORDER_ADOPT = 4,  /* make timers for threads that have neither slot nor timer */
};

#define WEFT_STATE_WORD(generation, state) (((uint64_t)(generation) << 8) | (uint64_t)(state))
#define WEFT_STATE_OF(word) ((enum weft_slot_state)((word)&0x7F))
#define WEFT_STATE_IS_HELD(word) (((word)&WEFT_SLOT_HELD) != 0)
#define WEFT_GENERATION_OF(word) ((uint64_t)(word) >> 8)

WEFT_ABI_ASSERT(sizeof(struct weft_session_header) == 0x1000, "session header");
WEFT_ABI_OFFSET(weft_session_header, magic, 0x000);
WEFT_ABI_OFFSET(weft_session_header, version, 0x008);
WEFT_ABI_OFFSET(weft_session_header, header_bytes, 0x00C);
WEFT_ABI_OFFSET(weft_session_header, features, 0x010);
WEFT_ABI_OFFSET(weft_session_header, total_bytes, 0x018);
WEFT_ABI_OFFSET(weft_session_header, slot_count, 0x020);
WEFT_ABI_OFFSET(weft_session_header, block_slots, 0x024);
WEFT_ABI_OFFSET(weft_session_header, states_offset, 0x028);
WEFT_ABI_OFFSET(weft_session_header, free_offset, 0x030);
WEFT_ABI_OFFSET(weft_session_header, slots_offset, 0x038);
WEFT_ABI_OFFSET(weft_session_header, slot_stride, 0x040);
WEFT_ABI_OFFSET(weft_session_header, samples_offset, 0x048);
WEFT_ABI_OFFSET(weft_session_header, samples_bytes, 0x04C);
WEFT_ABI_OFFSET(weft_session_header, events_offset, 0x050);
WEFT_ABI_OFFSET(weft_session_header, events_bytes, 0x054);
WEFT_ABI_OFFSET(weft_session_header, dict_offset, 0x058);
WEFT_ABI_OFFSET(weft_session_header, dict_bytes, 0x060);
WEFT_ABI_OFFSET(weft_session_header, modules_offset, 0x068);
WEFT_ABI_OFFSET(weft_session_header, modules_bytes, 0x070);
WEFT_ABI_OFFSET(weft_session_header, map_offset, 0x078);
WEFT_ABI_OFFSET(weft_session_header, map_bytes, 0x080);
WEFT_ABI_OFFSET(weft_session_header, event_area_offset, 0x088);
WEFT_ABI_OFFSET(weft_session_header, event_area_bytes, 0x090);
WEFT_ABI_OFFSET(weft_session_header, pid, 0x100);
WEFT_ABI_OFFSET(weft_session_header, parent_pid, 0x104);
WEFT_ABI_OFFSET(weft_session_header, pid_start, 0x108);
WEFT_ABI_OFFSET(weft_session_header, session_id, 0x110);
WEFT_ABI_OFFSET(weft_session_header, mono_anchor_ns, 0x118);
WEFT_ABI_OFFSET(weft_session_header, real_anchor_ns, 0x120);
WEFT_ABI_OFFSET(weft_session_header, tsc_anchor, 0x128);
WEFT_ABI_OFFSET(weft_session_header, tsc_hz, 0x130);
WEFT_ABI_OFFSET(weft_session_header, drained_ns, 0x138);
WEFT_ABI_OFFSET(weft_session_header, run_state, 0x180);
WEFT_ABI_OFFSET(weft_session_header, collector_pid, 0x184);
WEFT_ABI_OFFSET(weft_session_header, cookie, 0x188);
WEFT_ABI_OFFSET(weft_session_header, period_ns, 0x190);
WEFT_ABI_OFFSET(weft_session_header, engines, 0x198);
WEFT_ABI_OFFSET(weft_session_header, stack_mode, 0x19C);
WEFT_ABI_OFFSET(weft_session_header, stack_copy_bytes, 0x1A0);
WEFT_ABI_OFFSET(weft_session_header, frames_max, 0x1A4);
WEFT_ABI_OFFSET(weft_session_header, timer_budget, 0x1A8);
WEFT_ABI_OFFSET(weft_session_header, publish, 0x1AC);
WEFT_ABI_OFFSET(weft_session_header, collector_done, 0x1B0);
WEFT_ABI_OFFSET(weft_session_header, map_number, 0x1B4);
WEFT_ABI_OFFSET(weft_session_header, map_current, 0x1B8);
WEFT_ABI_OFFSET(weft_session_header, tables_bytes, 0x1C0);
WEFT_ABI_OFFSET(weft_session_header, tables_used, 0x1C8);
WEFT_ABI_OFFSET(weft_session_header, prime_signal, 0x1D0);
WEFT_ABI_OFFSET(weft_session_header, attach_number, 0x1D4);
WEFT_ABI_OFFSET(weft_session_header, clock, 0x1DC);
WEFT_ABI_OFFSET(weft_session_header, prime_sending, 0x1D8);
WEFT_ABI_OFFSET(weft_session_header, time_shift_ns, 0x1E0);
WEFT_ABI_OFFSET(weft_session_header, tick_signal, 0x1E8);
WEFT_ABI_OFFSET(weft_session_header, target_state, 0x200);
WEFT_ABI_OFFSET(weft_session_header, blocks_open, 0x204);
WEFT_ABI_OFFSET(weft_session_header, slots_high, 0x208);
WEFT_ABI_OFFSET(weft_session_header, slots_used, 0x20C);
WEFT_ABI_OFFSET(weft_session_header, dict_head, 0x210);
WEFT_ABI_OFFSET(weft_session_header, modules_head, 0x218);
WEFT_ABI_OFFSET(weft_session_header, timers_armed, 0x220);
WEFT_ABI_OFFSET(weft_session_header, hooks, 0x224);
WEFT_ABI_OFFSET(weft_session_header, hook_calls, 0x228);
WEFT_ABI_OFFSET(weft_session_header, runtime_version, 0x22C);
WEFT_ABI_OFFSET(weft_session_header, modules_epoch, 0x230);
WEFT_ABI_OFFSET(weft_session_header, prime_signal_used, 0x238);
WEFT_ABI_OFFSET(weft_session_header, attach_taken, 0x23C);
WEFT_ABI_OFFSET(weft_session_header, attach_error, 0x240);
WEFT_ABI_OFFSET(weft_session_header, hooks_patched, 0x244);
WEFT_ABI_OFFSET(weft_session_header, handling, 0x248);
WEFT_ABI_OFFSET(weft_session_header, engines_run, 0x24C);
WEFT_ABI_OFFSET(weft_session_header, formats, 0x250);
WEFT_ABI_OFFSET(weft_session_header, otel_process, 0x254);
WEFT_ABI_OFFSET(weft_session_header, otel_thread, 0x258);
WEFT_ABI_OFFSET(weft_session_header, custom_labels, 0x25C);
WEFT_ABI_OFFSET(weft_session_header, labels_max, 0x260);
WEFT_ABI_OFFSET(weft_session_header, mapped_at, 0x268);
WEFT_ABI_OFFSET(weft_session_header, clock_error, 0x270);
WEFT_ABI_OFFSET(weft_session_header, clock_opened, 0x274);
WEFT_ABI_OFFSET(weft_session_header, clock_rested, 0x278);
WEFT_ABI_OFFSET(weft_session_header, clock_lacked, 0x27C);
WEFT_ABI_OFFSET(weft_session_header, fresh, 0x280);
WEFT_ABI_OFFSET(weft_session_header, counters, 0x300);
WEFT_ABI_OFFSET(weft_session_header, handler_ns, 0x600);
WEFT_ABI_OFFSET(weft_session_header, claim_ns, 0x800);
WEFT_ABI_OFFSET(weft_session_header, socket_path, 0xA00);
WEFT_ABI_OFFSET(weft_session_header, exit_cpu_ns, 0xA70);
WEFT_ABI_OFFSET(weft_session_header, tell_children, 0xA78);
WEFT_ABI_OFFSET(weft_session_header, time_source, 0xA7C);
WEFT_ABI_OFFSET(weft_session_header, published, 0xA80);
WEFT_ABI_ASSERT(sizeof(struct weft_slot) == WEFT_SLOT_CONTROL_BYTES, "slot");
WEFT_ABI_OFFSET(weft_slot, context, 0x000);
WEFT_ABI_OFFSET(weft_slot, ext, 0x040);
WEFT_ABI_OFFSET(weft_slot, ext.seq, 0x040);
WEFT_ABI_OFFSET(weft_slot, ext.v1_checksum, 0x048);
WEFT_ABI_OFFSET(weft_slot, ext.trace_id, 0x050);
WEFT_ABI_OFFSET(weft_slot, ext.trace_flags, 0x060);
WEFT_ABI_OFFSET(weft_slot, ext.label_generation, 0x064);
WEFT_ABI_OFFSET(weft_slot, ext.label_set, 0x068);
WEFT_ABI_OFFSET(weft_slot, ext.label_store, 0x078);
WEFT_ABI_OFFSET(weft_slot, thread.tid, 0x080);
WEFT_ABI_OFFSET(weft_slot, thread.flags, 0x084);
WEFT_ABI_OFFSET(weft_slot, thread.generation, 0x088);
WEFT_ABI_OFFSET(weft_slot, thread.stack_low, 0x090);
WEFT_ABI_OFFSET(weft_slot, thread.stack_high, 0x098);
WEFT_ABI_OFFSET(weft_slot, thread.claimed_ns, 0x0A0);
WEFT_ABI_OFFSET(weft_slot, thread.timer_id, 0x0A8);
WEFT_ABI_OFFSET(weft_slot, thread.primed_by, 0x0AC);
WEFT_ABI_OFFSET(weft_slot, thread.ended_ns, 0x0B0);
WEFT_ABI_OFFSET(weft_slot, thread.handling, 0x0B8);
WEFT_ABI_OFFSET(weft_slot, events.commits, 0x0C0);
WEFT_ABI_OFFSET(weft_slot, events.open_contexts, 0x0C8);
WEFT_ABI_OFFSET(weft_slot, events.coroutine, 0x0D0);
WEFT_ABI_OFFSET(weft_slot, events.coroutine_stack_low, 0x0D8);
WEFT_ABI_OFFSET(weft_slot, events.coroutine_stack_high, 0x0E0);
WEFT_ABI_OFFSET(weft_slot, events.coroutine_at, 0x0E8);
WEFT_ABI_OFFSET(weft_slot, events.index, 0x0F0);
WEFT_ABI_OFFSET(weft_slot, events.cpu_ns, 0x0F8);
WEFT_ABI_OFFSET(weft_slot, outside.samples, 0x100);
WEFT_ABI_OFFSET(weft_slot, samples_p.head, 0x140);
WEFT_ABI_OFFSET(weft_slot, samples_p.busy, 0x148);
WEFT_ABI_OFFSET(weft_slot, samples_p.written, 0x150);
WEFT_ABI_OFFSET(weft_slot, samples_p.own, 0x158);
WEFT_ABI_OFFSET(weft_slot, samples_c.tail, 0x180);
WEFT_ABI_OFFSET(weft_slot, samples_c.delivered, 0x188);
WEFT_ABI_OFFSET(weft_slot, samples_c.refused, 0x190);
WEFT_ABI_OFFSET(weft_slot, events_p.head, 0x1C0);
WEFT_ABI_OFFSET(weft_slot, events_p.busy, 0x1C8);
WEFT_ABI_OFFSET(weft_slot, events_p.written, 0x1D0);
WEFT_ABI_OFFSET(weft_slot, events_c.tail, 0x200);
WEFT_ABI_OFFSET(weft_slot, events_c.delivered, 0x208);
WEFT_ABI_OFFSET(weft_slot, events_c.refused, 0x210);
WEFT_ABI_OFFSET(weft_slot, name, 0x240);
WEFT_ABI_OFFSET(weft_slot, given_name, 0x250);
WEFT_ABI_OFFSET(weft_slot, clock_rest, 0x268);
WEFT_ABI_OFFSET(weft_slot, kernel_time, 0x278);
WEFT_ABI_OFFSET(weft_slot, pthread_self, 0x260);
WEFT_ABI_OFFSET(weft_slot, counters, 0x280);
WEFT_ABI_OFFSET(weft_slot, otel_record, 0x580);
WEFT_ABI_OFFSET(weft_slot, label_state, 0x800);
WEFT_ABI_OFFSET(weft_slot, label_state.recorded_number, 0x810);
WEFT_ABI_OFFSET(weft_slot, label_state.current_at, 0x818);
WEFT_ABI_OFFSET(weft_slot, label_state.owner, 0x820);
WEFT_ABI_OFFSET(weft_slot, label_state.store, 0x880);
WEFT_ABI_OFFSET(weft_slot, otel, 0xA00);
WEFT_ABI_OFFSET(weft_slot, otel.generation, 0xA50);
WEFT_ABI_OFFSET(weft_slot, coro_labels, 0xA80);
WEFT_ABI_OFFSET(weft_slot, labels_generation, 0xFF8);
WEFT_ABI_OFFSET(weft_slot, labels, 0x1000);
WEFT_ABI_ASSERT(sizeof(struct weft_record) == 16, "record header");
WEFT_ABI_OFFSET(weft_record, bytes, 0x00);
WEFT_ABI_OFFSET(weft_record, type, 0x04);
WEFT_ABI_OFFSET(weft_record, flags, 0x06);
WEFT_ABI_OFFSET(weft_record, generation, 0x08);
WEFT_ABI_ASSERT(sizeof(struct weft_sample_record) == 0x98, "sample record");
WEFT_ABI_OFFSET(weft_sample_record, time_ns, 0x10);
WEFT_ABI_OFFSET(weft_sample_record, weight, 0x18);
WEFT_ABI_OFFSET(weft_sample_record, engine, 0x1C);
WEFT_ABI_OFFSET(weft_sample_record, flags, 0x1E);
WEFT_ABI_OFFSET(weft_sample_record, context, 0x20);
WEFT_ABI_OFFSET(weft_sample_record, stack, 0x21);
WEFT_ABI_OFFSET(weft_sample_record, register_count, 0x22);
WEFT_ABI_OFFSET(weft_sample_record, frame_count, 0x24);
WEFT_ABI_OFFSET(weft_sample_record, span_id, 0x28);
WEFT_ABI_OFFSET(weft_sample_record, root_span_id, 0x30);
WEFT_ABI_OFFSET(weft_sample_record, trace_id, 0x38);
WEFT_ABI_OFFSET(weft_sample_record, trace_flags, 0x48);
WEFT_ABI_OFFSET(weft_sample_record, label_generation, 0x4C);
WEFT_ABI_OFFSET(weft_sample_record, tags, 0x50);
WEFT_ABI_OFFSET(weft_sample_record, map_number, 0x78);
WEFT_ABI_OFFSET(weft_sample_record, copy_bytes, 0x7C);
WEFT_ABI_OFFSET(weft_sample_record, copy_address, 0x80);
WEFT_ABI_OFFSET(weft_sample_record, coroutine, 0x88);
WEFT_ABI_OFFSET(weft_sample_record, end, 0x90);
WEFT_ABI_OFFSET(weft_sample_record, state, 0x91);
WEFT_ABI_OFFSET(weft_sample_record, label_bytes, 0x92);
WEFT_ABI_OFFSET(weft_sample_record, labels_at, 0x94);
WEFT_ABI_ASSERT(sizeof(struct weft_switch_record) == 0x58, "switch record");
WEFT_ABI_OFFSET(weft_switch_record, begin_ns, 0x10);
WEFT_ABI_OFFSET(weft_switch_record, end_ns, 0x18);
WEFT_ABI_OFFSET(weft_switch_record, coroutine, 0x20);
WEFT_ABI_OFFSET(weft_switch_record, addr, 0x28);
WEFT_ABI_OFFSET(weft_switch_record, woken_ns, 0x30);
WEFT_ABI_OFFSET(weft_switch_record, span_id, 0x38);
WEFT_ABI_OFFSET(weft_switch_record, root_span_id, 0x40);
WEFT_ABI_OFFSET(weft_switch_record, trace_id, 0x48);

#ifdef __cplusplus
}
#endif
#endif
