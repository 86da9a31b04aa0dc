/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file publish.h
 * In which formats a process shows its contexts and labels, and what OpenTelemetry's readers
 * are told about it. For the whole process. NOT for signal handlers: system calls and a lock
 * that is private to the process. By environment: WEFT_PUBLISH=v1,labels,otel.
 */
#ifndef WEFT_PUBLISH_H
#define WEFT_PUBLISH_H

#include <weft/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Formats. Default: v1 and labels. */
enum weft_format {
	/** weft/abi/context_v1.h: what weft's own samples and `weft inspect` read. The record is
	 * also what the other formats are made from: off, it is still written, but not shown. */
	WEFT_FORMAT_V1 = 1 << 0,
	/** weft/abi/custom_labels_v1.h; costs nothing unless libcustomlabels-weft.so is loaded. */
	WEFT_FORMAT_LABELS = 1 << 1,
	/** weft/abi/otel_thread_context.h, with its process context. Not by default: a process
	 * has one publisher, and a guest should not come before the program's own. */
	WEFT_FORMAT_OTEL = 1 << 2,
};

/**
 * weft_publish_select() - from now on these formats are on. What a format shows that goes off
 * is withdrawn: of the calling thread at once, of others at their next write.
 * @formats: enum weft_format bits.
 * Returns the bits that are on, or -EINVAL (unknown bits), -ENOTCONN (no session could be made).
 * OTEL is not among them when its process context could not be made, or another library has
 * both that and the threads' symbol; with one of the two, the other is weft's.
 */
WEFT_API int weft_publish_select(unsigned int formats);

/** weft_publish_selected() - the bits that are on. */
WEFT_API unsigned int weft_publish_selected(void);

/**
 * weft_otel_resource() - a resource attribute of the process context: `service.name`, ...
 * @key: 1 .. 255 bytes; @value: up to 4096 bytes, UTF-8; NULL: remove.
 * Goes before OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. Republishes if OTEL is on. Defaults:
 * service.name, service.instance.id (random; another one in each forked child) and telemetry.sdk.*.
 * 0, -EINVAL, -ENOSPC (28 KiB are full), -EBUSY (another library publishes).
 */
WEFT_API int weft_otel_resource(const char *key, const char *value);

/**
 * weft_otel_options() - before OTEL is switched on; NULL leaves as it is.
 * @root_key: under which the local root span goes out, default "datadog.local_root_span_id"
 *            (WEFT_OTEL_ROOT_KEY); "" = not at all.
 * @schema: "tlsdesc_v1_dev" (default) or "tls_v1" (WEFT_OTEL_SCHEMA).
 * 0, -EINVAL, -EBUSY (it is on already).
 */
WEFT_API int weft_otel_options(const char *root_key, const char *schema);

#ifdef __cplusplus
}
#endif
#endif
