/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file session.h
 * The session: one sealed memfd between one target process and the collector.
 * Host endian, 64-bit, every offset counted from the start of the mapping.
 *
 * Byte map of the session (the header's fields say where; none of it ever moves)
 *
 *   0                 header, WEFT_SESSION_HEADER_BYTES
 *   states_offset     u64 word per slot: generation << 8 | state     (never punched)
 *   free_offset       u64 bitmap word per block of 64 slots: hints   (never punched)
 *   dict_offset       dictionary log: append-only records
 *   modules_offset    module log: append-only records, written by the target
 *   map_offset        module map snapshots (abi/module_map.h), written by the collector
 *   slots_offset      slot_count slots of slot_stride bytes
 *
 * Byte map of a slot (struct weft_slot is its first WEFT_SLOT_CONTROL_BYTES)
 *
 *   0x0000  context v1 record (abi/context_v1.h)                  owner
 *   0x0040  context extension: seq, trace id, flags               owner
 *   0x0080  thread: tid, generation, stack bounds, timer          owner
 *   0x00C0  events: commit counter, open contexts, coroutine      owner
 *   0x0100  the collector's word: samples taken from outside      collector
 *   0x0140  samples ring, producer's line                         owner's handlers
 *   0x0180  samples ring, consumer's line                         collector
 *   0x01C0  events ring, producer's line                          owner
 *   0x0200  events ring, consumer's line                          collector
 *   0x0240  thread name, 64 bytes                                 owner
 *   0x0280  counters                                              owner (and its handlers)
 *   0x0580  OpenTelemetry thread context record, 640 bytes        owner
 *   0x0800  reserved to 0x1000
 *   0x1000  custom label block, 4184 bytes; spare label buffers up to 0x8000
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
 *   OPENING is the claimer's alone: the collector reads nothing but counters there. The
 *   claimer publishes LIVE with release. A word in the free bitmap is a hint: whoever clears
 *   a bit that was set may try FREE -> OPENING on that slot; the state word decides.
 *   WEFT_SLOT_HELD in the word: the collector has its hands in the slot's rings. It sets the
 *   bit by compare-and-swap on LIVE, takes records, stores tail, delivered and refused, and
 *   clears the bit with release. The owner ends its slot without touching the bit; a thief
 *   takes a DEAD slot only without it. So no record is taken, and no tail stored, that the
 *   slot's next owner could meet.
 *   A slot that has been FREE for long: the collector takes it to DRAINING, gives the memory
 *   of all of it back, and frees it again.
 *   A thread that is gone without a word (raw clone, raw exit): the collector, when it has
 *   seen in /proc that the tid is no more, sets that very generation from LIVE to DEAD.
 *   Generations only grow; one whose low 24 bits would be 0 is left out (WEFT_SIGVAL_ADOPTED).
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
 *   in progress. Set, and we are higher on the same stack: that append was left by a longjmp:
 *   take over. Set otherwise (a handler that interrupted it, another stack): drop and count,
 *   and take over after a second, passing over what the other has reserved.
 *   Dying between any two stores leaves at most an unpublished record behind head.
 *
 * The reader of a session trusts nothing in it: every offset, length and count is checked
 * against the size of the memfd as fstat tells it.
 */
#ifndef WEFT_ABI_SESSION_H
#define WEFT_ABI_SESSION_H

#include "context_v1.h"
#include "counters.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_SESSION_MAGIC UINT64_C(0x3153534554464557) /* "WEFTESS1" */
#define WEFT_SESSION_VERSION 1
#define WEFT_SESSION_HEADER_BYTES 4096
#define WEFT_SESSION_SLOTS_MAX 65536
#define WEFT_SESSION_BLOCK_SLOTS 64
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
/** In the state's byte, beside LIVE or DEAD: the collector has its hands in the rings. */
#define WEFT_SLOT_HELD 0x80

/** run_state: written by the collector (by the runtime when there is none). */
enum weft_run_state {
	WEFT_RUN_IDLE = 0,      /* context only; handlers not armed */
	WEFT_RUN_RECORDING = 1, /* engines armed */
	WEFT_RUN_STOPPED = 2,   /* recording over: timers disarm at their next tick */
	WEFT_RUN_CLOSED = 3,    /* and nobody drains any more: owners free their own slots */
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

/** stack_mode: how the handler records a stack. */
enum weft_stack_mode {
	WEFT_STACK_RAW = 0,   /* registers and a copy of the stack */
	WEFT_STACK_AUTO = 1,  /* by tables; a copy where they do not (yet) reach */
	WEFT_STACK_TABLE = 2, /* by tables, cut where they do not reach; never a copy */
	WEFT_STACK_FP = 3,    /* by frame pointers alone; never a copy */
	WEFT_STACK_CHECK = 4, /* both: a copy, and behind it the frames as AUTO walks them */
};

/** Groups of functions that libweft.so stands before: bits of weft_session_header.hooks. */
enum weft_hook {
	WEFT_HOOK_THREADS = 1 << 0, /* pthread_create, thrd_create */
	WEFT_HOOK_SIGNALS = 1 << 1, /* dispositions, masks and waits, as far as SIGPROF goes */
	WEFT_HOOK_EXEC = 1 << 2,    /* exec and spawn: SIGPROF's inheritance */
	WEFT_HOOK_MODULES = 1 << 3, /* dlclose: which code lay where, and when */
};

/** Feature bits of the session; a reader ignores those it does not know. */
enum weft_session_feature {
	WEFT_FEATURE_CLOCKSOURCE_TSC = 1 << 0,
	WEFT_FEATURE_RUNTIME_MADE = 1 << 1, /* created by the runtime, no collector yet */
};

/**
 * The header. Who stores: [M] the maker of the memfd before it is shared, then nobody;
 * [C] the collector; [R] the runtime (any thread, atomically).
 */
struct weft_session_header {
	uint64_t magic;          /* 0x000 [M] */
	uint32_t version;        /* 0x008 [M] */
	uint32_t header_bytes;   /* 0x00C [M] */
	uint64_t features;       /* 0x010 [C] */
	uint64_t total_bytes;    /* 0x018 [M] */
	uint32_t slot_count;     /* 0x020 [M] a multiple of 64, 64 .. 65536 */
	uint32_t block_slots;    /* 0x024 [M] 64 */
	uint64_t states_offset;  /* 0x028 [M] */
	uint64_t free_offset;    /* 0x030 [M] */
	uint64_t slots_offset;   /* 0x038 [M] page aligned */
	uint64_t slot_stride;    /* 0x040 [M] page aligned */
	uint32_t samples_offset; /* 0x048 [M] in the slot, page aligned */
	uint32_t samples_bytes;  /* 0x04C [M] power of two */
	uint32_t events_offset;  /* 0x050 [M] in the slot, page aligned */
	uint32_t events_bytes;   /* 0x054 [M] power of two */
	uint64_t dict_offset;    /* 0x058 [M] */
	uint64_t dict_bytes;     /* 0x060 [M] */
	uint64_t modules_offset; /* 0x068 [M] */
	uint64_t modules_bytes;  /* 0x070 [M] */
	uint64_t map_offset;     /* 0x078 [M] */
	uint64_t map_bytes;      /* 0x080 [M] */
	uint8_t rsv_layout[0x100 - 0x088];

	int32_t pid;             /* 0x100 [M] in the namespace of the process itself */
	int32_t parent_pid;      /* 0x104 [M] 0 = not known */
	uint64_t pid_start;      /* 0x108 [M] /proc/PID/stat field 22, clock ticks */
	uint64_t session_id;     /* 0x110 [M] random, never 0 */
	uint64_t mono_anchor_ns; /* 0x118 [C] CLOCK_MONOTONIC */
	uint64_t real_anchor_ns; /* 0x120 [C] CLOCK_REALTIME at mono_anchor_ns */
	uint64_t tsc_anchor;     /* 0x128 [C] TSC at mono_anchor_ns; 0 = none */
	uint64_t tsc_hz;         /* 0x130 [C] 0 = none */
	uint64_t drained_ns;     /* 0x138 [C] CLOCK_MONOTONIC of the last drain; 0 = none yet */
	uint8_t rsv_identity[0x180 - 0x140];

	uint32_t run_state;        /* 0x180 [C] enum weft_run_state */
	int32_t collector_pid;     /* 0x184 [C] 0 = none */
	uint64_t cookie;           /* 0x188 [C] low 24 bits used; tells our signals from others */
	uint64_t period_ns;        /* 0x190 [C] cpu engine: CPU time between two samples */
	uint32_t engines;          /* 0x198 [C] enum weft_engine bits */
	uint32_t stack_mode;       /* 0x19C [C] enum weft_stack_mode */
	uint32_t stack_copy_bytes; /* 0x1A0 [C] raw copy limit, <= WEFT_STACK_COPY_MAX */
	uint32_t frames_max;       /* 0x1A4 [C] <= WEFT_FRAMES_MAX */
	uint32_t timer_budget;     /* 0x1A8 [C] CPU timers this process may hold at a time */
	uint32_t publish;          /* 0x1AC [C] formats that a context write feeds; 0 = v1 only */
	uint32_t collector_done;   /* 0x1B0 [C] 1 = file complete; a shared futex word */
	uint32_t map_number;       /* 0x1B4 [C] number of the newest module map snapshot */
	uint64_t map_current;      /* 0x1B8 [C] offset of that snapshot; 0 = none */
	uint64_t tables_bytes;     /* 0x1C0 [C] size of the table memfd; 0 = there is none */
	uint64_t tables_used;      /* 0x1C8 [C] its bytes in use, from its start; only grows */
	uint8_t rsv_control[0x200 - 0x1D0];

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
	uint64_t modules_epoch; /* 0x230 [R] */
	uint8_t rsv_runtime[0x300 - 0x238];

	uint64_t counters[WEFT_COUNTER_ROOM]; /* 0x300 [R] atomic adds; slotless only */
	uint64_t handler_ns[64];              /* 0x600 [R] atomic adds; log2 histogram, see below */
	uint64_t claim_ns[64];                /* 0x800 [R] atomic adds; log2 histogram */
	uint8_t rsv_tail[0x1000 - 0xA00];
};

/* A log2 histogram: bucket b counts values in [2^(b-1), 2^b), bucket 0 counts zeros. */

struct weft_context_ext {
	uint64_t seq;              /* 0x40 odd = the owner writes more than one v1 record */
	uint64_t v1_checksum;      /* 0x48 checksum of the v1 record that the rest belongs to */
	uint8_t trace_id[16];      /* 0x50 W3C byte order; zeros = none */
	uint32_t trace_flags;      /* 0x60 W3C trace flags */
	uint32_t label_generation; /* 0x64 changes with every label set */
	uint64_t label_set;        /* 0x68 reserved: address of the current label set */
	uint8_t rsv[16];           /* 0x70 */
};

struct weft_slot_thread {
	int32_t tid;         /* 0x80 */
	uint32_t flags;      /* 0x84 enum weft_slot_flag */
	uint64_t generation; /* 0x88 equals the state word's while OPENING and LIVE */
	uint64_t stack_low;  /* 0x90 0 = not known */
	uint64_t stack_high; /* 0x98 one past the highest byte that may be read */
	uint64_t claimed_ns; /* 0xA0 CLOCK_MONOTONIC */
	int32_t timer_id;    /* 0xA8 kernel's id; -1 = none */
	uint32_t primed_by;  /* 0xAC counter number: WEFT_COUNTER_PRIMED_* */
	uint64_t tid_start;  /* 0xB0 reserved: start time of the thread */
	uint64_t rsv;        /* 0xB8 */
};

struct weft_slot_events {
	uint64_t commits;              /* 0xC0 events and samples committed on this thread */
	uint64_t open_contexts;        /* 0xC8 depth of open contextual events */
	uint64_t coroutine;            /* 0xD0 id of the coroutine that runs; 0 = none */
	uint64_t coroutine_stack_low;  /* 0xD8 */
	uint64_t coroutine_stack_high; /* 0xE0 */
	uint64_t rsv[3];
};

struct weft_slot_outside {
	uint64_t samples; /* 0x100 samples that the collector took of this thread */
	uint64_t rsv[7];
};

struct weft_ring_producer {
	uint64_t head;    /* +0x00 bytes published since the claim */
	uint64_t busy;    /* +0x08 frame address of the append in progress; 0 = none */
	uint64_t written; /* +0x10 records published since FREE; one more while one is at it */
	uint64_t rsv[5];
};

struct weft_ring_consumer {
	uint64_t tail;      /* +0x00 bytes consumed */
	uint64_t delivered; /* +0x08 records consumed since FREE */
	uint64_t refused;   /* +0x10 records found malformed since FREE */
	uint64_t rsv[5];
};

/** The control part of a slot. Owner-written fields are plain stores of one thread. */
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
	char name[64];                        /* 0x240 NUL-terminated */
	uint64_t counters[WEFT_COUNTER_ROOM]; /* 0x280 */
	uint8_t otel_record[640];             /* 0x580 */
	uint8_t rsv_page[0x1000 - 0x800];     /* 0x800 */
	uint8_t labels[0x8000 - 0x1000];      /* 0x1000 */
};

enum weft_slot_flag {
	WEFT_SLOT_MAIN = 1 << 0,     /* the thread whose tid is the pid */
	WEFT_SLOT_NO_TIMER = 1 << 1, /* no CPU timer could be had */
};

/** Ring records: 8-aligned, header first, never across the ring's end. */
enum weft_record_type {
	WEFT_RECORD_PAD = 1,    /* fills the ring up to its end; may be its first 8 bytes only */
	WEFT_RECORD_SAMPLE = 2, /* struct weft_sample_record */
	WEFT_RECORD_LABELS = 3, /* reserved: changed label bytes */
	WEFT_RECORD_SWITCH = 4, /* reserved: coroutine switch */
	WEFT_RECORD_EVENT = 5,  /* reserved: typed event */
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
	WEFT_END_COPY_LIMIT = 4, /* the next word lies above the stack */
	WEFT_END_BAD_READ = 5,   /* or below what may be read */
};

enum weft_sample_flag {
	WEFT_SAMPLE_CUT = 1 << 0,       /* copy_bytes or frames reached their limit */
	WEFT_SAMPLE_ALT_STACK = 1 << 1, /* sp was on the alternate signal stack */
	WEFT_SAMPLE_NO_STACK = 1 << 2,  /* bounds unknown and unreadable: registers only */
	WEFT_SAMPLE_SELF_READ = 1 << 3, /* copied by process_vm_readv */
	WEFT_SAMPLE_STALE_MAP = 1 << 4, /* the loader has another module at some pc of it */
	WEFT_SAMPLE_CHECK = 1 << 5,     /* RAW, with the handler's own frames behind the copy */
};

/**
 * One sample. After this struct:
 *   RAW:    u64 registers[register_count], then copy_bytes bytes from address copy_address
 *           (record padded to 8). x86-64: 17 registers by DWARF number, 16 = rip.
 *           aarch64: 33 by DWARF number, 31 = sp, 32 = pc.
 *   FRAMES: u64 pcs[frame_count], leaf first; `end` says why there are no more.
 *   RAW with WEFT_SAMPLE_CHECK: frame_count pcs follow the copy, and `end` is theirs. Only
 *   what AUTO would walk has them; a copy that ends earlier (an alternate stack) is no lie.
 *
 * Who counts a stack that is not whole: with NO_STACK the handler has (CUT_NO_BOUNDS); all
 * others the collector does, by `end` or by its own walk. STALE_MAP on FRAMES (mode TABLE):
 * they end, as NO_MODULE, at the first pc whose module the loader does not confirm.
 */
struct weft_sample_record {
	struct weft_record record;           /* 0x00 */
	uint64_t time_ns;                    /* 0x10 CLOCK_MONOTONIC */
	uint32_t weight;                     /* 0x18 periods: 1 + overrun */
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
	uint32_t label_generation;           /* 0x4C */
	uint32_t tags[WEFT_CONTEXT_V1_TAGS]; /* 0x50 */
	uint32_t map_number;   /* 0x78 module map that the frames refer to; 0 = none */
	uint32_t copy_bytes;   /* 0x7C */
	uint64_t copy_address; /* 0x80 */
	uint64_t coroutine;    /* 0x88 */
	uint8_t end;           /* 0x90 enum weft_stack_end; 0 when there are no frames */
	uint8_t rsv[7];        /* 0x91 */
};

/**
 * Dictionary and module logs: records one after the other, 8-aligned; a record exists when
 * the log's head has passed it. Written outside signal handlers under a private lock, and
 * copied once into the session of a forked child.
 */
enum weft_log_type {
	WEFT_LOG_STRING = 1,   /* id: tag value; data: its bytes */
	WEFT_LOG_TAG_NAME = 2, /* id: tag number 0..9; data: its name */
	WEFT_LOG_MODULE = 3,   /* data: struct weft_log_module, then the path */
	WEFT_LOG_COMMAND = 4,  /* data: the process's command name */
	WEFT_LOG_LOADED = 5,   /* id: module; data: struct weft_log_loaded, then the path; or, for
				* one that is here again, its first two fields alone */
	WEFT_LOG_GONE = 6,     /* id: module; data: the first two fields of weft_log_loaded */
};

struct weft_log_record {
	uint32_t bytes;      /* 0x00 whole record, multiple of 8 */
	uint16_t type;       /* 0x04 enum weft_log_type */
	uint16_t rsv;        /* 0x06 */
	uint32_t id;         /* 0x08 */
	uint32_t data_bytes; /* 0x0C bytes that follow, not padded */
};

struct weft_log_module {
	uint64_t bias;  /* 0x00 what to add to an address in the file's program headers */
	uint64_t start; /* 0x08 lowest mapped address */
	uint64_t end;   /* 0x10 one past the highest */
};

/**
 * The process looks at what it has loaded before and after each dlclose. All times are
 * CLOCK_MONOTONIC: it happened after since_ns, at at_ns it had happened.
 */
struct weft_log_loaded {
	uint64_t since_ns;      /* 0x00 the look before: it was not loaded (GONE: it was) */
	uint64_t at_ns;         /* 0x08 this look */
	uint64_t bias;          /* 0x10 as in struct weft_log_module */
	uint64_t start, end;    /* 0x18 */
	uint64_t device, inode; /* 0x28 of its file, as stat(2) tells them; 0 = not known */
};
#define WEFT_LOG_LOADED_AGAIN_BYTES 16

/** sigval of our signals: cookie << 40 | generation (24 bits) << 16 | slot index. */
#define WEFT_SIGVAL(cookie, generation, index)                                                     \
	((((uint64_t)(cookie)&0xFFFFFF) << 40) | (((uint64_t)(generation)&0xFFFFFF) << 16) |       \
	 ((uint64_t)(index)&0xFFFF))
#define WEFT_SIGVAL_COOKIE(value) ((uint32_t)((uint64_t)(value) >> 40))
#define WEFT_SIGVAL_GENERATION(value) ((uint32_t)((uint64_t)(value) >> 16) & 0xFFFFFF)
#define WEFT_SIGVAL_INDEX(value) ((uint32_t)((uint64_t)(value)&0xFFFF))
/** Generation 0 is never live: the timer was armed for a thread that had no slot yet. */
#define WEFT_SIGVAL_ADOPTED 0

#define WEFT_STATE_WORD(generation, state) (((uint64_t)(generation) << 8) | (uint64_t)(state))
#define WEFT_STATE_OF(word) ((enum weft_slot_state)((word)&0x7F))
#define WEFT_STATE_IS_HELD(word) (((word)&WEFT_SLOT_HELD) != 0)
#define WEFT_GENERATION_OF(word) ((uint64_t)(word) >> 8)

#define WEFT_ABI_OFFSET(type, field, offset)                                                       \
	WEFT_ABI_ASSERT(offsetof(struct type, field) == (offset), #type "." #field)

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
WEFT_ABI_OFFSET(weft_session_header, counters, 0x300);
WEFT_ABI_OFFSET(weft_session_header, handler_ns, 0x600);
WEFT_ABI_OFFSET(weft_session_header, claim_ns, 0x800);
WEFT_ABI_ASSERT(sizeof(struct weft_slot) == WEFT_SLOT_CONTROL_BYTES, "slot");
WEFT_ABI_OFFSET(weft_slot, context, 0x000);
WEFT_ABI_OFFSET(weft_slot, ext, 0x040);
WEFT_ABI_OFFSET(weft_slot, ext.seq, 0x040);
WEFT_ABI_OFFSET(weft_slot, ext.v1_checksum, 0x048);
WEFT_ABI_OFFSET(weft_slot, ext.trace_id, 0x050);
WEFT_ABI_OFFSET(weft_slot, ext.trace_flags, 0x060);
WEFT_ABI_OFFSET(weft_slot, ext.label_generation, 0x064);
WEFT_ABI_OFFSET(weft_slot, ext.label_set, 0x068);
WEFT_ABI_OFFSET(weft_slot, thread.tid, 0x080);
WEFT_ABI_OFFSET(weft_slot, thread.flags, 0x084);
WEFT_ABI_OFFSET(weft_slot, thread.generation, 0x088);
WEFT_ABI_OFFSET(weft_slot, thread.stack_low, 0x090);
WEFT_ABI_OFFSET(weft_slot, thread.stack_high, 0x098);
WEFT_ABI_OFFSET(weft_slot, thread.claimed_ns, 0x0A0);
WEFT_ABI_OFFSET(weft_slot, thread.timer_id, 0x0A8);
WEFT_ABI_OFFSET(weft_slot, thread.primed_by, 0x0AC);
WEFT_ABI_OFFSET(weft_slot, thread.tid_start, 0x0B0);
WEFT_ABI_OFFSET(weft_slot, events.commits, 0x0C0);
WEFT_ABI_OFFSET(weft_slot, events.open_contexts, 0x0C8);
WEFT_ABI_OFFSET(weft_slot, events.coroutine, 0x0D0);
WEFT_ABI_OFFSET(weft_slot, events.coroutine_stack_low, 0x0D8);
WEFT_ABI_OFFSET(weft_slot, events.coroutine_stack_high, 0x0E0);
WEFT_ABI_OFFSET(weft_slot, outside.samples, 0x100);
WEFT_ABI_OFFSET(weft_slot, samples_p.head, 0x140);
WEFT_ABI_OFFSET(weft_slot, samples_p.busy, 0x148);
WEFT_ABI_OFFSET(weft_slot, samples_p.written, 0x150);
WEFT_ABI_OFFSET(weft_slot, samples_c.tail, 0x180);
WEFT_ABI_OFFSET(weft_slot, samples_c.delivered, 0x188);
WEFT_ABI_OFFSET(weft_slot, samples_c.refused, 0x190);
WEFT_ABI_OFFSET(weft_slot, events_p.head, 0x1C0);
WEFT_ABI_OFFSET(weft_slot, events_p.busy, 0x1C8);
WEFT_ABI_OFFSET(weft_slot, events_p.written, 0x1D0);
WEFT_ABI_OFFSET(weft_slot, events_c.tail, 0x200);
WEFT_ABI_OFFSET(weft_slot, events_c.delivered, 0x208);
WEFT_ABI_OFFSET(weft_slot, name, 0x240);
WEFT_ABI_OFFSET(weft_slot, counters, 0x280);
WEFT_ABI_OFFSET(weft_slot, otel_record, 0x580);
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
WEFT_ABI_ASSERT(sizeof(struct weft_log_record) == 16, "log record");
WEFT_ABI_OFFSET(weft_log_record, bytes, 0x00);
WEFT_ABI_OFFSET(weft_log_record, type, 0x04);
WEFT_ABI_OFFSET(weft_log_record, id, 0x08);
WEFT_ABI_OFFSET(weft_log_record, data_bytes, 0x0C);
WEFT_ABI_ASSERT(sizeof(struct weft_log_module) == 24, "log module");
WEFT_ABI_ASSERT(sizeof(struct weft_log_loaded) == 56, "log loaded");

#ifdef __cplusplus
}
#endif
#endif
