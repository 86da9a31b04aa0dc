/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every report and export works on, whatever file it came from: samples whose names, threads
 * and stacks are numbers. The model owns what the numbers stand for. Ids are dense and start at 1;
 * 0 means "absent". Nothing here knows JFR.
 */
#ifndef WEFT_REPORT_MODEL_H
#define WEFT_REPORT_MODEL_H

#include "report/read/interval.h"
#include "report/read/names.h"
#include "report/read/resources.h"

#include <stddef.h>
#include <stdint.h>

/* Keys of contexts: the ids of a trace and of a coroutine have fixed ones; then follow names of
 * tags, and keys of labels with this prefix. */
enum { CONTEXT_SPAN = 1, CONTEXT_ROOT, CONTEXT_TRACE, CONTEXT_COROUTINE, CONTEXT_TAGS };
#define CONTEXT_LABEL_PREFIX "label:"

#define WAITS_MODULE "libweft-waits.so"

#define KEY_NONE "(none)"
#define KEY_EMPTY "(empty)" /* a label without a value is one with an empty value */

#define CONTEXT_ITEMS 48

struct context_item {
	uint32_t key;   /* id in model.keys */
	uint32_t type;  /* simple name of the event type that it came from; id in model.names */
	uint32_t value; /* id in model.names, never 0 */
};

struct context {
	uint32_t count, cut;                     /* cut: items for which there was no room */
	struct context_item item[CONTEXT_ITEMS]; /* innermost first */
};

struct frame {
	uint32_t function, module; /* ids in model.names; module 0 = not known */
	uint32_t file;             /* source file, id in model.names; 0 = not known */
	int32_t line;              /* 0 = not known */
	int32_t offset;            /* of the code in its real function; native code only */
	uint32_t inlined;          /* is it inlined into the frame that follows? */
};

/* A line of source code, in the function that it is part of. */
struct source_line {
	uint32_t function, file; /* ids in model.names */
	int32_t line;            /* 0 = not known */
};

#define STACK_FRAMES_MAX 4096 /* the JVM's limit is 2048 */

struct stack {
	struct frame *frames; /* leaf first */
	uint32_t count;
	uint32_t truncated;
	uint32_t path;  /* what model_path() found out; 0 = it was not asked yet */
	uint32_t below; /* likewise model_below() */
};

struct thread {
	uint32_t name;    /* "worker" */
	uint32_t key;     /* "worker [1234]" */
	uint32_t process; /* "demo [1200]"; 0 = not known */
};

/* What the event is that a sample was made of: bits. */
enum sample_kind {
	SAMPLE_COUNTED = 1 << 0,   /* of a type that was chosen to be counted */
	SAMPLE_TIMED = 1 << 1,     /* lasted for a time, and is no context */
	SAMPLE_WAITED = 1 << 2,    /* a wait of its thread */
	SAMPLE_CONTEXT = 1 << 3,   /* is a context of others */
	SAMPLE_OF_THREAD = 1 << 4, /* of a type that has the thread */
	SAMPLE_ON_CPU = 1 << 5,    /* a sample of CPU time */
	SAMPLE_BY_CLOCK = 1 << 6,  /* a sample of time that passes */
};

struct sample {
	int64_t time_ns;     /* epoch */
	int64_t duration_ns; /* of the event; 0 = none */
	uint64_t weight_ns;  /* 0 = not known */
	unsigned int kinds;
	uint32_t type;       /* of the event: its name's id in model.names */
	uint64_t thread_key; /* by which contexts are found; 0 = no thread */
	uint64_t times;      /* as many samples it is; more than 1 only for a stay */
	uint32_t thread, stack;
	uint32_t state; /* of the thread: "runnable", "sleeping"; 0 = not known */
	uint32_t site;  /* where a coroutine suspended; 0 = nowhere, or it is no such event */
	uint32_t own;   /* as many items of the context, the first, are the event's own fields */
	struct draws draws; /* by weight_ns, or by times where that is 0: see interval.h */
	struct context context;
};

/* So many samples, and what they weigh. */
struct amount {
	uint64_t samples, ns;
	struct draws draws; /* of which the errors of shares follow */
};

/* What is counted of a function, a path, a line: the samples that it is on the stack of, each of
 * them once, and those that ran in it themselves. */
struct weight {
	struct amount total, self;
	uint64_t last; /* number of the last sample counted in total */
};

struct model {
	struct names names;
	struct names keys; /* of contexts; the fixed ones are the first four */
	struct resources resources;
	struct map *stack_index;
	struct stack *stacks;
	uint32_t stack_count;
	size_t stack_room;
	struct map *thread_index;
	struct thread *threads;
	uint32_t thread_count;
	size_t thread_room;
	struct map *line_index;
	struct source_line *lines;
	uint32_t line_count;
	size_t line_room;
	int failed; /* out of memory somewhere; names.failed and keys.failed count too */
};

int model_init(struct model *m); /* 0 or -ENOMEM */
void model_free(struct model *m);
int model_error(const struct model *m); /* 0 or -ENOMEM: anything that failed so far */

/* Equal arguments give equal ids. A stack of no frames is a stack too. */
uint32_t model_stack(struct model *m, const struct frame *frames, uint32_t count, int truncated);
/* The stack of the same functions without modules and lines: equal for equal call paths. */
uint32_t model_path(struct model *m, uint32_t stack);
/* The stack without its innermost frames, as far as they are of weft's library for waits. */
uint32_t model_below(struct model *m, uint32_t stack);
uint32_t model_thread(struct model *m, const struct thread *thread);
uint32_t model_line(struct model *m, const struct frame *frame);

const struct stack *model_stack_at(const struct model *m, uint32_t id);
const struct thread *model_thread_at(const struct model *m, uint32_t id);
const struct source_line *model_line_at(const struct model *m, uint32_t id);

/* What people call a key: "span", a tag's name, "label:KEY". */
const char *context_key_name(const struct model *m, uint32_t key);

/* Adds an item unless there is one of the same key and type: the innermost is added first. */
void context_add(struct context *c, struct context_item item);
/* The innermost value of a key; with @type not 0 only from events of that type. 0: none. */
uint32_t context_value(const struct context *c, uint32_t key, uint32_t type);

void amount_count(struct amount *a, const struct sample *s);
void amount_add(struct amount *to, const struct amount *more);
/* What @whole is divided by: its time if it has any, else samples. */
uint64_t amount_of(const struct amount *part, const struct amount *whole);
/* By time, then by samples, for qsort(): the heavier one first. */
int amount_order(const struct amount *a, const struct amount *b);
/* Samples are numbered from 1, in the order in which they are counted. */
void weight_count(struct weight *w, const struct sample *s, uint64_t number, int is_self);

#endif
