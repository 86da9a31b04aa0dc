/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file publish.h
 * In which formats a process publishes its contexts and labels, and what OpenTelemetry's readers
 * are told about the process. NOT for signal handlers: system calls, and a lock of the process.
 * Formats are also selected by the environment: WEFT_PUBLISH=v1,labels,otel.
 */
#ifndef WEFT_PUBLISH_H
#define WEFT_PUBLISH_H

#include <weft/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Formats. Default: v1 and labels. */
enum weft_format {
	/** weft/abi/context_v1.h: what weft's own samples and `weft inspect` read. The other
	 * formats are made from it, so it is written even if it is off, but not recorded. */
	WEFT_FORMAT_V1 = 1 << 0,
	/** weft/abi/custom_labels_v1.h; costs nothing unless libcustomlabels-weft.so is loaded. */
	WEFT_FORMAT_LABELS = 1 << 1,
	/** weft/abi/otel_thread_context.h, with its process context. Not by default: a process has
	 * one publisher, and the program's own should come first. */
	WEFT_FORMAT_OTEL = 1 << 2,
};

/**
 * weft_publish_select() - from now on these formats are on. What the others have published is
 * withdrawn: of the calling thread at once, of other threads at their next write.
 * @formats: enum weft_format bits.
 * Returns the bits that are on, or -EINVAL (unknown bits), -ENOTCONN (no session could be made).
 * OTEL is not among them if its process context could not be made, or if another library
 * publishes both that and the threads' contexts; if it publishes one of them, weft does the other.
 */
WEFT_API int weft_publish_select(unsigned int formats);

/** weft_publish_selected() - the bits that are on. */
WEFT_API unsigned int weft_publish_selected(void);

/**
 * weft_otel_resource() - sets a resource attribute of the process context: `service.name`, ...
 * @key: 1 .. 255 bytes; @value: up to 4096 bytes, UTF-8; NULL removes it.
 * It overrides OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, and is published if OTEL is on.
 * Defaults: service.name, service.instance.id (random; another one in each forked child) and
 * telemetry.sdk.*.
 * Returns 0, -EINVAL, -ENOSPC (28 KiB are full), -EBUSY (another library publishes).
 */
WEFT_API int weft_otel_resource(const char *key, const char *value);

/**
 * weft_otel_options() - options of OTEL, before it is switched on. NULL: unchanged.
 * @root_key: the key of the local root span, by default "datadog.local_root_span_id"
 *            (WEFT_OTEL_ROOT_KEY); "" = it is not published.
 * @schema: "tlsdesc_v1_dev" (default) or "tls_v1" (WEFT_OTEL_SCHEMA).
 * Returns 0, -EINVAL, -EBUSY (it is on already).
 */
WEFT_API int weft_otel_options(const char *root_key, const char *schema);

#ifdef __cplusplus
}
#endif
#endif
