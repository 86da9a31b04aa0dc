/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a sample to the code addresses of its stack: walks what the handler copied, by the
 * tables of the modules that the process has mapped, or takes the frames that it walked
 * itself. Used by the walker thread. What comes out needs nothing more of the process's
 * mappings, which may have changed when it is named (naming.h).
 */
#ifndef WEFT_COLLECTOR_WALKING_H
#define WEFT_COLLECTOR_WALKING_H

#include "collector/process/label_sets.h"
#include "collector/process/process.h"
#include "collector/process/queue.h"
#include "collector/walk/modules.h"

#include <weft/abi/events.h>

struct walking {
	struct modules *modules;
	struct tables *tables;
	size_t jit_budget; /* what is left of JIT_BUDGET_BYTES */
};

/* One frame. The address is what is to be looked up: for a return address the last byte of
 * the call. */
struct walked_frame {
	const struct code *code; /* NULL: in no file; &walked_jit_code: see below */
	uint64_t address;        /* in the file; the number of a struct walked_jit */
};

/* How far into its function, as frames have it. */
static inline int32_t offset_in(uint64_t address, uint64_t start)
{
	uint64_t offset = address >= start ? address - start : 0;

	return offset < INT32_MAX ? (int32_t)offset : INT32_MAX;
}

/* Names of JIT code are found when walking, for its address is used again. */
struct walked_jit {
	const char *function, *file; /* live as long as the process; file NULL = not known */
	int32_t line, offset;
};
extern const struct code walked_jit_code;

/* What became of a stack: frame_count struct walked_frame follow, then jit_count struct
 * walked_jit. */
struct walked_stack {
	_Alignas(8) uint16_t frame_count;
	uint16_t jit_count;
	uint8_t truncated;
	uint8_t cut, check; /* 1 + the counter of the process that it counts in; 0 = none */
	uint8_t scanned;    /* a frame pointer was found by frame_scan.h: FP_SCANNED */
};

static inline const struct walked_frame *walked_frames(const struct walked_stack *s)
{
	return (const struct walked_frame *)(s + 1);
}

static inline const struct walked_jit *walked_jits(const struct walked_stack *s)
{
	return (const struct walked_jit *)(walked_frames(s) + s->frame_count);
}

static inline size_t walked_stack_bytes(const struct walked_stack *s)
{
	return sizeof(*s) + s->frame_count * sizeof(struct walked_frame) +
	       s->jit_count * sizeof(struct walked_jit);
}

#define WALKED_STACK_MAX                                                                           \
	(sizeof(struct walked_stack) +                                                             \
	 WEFT_FRAMES_MAX * (sizeof(struct walked_frame) + sizeof(struct walked_jit)))

/* A sample, and its stack without the copy: a record of BATCH_WALKED, 8-aligned. */
struct walked_sample {
	struct weft_sample_record sample; /* as it came, without what followed it */
	uint32_t bytes;                   /* of all */
	uint32_t rsv;
	/* then sample.label_bytes of labels, padded to 8, and what other libraries publish, as in
	 * the record (abi/sample_parts.h) */
	struct walked_stack stack;
};

#define WALKED_PUBLISHED_MAX                                                                       \
	(2 * sizeof(struct weft_sample_published) + WEFT_SAMPLE_PUBLISHED_BYTES +                  \
	 WEFT_SAMPLE_PUBLISHED_SET_BYTES)
#define WALKED_BYTES_MAX                                                                           \
	(sizeof(struct walked_sample) + WALKED_STACK_MAX + LABEL_BYTES_MAX + 8 +                   \
	 WALKED_PUBLISHED_MAX)

static inline const uint8_t *walked_labels(const struct walked_sample *w)
{
	return (const uint8_t *)&w->stack + walked_stack_bytes(&w->stack);
}

/* One of the parts; NULL: there is none. Behind it: its bytes. */
const struct weft_sample_published *walked_published(const struct walked_sample *w,
						     enum weft_sample_flag which);

/*
 * walking_sample() - @sample, of which every length was checked, to @out, which has room for
 * WALKED_BYTES_MAX. @now_ns: for the pace of looking at the mappings.
 */
void walking_sample(struct walking *s, struct process *p, const struct weft_sample_record *sample,
		    uint64_t now_ns, struct walked_sample *out);

/* What each record of BATCH_PLACED begins with. 8-aligned. */
struct placed_head {
	uint32_t bytes; /* of all */
	uint32_t type;  /* enum weft_record_type: of which struct it is the head */
};

/* A switch of a coroutine, and the code where it suspended. */
struct walked_switch {
	struct placed_head head;
	struct weft_switch_record record; /* as it came; record.rsv bytes of labels behind this */
	uint32_t tags[WEFT_CONTEXT_V1_TAGS];
	struct walked_frame site; /* code NULL: in no file; &walked_jit_code: see jit */
	struct walked_jit jit;
};

#define WALKED_SWITCH_MAX (sizeof(struct walked_switch) + WEFT_SWITCH_LABELS_BYTES + 8)

static inline const uint8_t *walked_switch_labels(const struct walked_switch *w)
{
	return (const uint8_t *)(w + 1);
}

/* Places that were met in one batch, each looked up once. */
#define PLACED_ROOM 64
struct placed {
	uint64_t addr; /* 0 = none */
	struct walked_frame site;
	struct walked_jit jit;
};

/*
 * walking_place() - @record, of which every length was checked, to @out, which has room for
 * WALKED_SWITCH_MAX. @seen: PLACED_ROOM of them, zeros before the first of a batch.
 */
void walking_place(struct walking *s, struct process *p, const struct weft_switch_record *record,
		   uint64_t now_ns, struct placed *seen, struct walked_switch *out);

/* An event, and its stack without the copy. */
struct walked_event {
	struct placed_head head;
	uint64_t begin_ns, end_ns;         /* CLOCK_MONOTONIC */
	struct weft_event_context context; /* zeros without one */
	uint32_t number;                   /* of its type */
	uint32_t values_bytes;             /* behind this */
	uint32_t stack_bytes;              /* of a struct walked_stack behind them; 0 = none */
	uint32_t rsv;                      /* then context.label_bytes of labels, padded to 8 */
};

static inline const uint8_t *walked_event_values(const struct walked_event *e)
{
	return (const uint8_t *)(e + 1);
}

/* NULL: it has none. */
static inline const struct walked_stack *walked_event_stack(const struct walked_event *e)
{
	return e->stack_bytes ? (const void *)(walked_event_values(e) + e->values_bytes) : NULL;
}

static inline const uint8_t *walked_event_labels(const struct walked_event *e)
{
	return walked_event_values(e) + e->values_bytes + e->stack_bytes;
}

/*
 * walking_event() - @event of BATCH_EVENTS. Returns its labels; NULL: none. @out: all but the
 * values, which follow its record. Its stack, if it has one, to @stack, which has room for
 * WALKED_STACK_MAX.
 */
const uint8_t *walking_event(struct walking *s, struct process *p,
			     const struct checked_event *event, uint64_t now_ns,
			     struct walked_event *out, struct walked_stack *stack);

/* For a sample that is walked later: if it met code in no known module, the mappings are read now,
 * while that code is there. */
void walking_notice(struct walking *s, struct process *p, const struct weft_sample_record *sample,
		    uint64_t now_ns);

/* In own_frames.c. Sets hidden[i] to 1 for each frame from @first on that is to be left out, leaf
 * first; the rest to 0. Returns how many are hidden. @hidden: one byte a frame of the stack. */
size_t own_frames_hide(const struct walked_stack *stack, size_t first, uint8_t *hidden);

#endif
