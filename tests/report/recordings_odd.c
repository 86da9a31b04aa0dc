/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that no writer makes, and that a reader must bear: a contextual field whose name is
 * empty, around one sample, and times of a thread that the file does not name.
 */
#include "recordings.h"
#include "recordings_make.h"

#include "base/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMED "\003\001~"       /* UTF-8, one byte: the field as it is written */
#define NAMELESS "\003\200\000" /* UTF-8, no byte, by a number that is padded */

static const struct weft_jfr_field time_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = RECORDING_FIELD_PROCESS, .kind = WEFT_JFR_STRING},
	{.name = RECORDING_FIELD_RUNNING, .kind = WEFT_JFR_LONG},
	{.name = RECORDING_FIELD_BLOCKED, .kind = WEFT_JFR_LONG},
};

static const struct weft_jfr_field work_fields[] = {
	{.name = "startTime", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESTAMP},
	{.name = "duration", .kind = WEFT_JFR_LONG, .flags = WEFT_JFR_TIMESPAN},
	{.name = "eventThread", .kind = WEFT_JFR_THREAD},
	{.name = "~", .kind = WEFT_JFR_STRING, .flags = WEFT_JFR_CONTEXTUAL},
};

static int odd_put(struct weft_jfr_writer *w, const struct weft_jfr_type *type,
		   const struct weft_jfr_value *values, size_t count)
{
	return weft_jfr_event(w, type, values, count) < 0;
}

static int odd_period(struct weft_jfr_writer *w, const struct weft_jfr_type *of)
{
	struct weft_jfr_value v[] = {number(START_MONO), number((uint64_t)weft_jfr_type_id(of)),
				     text(RECORDING_SETTING_PERIOD), text("5000000 ns")};

	return odd_put(w, weft_jfr_standard_type(w, WEFT_JFR_ACTIVE_SETTING), v, COUNT(v));
}

static int odd_fill(struct weft_jfr_writer *w)
{
	const struct weft_jfr_thread main_thread = {.os_id = 10, .name = "main", .group = "a [10]"};
	struct weft_jfr_type *cpu = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	struct weft_jfr_type *wall = weft_jfr_standard_type(w, WEFT_JFR_WALL_CLOCK_SAMPLE);
	uint64_t thread = weft_jfr_thread(w, &main_thread, 0);
	struct weft_jfr_value sample[] = {number(START_MONO + 5 * MS), number(thread), number(0),
					  number(WEFT_JFR_STATE_RUNNABLE)};
	struct weft_jfr_value look[] = {number(START_MONO + 5 * MS), number(thread), number(0),
					number(WEFT_JFR_STATE_RUNNABLE), number(1)};
	struct weft_jfr_value work[] = {number(START_MONO), number(10 * MS), number(thread),
					text("nameless")};
	struct weft_jfr_value times[] = {number(START_MONO), number(0), text("a [10]"),
					 number(2000 * MS), number(2000 * MS)};

	return odd_period(w, cpu) || odd_period(w, wall) ||
	       odd_put(w, cpu, sample, COUNT(sample)) || odd_put(w, wall, look, COUNT(look)) ||
	       odd_put(w, make_type(w, "app.Work", work_fields, COUNT(work_fields), 0), work,
		       COUNT(work)) ||
	       odd_put(w, make_type(w, RECORDING_THREAD_TIME, time_fields, COUNT(time_fields), 0),
		       times, COUNT(times));
}

/* The field's name occurs once: the writer makes no such, so it is taken out of the file. */
static int odd_unname(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat st = {0};
	char *at = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes != MAP_FAILED)
		at = memmem(bytes, (size_t)st.st_size, NAMED, sizeof(NAMED) - 1);
	if (at)
		memcpy(at, NAMELESS, sizeof(NAMELESS) - 1);
	if (bytes != MAP_FAILED)
		munmap(bytes, (size_t)st.st_size);
	if (fd >= 0)
		close(fd);
	return at ? 0 : -EINVAL;
}

int recordings_write_odd(const char *path)
{
	struct weft_jfr_writer *w = make_writer(path);
	int is_lost, rc;

	if (!w)
		return -errno;
	is_lost = odd_fill(w);
	rc = weft_jfr_close(w);
	if (rc == 0 && is_lost)
		rc = -EINVAL;
	return rc ? rc : odd_unname(path);
}
