/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's process context of a program that knows nothing of weft, published by the letter:
 * its time is 0 while it changes.
 */
#ifndef WEFT_TEST_STRANGER_PROCESS_H
#define WEFT_TEST_STRANGER_PROCESS_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <weft/abi/otel_process_context.h>

/* Its page, without a payload so far; NULL: it cannot be had. */
static inline struct weft_otel_process_header *stranger_process_map(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct weft_otel_process_header *h;

	if (fd < 0 || ftruncate(fd, 4096))
		return NULL;
	h = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		return NULL;
	memcpy(h->signature, WEFT_OTEL_PROCESS_SIGNATURE, sizeof(h->signature));
	h->version = WEFT_OTEL_PROCESS_VERSION;
	return h;
}

/* At @time_ns, which is another one each time. @payload has to stay. */
static inline void stranger_process_publish(struct weft_otel_process_header *h, const void *payload,
					    size_t bytes, uint64_t time_ns)
{
	__atomic_store_n(&h->published_ns, 0, __ATOMIC_SEQ_CST);
	h->payload = (uint64_t)(uintptr_t)payload;
	h->payload_bytes = (uint32_t)bytes;
	__atomic_store_n(&h->published_ns, time_ns, __ATOMIC_SEQ_CST);
	prctl(0x53564d41, 0, h, 4096, "OTEL_CTX"); /* PR_SET_VMA, PR_SET_VMA_ANON_NAME */
}

#endif
