/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a recording that grows. The last byte says in how large steps;
 * in a step the file becomes longer, and what is at its start (the header of an open chunk) may
 * be written once more.
 */
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_EVENTS 100000 /* in a step: more than there are bytes would be events from nowhere */

static int file = -1;

static int read_on(struct weft_jfr_reader *r)
{
	struct weft_jfr_event_view e;
	int rc, events = 0;

	while ((rc = weft_jfr_next(r, &e)) == 1)
		if (++events > MOST_EVENTS)
			abort();
	return rc;
}

static void put(const uint8_t *data, size_t bytes, size_t at)
{
	if (pwrite(file, data, bytes, (off_t)at) != (ssize_t)bytes)
		abort();
}

/* The header of the second half is that of a later flush. */
static void grow(struct weft_jfr_reader *r, const uint8_t *data, size_t size, size_t step)
{
	int rc = -EAGAIN;

	for (size_t at = 0; at < size && rc != -EBADMSG; at += step) {
		put(data + at, size - at < step ? size - at : step, at);
		rc = read_on(r);
		if (rc != -EAGAIN && rc != -EBADMSG && rc != 0)
			abort();
	}
	if (size > 2 * CHUNK_HEADER_BYTES && rc != -EBADMSG) {
		put(data + size - CHUNK_HEADER_BYTES, CHUNK_HEADER_BYTES, 0);
		read_on(r);
	}
	weft_jfr_follow_ends(r);
	rc = read_on(r);
	if (rc != 0 && rc != -EBADMSG)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct weft_jfr_reader *r;
	char path[32];

	if (size < 2)
		return 0;
	if (file < 0)
		file = memfd_create("recording", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, 0) != 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	r = weft_jfr_open_follow(path);
	if (!r)
		abort();
	grow(r, data, size, 16 + (size_t)data[size - 1] * 8);
	weft_jfr_reader_free(r);
	return 0;
}
