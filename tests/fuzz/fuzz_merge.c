/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a recording, merged with itself under settings. What is written is
 * a whole recording, with as many events as were kept, and without settings with all that can be
 * read.
 */
#include "base/recording.h"
#include "jfr/merge/merge.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int any_damaged;

static void damaged(const char *path, const char *why)
{
	(void)path;
	if (!*why)
		abort();
	any_damaged = 1;
}

static void wrong_select(const char *event)
{
	(void)event;
}

static uint64_t count(const char *path, int may_be_damaged)
{
	struct weft_jfr_reader *r = weft_jfr_open(path);
	struct weft_jfr_event_view e;
	uint64_t events = 0;

	if (!r)
		abort();
	while (weft_jfr_next(r, &e) > 0)
		events++;
	if (!may_be_damaged && r->rc != 0) {
		fprintf(stderr, "written: %s\n", weft_jfr_error(r));
		abort();
	}
	weft_jfr_reader_free(r);
	return events;
}

static void merge(const char *from, const char *to, size_t files, const char *lines)
{
	const char *paths[] = {from, from};
	struct merge m = {.paths = paths,
			  .count = files,
			  .output = open(to, O_RDWR | O_TRUNC | O_CLOEXEC),
			  .lines = lines,
			  .damaged = damaged,
			  .wrong_select = wrong_select};
	int rc;

	any_damaged = 0;
	if (m.output < 0)
		abort();
	rc = merge_run(&m);
	close(m.output);
	if (rc != 0)
		return;
	if (m.kept > m.events)
		abort();
	if (!*lines && !any_damaged && count(from, 0) * files != m.kept)
		abort();
	if (!*lines && count(to, 0) != m.kept)
		abort();
	if (*lines && count(to, 0) < m.kept)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int from = memfd_create("from", 0), to = memfd_create("to", 0);
	char from_path[40], to_path[40];

	if (from < 0 || to < 0 || write(from, data, size) != (ssize_t)size)
		abort();
	snprintf(from_path, sizeof(from_path), "/proc/self/fd/%d", from);
	snprintf(to_path, sizeof(to_path), "/proc/self/fd/%d", to);
	/* one of them in turn, for they are slow; the last byte is behind the last chunk */
	switch (size ? data[size - 1] % 4 : 0) {
	case 0:
		merge(from_path, to_path, 1, "");
		break;
	case 1:
		merge(from_path, to_path, 2, "");
		break;
	case 2:
		merge(from_path, to_path, 1, "*#select=if-context\n*#throttle=2/s\n");
		break;
	default:
		merge(from_path, to_path, 2,
		      "*#select=if-triggered\n*#threshold=1 ns\nE#enabled=false\n"
		      "*#stackTrace=false\n");
	}
	close(from);
	close(to);
	return 0;
}
