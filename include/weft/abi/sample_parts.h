/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sample_parts.h
 * What may follow the fixed part of a sample and its stack (session.h): labels, then what another
 * library publishes of the thread. Host endian.
 *
 * Another library's context
 *
 *   found      by the collector, from outside, once per process and again when its mappings have
 *              changed: where each variable lies (struct weft_published). That of a module of
 *              weft's own does not count
 *   read       by the handler, on the thread that it has interrupted, as bytes and without
 *              believing a pointer or a length; no page is asked for but those that the format
 *              promises
 *   whole      as its writer is the interrupted thread: at each instruction the record is whole, or
 *              says that it is not valid, and then it is left out
 *   decoded    by the collector, which has the key map. It believes no length
 *   dies       the collector: what it stored stays, is read only while a recording runs, and the
 *              next one begins without. The library (dlclose): the word is another's, or zero,
 *              until the collector has seen it; what it then leads to is read as below
 *
 * Ways to read what a pointer leads to in a handler, and why two of them are used:
 *
 *   way                                                 costs      is it safe?
 *   load it: the format promises that it is there       nothing    no: a pointer stays behind when
 *                                                                  its page goes, and kills
 *   load it if the collector has seen it mapped         nothing    no: it may go in between
 *   likewise, and hooks tell of what is unmapped        nothing    no: libc's own unmapping and
 *                                                                  raw system calls pass by hooks
 *   ask the kernel whether it is there, then load it    one call   no: it may go in between
 *   load it, and catch SIGSEGV                          nothing    takes that signal from a program
 *   as last time, if the pointer is the same            nothing    yes, but wrong: writers use a
 *                                                                  record's memory again
 * * the thread's known stack, or its static TLS: load    nothing    yes: they live with the thread
 * * all else: process_vm_readv of the process itself    one call   yes: it fails instead
 *
 * So a record in a thread's own variable or on its stack costs no call, one on the heap one; a set
 * of Custom Labels, a chain of three, up to three, and two more for each four labels beyond the
 * first four; a record of Node.js, at the end of a walk over its heap (otel_nodejs_context.h), up
 * to six as a rule, one while nothing runs; a variable that lies in no static TLS two more. Each is
 * counted (context_self_read).
 * In programs that filter their system calls the stack and static TLS are all there is. Whatever
 * could not be read is left out, and the sample says so (WEFT_SAMPLE_UNREADABLE).
 */
#ifndef WEFT_ABI_SAMPLE_PARTS_H
#define WEFT_ABI_SAMPLE_PARTS_H

#include "context_v1.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Labels in a sample record: written once per change, by the first sample after it. Samples of the
 * same slot and generation with the same label_generation have the same labels; its top byte is
 * the lowest of header.attach_number, so that a collector that attaches later gets them again. Each
 * label: this header, then key and value, not padded. `span-id` and `root-span-id` are not among
 * them. Labels without room are left out, in order, and counted. Of equal keys the first counts. In
 * a sample from outside they are that sample's alone.
 */
struct weft_sample_label {
	uint16_t key_bytes;   /* 0x00 1 .. 128 (of a program's own set: cut there) */
	uint16_t value_bytes; /* 0x02 0 .. 256 */
};
/** How many labels of a set are looked at, absent ones too, and the most bytes that they take. */
#define WEFT_SAMPLE_LABELS_MAX 64
#define WEFT_SAMPLE_LABELS_BYTES (WEFT_SAMPLE_LABELS_MAX * (4 + 128 + 256))

/** Where a thread-local variable lies. Each word is stored and loaded as one. */
struct weft_published_variable {
	/* 0 = there is none. The distance from the thread pointer in bits 0 .. 39, signed, and 0
	 * above; or, if it is in no static TLS, the module's number in bits 40 .. 63, and the
	 * distance from that module's block. */
	uint64_t at;         /* 0x00 */
	uint64_t generation; /* 0x08 glibc: a DTV that is older holds another module's block there
			      */
};
#define WEFT_PUBLISHED_MODULE_SHIFT 40

/** A distance that is greater, or not a multiple of 8, is none. */
#define WEFT_PUBLISHED_REACH (INT64_C(64) << 20)

/** Whose dynamic thread vectors they are: how a module's number leads to its block. */
enum weft_published_dtv {
	WEFT_PUBLISHED_NO_DTV = 0,
	WEFT_PUBLISHED_DTV_GLIBC = 1,
	WEFT_PUBLISHED_DTV_MUSL = 2,
};

/** In the session's header. */
struct weft_published {
	struct weft_published_variable otel;   /* 0x00 otel_thread_ctx_v1 */
	struct weft_published_variable labels; /* 0x10 custom_labels_current_set */
	/* Static TLS of every thread reaches at least so far from the thread pointer; 0 = not
	 * known. */
	int64_t tls_edge; /* 0x20 */
	uint32_t dtv;     /* 0x28 enum weft_published_dtv */
	/* How the heap is laid out to which otel_thread_ctx_nodejs_v1 leads: a layout of
	 * otel_nodejs_context.h. */
	uint32_t nodejs_layout;                /* 0x2C */
	struct weft_published_variable nodejs; /* 0x30 it; looked at where otel leads to nothing */
};

/**
 * From labels_at on, behind the labels, which are padded to 8 (label_bytes may be 0), up to the end
 * of the sample; each this header and what it says, padded to 8:
 * with WEFT_SAMPLE_PUBLISHED      a whole record of OpenTelemetry's thread context with valid = 1
 *                                 (abi/otel_thread_context.h), the thread's own or Node.js's
 * with WEFT_SAMPLE_PUBLISHED_SET  labels of a set of Custom Labels, each as a struct
 *                                 weft_sample_label; span-id and root-span-id are among them
 */
struct weft_sample_published {
	/* Of a record 28 .. WEFT_SAMPLE_PUBLISHED_BYTES: attributes beyond are cut off. Of a set
	 * 1 .. WEFT_SAMPLE_PUBLISHED_SET_BYTES. */
	uint32_t bytes; /* 0x00 */
	uint32_t rsv;   /* 0x04 */
};
#define WEFT_SAMPLE_PUBLISHED_BYTES 640
/** Labels of a set that are looked at, absent ones too. Those without room are left out, in order.
 */
#define WEFT_SAMPLE_PUBLISHED_LABELS 32
#define WEFT_SAMPLE_PUBLISHED_SET_BYTES 2048

WEFT_ABI_ASSERT(sizeof(struct weft_sample_label) == 4, "sample label");
WEFT_ABI_ASSERT(sizeof(struct weft_published_variable) == 16, "published variable");
WEFT_ABI_ASSERT(sizeof(struct weft_published) == 64, "published");
WEFT_ABI_ASSERT(offsetof(struct weft_published, labels) == 0x10, "published labels");
WEFT_ABI_ASSERT(offsetof(struct weft_published, tls_edge) == 0x20, "published edge");
WEFT_ABI_ASSERT(offsetof(struct weft_published, dtv) == 0x28, "published dtv");
WEFT_ABI_ASSERT(offsetof(struct weft_published, nodejs_layout) == 0x2C, "published layout");
WEFT_ABI_ASSERT(offsetof(struct weft_published, nodejs) == 0x30, "published nodejs");
WEFT_ABI_ASSERT(sizeof(struct weft_sample_published) == 8, "sample published");

#ifdef __cplusplus
}
#endif
#endif
