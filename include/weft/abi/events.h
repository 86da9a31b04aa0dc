/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file events.h
 * Typed events in a session: the area of settings, a type in the dictionary log, an event in the
 * events ring. Host endian; see abi/session.h for the session itself.
 *
 * Byte map of the events area (header.event_area_offset, header.event_area_bytes)
 *
 *   0          WEFT_EVENT_TYPES_MAX rows of WEFT_EVENT_ROW_BYTES (struct weft_event_row)
 *   text       struct weft_event_text, then its bytes, up to the area's end
 *
 * Rows: row n holds the settings now in force of the type whose number is n. Rows below
 *   WEFT_EVENT_ROW_FIRST are for what weft takes itself.
 *   Who stores: a program's type has its row written by the thread that enrols (registers) it,
 *   until the log's head has passed its definition; from then on by the collector alone, which
 *   writes the row anew when it reads the definition (so what changed meanwhile gets there, too).
 *   The rows of weft's own are the collector's. `used` is written by any thread of the process,
 *   atomically. Both sides fill a row by src/base/event_row.h.
 *   A type is off if its row has no WEFT_EVENT_ON; all are while nothing is recorded. A row of
 *   weft's own is off only if it has WEFT_EVENT_SET and no WEFT_EVENT_ON: all zeros mean that
 *   nobody has written it. Each field is stored by itself (relaxed; flags last, with release): an
 *   event that is committed while its row changes meets the old settings, the new, or some of both.
 *   A process maps the rows at one place for its whole life (a forked child too: the next
 *   session's rows appear there), so a type keeps a plain pointer to its row.
 *
 * Text: what was set for events, as lines "GLOB#SETTING=VALUE\n"; of several that apply the last
 *   counts. Written by the collector: seq odd, bytes, seq even; a reader that finds seq odd, or
 *   changed at its end, reads again. A type that is enrolled takes from it what is meant for it,
 *   over its own defaults, so that its very first event obeys.
 *
 * Type: a record of type WEFT_LOG_EVENT_TYPE in the dictionary log, its id the type's number; data:
 *   struct weft_event_type_head, then field_count times struct weft_event_type_field, then
 *   texts. A text is given by its offset in the texts; 0 = none (the first byte is a NUL). Each
 *   ends with NUL. Numbers are given in order from WEFT_EVENT_ROW_FIRST and never again.
 *
 * Event: struct weft_event_record, then the values in order of fields, then, by flags in this
 *   order, the context and the stack; each part is padded to 8.
 *
 *   - number, boolean, double: 8 bytes. A float: its 4 bytes, then zeros.
 *   - inline string: u32 bytes (WEFT_EVENT_NULL: none), then so many, padded to 8.
 *   - pooled string: u64 id of weft_tag_intern(); 0 = none.
 *   - thread: u64 tid in the process's own namespace; 0 = none.
 *   - CONTEXT: struct weft_event_context, then label_bytes of labels as in a sample, padded.
 *   - STACK: struct weft_event_stack, then frames or a copy as in a sample, padded. Its leaf is
 *     the caller of the function of weft/event.h, its pc lies within the instruction of the call.
 *
 *   A reader checks each length against what is left of the record.
 */
#ifndef WEFT_ABI_EVENTS_H
#define WEFT_ABI_EVENTS_H

#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_EVENT_TYPES_MAX 512
#define WEFT_EVENT_ROW_BYTES 128
#define WEFT_EVENT_ROWS_BYTES (WEFT_EVENT_TYPES_MAX * WEFT_EVENT_ROW_BYTES)
#define WEFT_EVENT_TEXT_BYTES (64 * 1024)
#define WEFT_EVENT_AREA_BYTES (WEFT_EVENT_ROWS_BYTES + WEFT_EVENT_TEXT_BYTES)
#define WEFT_EVENT_FIELDS_MAX 64
#define WEFT_EVENT_STRING_MAX 4096 /**< bytes; longer ones are cut (WEFT_EVENT_CUT_STRING) */
#define WEFT_EVENT_NULL UINT32_MAX

/** Rows that belong to no type of a program. */
enum weft_event_row_number {
	WEFT_EVENT_ROW_CPU = 1,  /* samples of the CPU timer: enabled and select */
	WEFT_EVENT_ROW_WALL = 2, /* wall-clock samples: the collector's own */
	WEFT_EVENT_ROW_FIRST = 8,
};

enum weft_event_row_flag {
	WEFT_EVENT_ON = 1 << 0,
	WEFT_EVENT_WITH_STACK = 1 << 1,
	WEFT_EVENT_IF_CONTEXT = 1 << 2,
	WEFT_EVENT_IF_TRIGGERED = 1 << 3,
	WEFT_EVENT_THROTTLED = 1 << 4,
	WEFT_EVENT_SET =
		1 << 5, /* in rows below WEFT_EVENT_ROW_FIRST: the collector wrote the flags */
};

struct weft_event_row {
	uint32_t flags;           /* 0x00 enum weft_event_row_flag */
	uint32_t rsv;             /* 0x04 */
	uint64_t threshold_ns;    /* 0x08 shorter ones are left out; 0 = none */
	uint64_t threshold_tsc;   /* 0x10 the same in ticks of the TSC */
	uint64_t throttle_count;  /* 0x18 events per window, of all threads of the process */
	uint64_t throttle_window; /* 0x20 ns; 0 = not throttled */
	uint64_t rsv2[3];         /* 0x28 */
	uint64_t used;            /* 0x40 low half of the window's number << 32 | events in it */
	uint64_t rsv3[7];         /* 0x48 */
};

struct weft_event_text {
	uint64_t seq;   /* 0x00 odd = being written */
	uint32_t bytes; /* 0x08 that follow, not more than the area has */
	uint32_t rsv;   /* 0x0C */
};

/** Kinds of field; numbers are part of the format. */
enum weft_event_kind {
	WEFT_EVENT_BOOLEAN = 1,
	WEFT_EVENT_BYTE = 2,
	WEFT_EVENT_CHAR = 3,
	WEFT_EVENT_SHORT = 4,
	WEFT_EVENT_INT = 5,
	WEFT_EVENT_LONG = 6,
	WEFT_EVENT_FLOAT = 7,
	WEFT_EVENT_DOUBLE = 8,
	WEFT_EVENT_STRING = 9,         /* its bytes, in the event */
	WEFT_EVENT_STRING_POOLED = 10, /* an id of weft_tag_intern() */
	WEFT_EVENT_THREAD = 11,        /* a thread of the process, by tid */
	WEFT_EVENT_ID = 12,            /* a span id: 16 hexadecimal digits in the file; 0 = none */
};

/** What a field's number means: bits, each an annotation of JFR. */
enum weft_event_content {
	WEFT_EVENT_CONTEXTUAL_FIELD = 1 << 0, /* @Contextual; a contextual type's fields all are */
	WEFT_EVENT_UNSIGNED = 1 << 1,
	WEFT_EVENT_BYTES = 1 << 2,        /* @DataAmount("BYTES") */
	WEFT_EVENT_BITS = 1 << 3,         /* @DataAmount("BITS") */
	WEFT_EVENT_ADDRESS = 1 << 4,      /* @MemoryAddress */
	WEFT_EVENT_PERCENTAGE = 1 << 5,   /* @Percentage: 0..1 */
	WEFT_EVENT_FREQUENCY = 1 << 6,    /* @Frequency: hertz */
	WEFT_EVENT_TIMESPAN_NS = 1 << 7,  /* @Timespan("NANOSECONDS") */
	WEFT_EVENT_TIMESPAN_MS = 1 << 8,  /* @Timespan("MILLISECONDS") */
	WEFT_EVENT_TIMESTAMP_MS = 1 << 9, /* @Timestamp("MILLISECONDS_SINCE_EPOCH") */
	WEFT_EVENT_EXPERIMENTAL_FIELD = 1 << 10,
};

enum weft_event_type_flag {
	WEFT_EVENT_CONTEXTUAL = 1 << 0, /* carries context from begin to end */
	WEFT_EVENT_STACK = 1 << 1,      /* has a stack trace (setting stackTrace; on by default) */
	WEFT_EVENT_INSTANT = 1 << 2,    /* has no duration */
	WEFT_EVENT_OFF = 1 << 3,        /* not enabled unless a setting says so */
	WEFT_EVENT_EXPERIMENTAL = 1 << 4,
	WEFT_EVENT_HOUSEKEEPING = 1 << 5, /* weft's own: never triggers a context */
};

/** Fields are appended; head_bytes and field_bytes say how long they are. */
struct weft_event_type_head {
	uint16_t head_bytes;  /* 0x00 sizeof(struct weft_event_type_head) */
	uint16_t field_bytes; /* 0x02 sizeof(struct weft_event_type_field) */
	uint32_t flags;       /* 0x04 enum weft_event_type_flag */
	uint32_t field_count; /* 0x08 */
	uint32_t text_bytes;  /* 0x0C */
	uint32_t name;        /* 0x10 this and all below: a text's offset */
	uint32_t label;       /* 0x14 */
	uint32_t description; /* 0x18 */
	uint32_t category;    /* 0x1C "Application|Orders": its parts, outermost first */
	uint32_t threshold;   /* 0x20 "20 ms" */
	uint32_t throttle;    /* 0x24 "100/s" */
	uint32_t select;      /* 0x28 "if-context" */
	uint32_t rsv;         /* 0x2C */
};

struct weft_event_type_field {
	uint32_t name;        /* 0x00 this and the next two: a text's offset */
	uint32_t label;       /* 0x04 */
	uint32_t description; /* 0x08 */
	uint16_t kind;        /* 0x0C enum weft_event_kind */
	uint16_t rsv;         /* 0x0E */
	uint32_t content;     /* 0x10 enum weft_event_content */
	uint32_t rsv2;        /* 0x14 */
};

/** In record.flags of an event. */
enum weft_event_record_flag {
	WEFT_EVENT_HAS_CONTEXT = 1 << 0,
	WEFT_EVENT_HAS_STACK = 1 << 1,
	WEFT_EVENT_IN_TSC = 1 << 2,     /* begin and end are the TSC's; else CLOCK_MONOTONIC ns */
	WEFT_EVENT_CUT_STRING = 1 << 3, /* a string was longer than WEFT_EVENT_STRING_MAX */
	WEFT_EVENT_NO_STACK = 1 << 4,   /* one was wanted and could not be had (room, bounds) */
};

struct weft_event_record {
	struct weft_record record; /* 0x00 rsv: number of the type */
	uint64_t begin;            /* 0x10 equal to end in an instant event */
	uint64_t end;              /* 0x18 */
};

/** The thread's context (weft/context.h) as the event was committed. */
struct weft_event_context {
	uint64_t span_id;                    /* 0x00 */
	uint64_t root_span_id;               /* 0x08 */
	uint8_t trace_id[16];                /* 0x10 */
	uint32_t trace_flags;                /* 0x20 */
	uint32_t label_bytes;                /* 0x24 of the labels that follow; 0 = none */
	uint64_t coroutine;                  /* 0x28 id of the one that ran; 0 = none */
	uint32_t tags[WEFT_CONTEXT_V1_TAGS]; /* 0x30 */
};
/** Most bytes of labels in an event. Labels without room are left out, in order, and counted. */
#define WEFT_EVENT_LABELS_BYTES 512

/** Fields as those of the same name in a sample; registers and copy, or pcs, follow. */
struct weft_event_stack {
	uint8_t stack;           /* 0x00 enum weft_sample_stack */
	uint8_t end;             /* 0x01 enum weft_stack_end */
	uint16_t register_count; /* 0x02 */
	uint32_t frame_count;    /* 0x04 */
	uint32_t map_number;     /* 0x08 */
	uint32_t copy_bytes;     /* 0x0C */
	uint64_t copy_address;   /* 0x10 */
	uint16_t sample_flags;   /* 0x18 enum weft_sample_flag */
	uint16_t rsv[3];         /* 0x1A */
};

WEFT_ABI_ASSERT(sizeof(struct weft_event_row) == WEFT_EVENT_ROW_BYTES, "event row");
WEFT_ABI_OFFSET(weft_event_row, flags, 0x00);
WEFT_ABI_OFFSET(weft_event_row, threshold_ns, 0x08);
WEFT_ABI_OFFSET(weft_event_row, threshold_tsc, 0x10);
WEFT_ABI_OFFSET(weft_event_row, throttle_count, 0x18);
WEFT_ABI_OFFSET(weft_event_row, throttle_window, 0x20);
WEFT_ABI_OFFSET(weft_event_row, used, 0x40);
WEFT_ABI_ASSERT(sizeof(struct weft_event_text) == 16, "event text");
WEFT_ABI_OFFSET(weft_event_text, seq, 0x00);
WEFT_ABI_OFFSET(weft_event_text, bytes, 0x08);
WEFT_ABI_ASSERT(sizeof(struct weft_event_type_head) == 0x30, "event type");
WEFT_ABI_OFFSET(weft_event_type_head, head_bytes, 0x00);
WEFT_ABI_OFFSET(weft_event_type_head, field_bytes, 0x02);
WEFT_ABI_OFFSET(weft_event_type_head, flags, 0x04);
WEFT_ABI_OFFSET(weft_event_type_head, field_count, 0x08);
WEFT_ABI_OFFSET(weft_event_type_head, text_bytes, 0x0C);
WEFT_ABI_OFFSET(weft_event_type_head, name, 0x10);
WEFT_ABI_OFFSET(weft_event_type_head, label, 0x14);
WEFT_ABI_OFFSET(weft_event_type_head, description, 0x18);
WEFT_ABI_OFFSET(weft_event_type_head, category, 0x1C);
WEFT_ABI_OFFSET(weft_event_type_head, threshold, 0x20);
WEFT_ABI_OFFSET(weft_event_type_head, throttle, 0x24);
WEFT_ABI_OFFSET(weft_event_type_head, select, 0x28);
WEFT_ABI_ASSERT(sizeof(struct weft_event_type_field) == 0x18, "event field");
WEFT_ABI_OFFSET(weft_event_type_field, name, 0x00);
WEFT_ABI_OFFSET(weft_event_type_field, label, 0x04);
WEFT_ABI_OFFSET(weft_event_type_field, description, 0x08);
WEFT_ABI_OFFSET(weft_event_type_field, kind, 0x0C);
WEFT_ABI_OFFSET(weft_event_type_field, content, 0x10);
WEFT_ABI_ASSERT(sizeof(struct weft_event_record) == 0x20, "event record");
WEFT_ABI_OFFSET(weft_event_record, begin, 0x10);
WEFT_ABI_OFFSET(weft_event_record, end, 0x18);
WEFT_ABI_ASSERT(sizeof(struct weft_event_context) == 0x58, "event context");
WEFT_ABI_OFFSET(weft_event_context, span_id, 0x00);
WEFT_ABI_OFFSET(weft_event_context, root_span_id, 0x08);
WEFT_ABI_OFFSET(weft_event_context, trace_id, 0x10);
WEFT_ABI_OFFSET(weft_event_context, trace_flags, 0x20);
WEFT_ABI_OFFSET(weft_event_context, label_bytes, 0x24);
WEFT_ABI_OFFSET(weft_event_context, coroutine, 0x28);
WEFT_ABI_OFFSET(weft_event_context, tags, 0x30);
WEFT_ABI_ASSERT(sizeof(struct weft_event_stack) == 0x20, "event stack");
WEFT_ABI_OFFSET(weft_event_stack, stack, 0x00);
WEFT_ABI_OFFSET(weft_event_stack, end, 0x01);
WEFT_ABI_OFFSET(weft_event_stack, register_count, 0x02);
WEFT_ABI_OFFSET(weft_event_stack, frame_count, 0x04);
WEFT_ABI_OFFSET(weft_event_stack, map_number, 0x08);
WEFT_ABI_OFFSET(weft_event_stack, copy_bytes, 0x0C);
WEFT_ABI_OFFSET(weft_event_stack, copy_address, 0x10);
WEFT_ABI_OFFSET(weft_event_stack, sample_flags, 0x18);

#ifdef __cplusplus
}
#endif
#endif
