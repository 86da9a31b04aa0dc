/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a JFR file as ids of the model. Threads, methods, stacks and states are decoded once
 * for each pool key of a chunk; in another chunk the same key may stand for something else.
 */
#ifndef WEFT_REPORT_DECODE_H
#define WEFT_REPORT_DECODE_H

#include "report/read/model.h"

#include <weft/jfr.h>

/* What of a frame is decoded beside function and module: each makes more stacks distinct. */
enum decode_detail {
	DECODE_LINES = 1 << 0,      /* file, line, whether it is inlined */
	DECODE_OFFSETS = 1 << 1,    /* offset in the function */
	DECODE_NO_INLINES = 1 << 2, /* inlined frames are left out */
};

struct decoded_method {
	uint32_t function, module, file;
};

struct decoder {
	struct model *model;
	unsigned int detail; /* enum decode_detail; DECODE_LINES at first */
	uint32_t process;    /* of threads whose group does not name one */
	uint64_t chunk;
	struct map *known;             /* enum decode_kind and pool key -> id, of this chunk */
	struct decoded_method *method; /* [id - 1] */
	uint32_t method_count;
	size_t method_room;
	struct frame *frames; /* of the stack that is being decoded */
	size_t frame_room;
};

void decoder_free(struct decoder *d);
/* Before decoding anything of an event. 0 or -ENOMEM. */
int decoder_enter(struct decoder *d, uint64_t chunk);

/* In all of these @n may be NULL, or null in the file: the result is 0, or "". */
uint32_t decode_thread(struct decoder *d, const struct weft_jfr_node *n);
uint32_t decode_stack(struct decoder *d, const struct weft_jfr_node *n);
/* The state of a thread: "sleeping" for STATE_SLEEPING. */
uint32_t decode_state(struct decoder *d, const struct weft_jfr_node *n);
/* A value as people read it. */
uint32_t decode_text(struct decoder *d, const struct weft_jfr_node *n);
/* "java.lang.Object": a class, as its methods are named. */
uint32_t decode_class(struct decoder *d, const struct weft_jfr_node *n);
/* The id of a span or trace in hex; 0 for an id of zeros. */
uint32_t decode_hex_id(struct decoder *d, const struct weft_jfr_node *n);
/* The number by which events of one thread find each other; 0 = no thread. */
uint64_t decode_thread_key(const struct weft_jfr_node *n);

struct weft_jfr_string decode_string(const struct weft_jfr_node *n);
int64_t decode_number(const struct weft_jfr_node *n, int64_t otherwise);

#endif
