/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that no writer makes, and that a reader must bear: a contextual field whose name is
 * empty, around one sample, and times of a thread that the file does not name.
 */
#include "recordings.h"

#include "base/recording.h"

#include <weft/jfr.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_MONO UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
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

static struct weft_jfr_value odd_number(uint64_t n)
{
	return (struct weft_jfr_value){.number = (int64_t)n};
}

static struct weft_jfr_value odd_text(const char *s)
{
	return (struct weft_jfr_value){.string = {s, strlen(s)}};
}

static struct weft_jfr_type *odd_type(struct weft_jfr_writer *w, const char *name,
				      const struct weft_jfr_field *fields, size_t count)
{
	static const char *const no_category[] = {NULL};

	return weft_jfr_type(w, &(struct weft_jfr_type_def){.name = name,
							    .label = name,
							    .category = no_category,
							    .fields = fields,
							    .field_count = count});
}

static int odd_put(struct weft_jfr_writer *w, const struct weft_jfr_type *type,
		   const struct weft_jfr_value *values, size_t count)
{
	return weft_jfr_event(w, type, values, count) < 0;
}

static int odd_period(struct weft_jfr_writer *w, const struct weft_jfr_type *of)
{
	struct weft_jfr_value v[] = {odd_number(START_MONO),
				     odd_number((uint64_t)weft_jfr_type_id(of)),
				     odd_text(RECORDING_SETTING_PERIOD), odd_text("5000000 ns")};

	return odd_put(w, weft_jfr_standard_type(w, WEFT_JFR_ACTIVE_SETTING), v, COUNT(v));
}

static int odd_fill(struct weft_jfr_writer *w)
{
	const struct weft_jfr_thread main_thread = {.os_id = 10, .name = "main", .group = "a [10]"};
	struct weft_jfr_type *cpu = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	struct weft_jfr_type *wall = weft_jfr_standard_type(w, WEFT_JFR_WALL_CLOCK_SAMPLE);
	uint64_t thread = weft_jfr_thread(w, &main_thread, 0);
	struct weft_jfr_value sample[] = {odd_number(START_MONO + 5 * MS), odd_number(thread),
					  odd_number(0), odd_number(WEFT_JFR_STATE_RUNNABLE)};
	struct weft_jfr_value look[] = {odd_number(START_MONO + 5 * MS), odd_number(thread),
					odd_number(0), odd_number(WEFT_JFR_STATE_RUNNABLE),
					odd_number(1)};
	struct weft_jfr_value work[] = {odd_number(START_MONO), odd_number(10 * MS),
					odd_number(thread), odd_text("nameless")};
	struct weft_jfr_value times[] = {odd_number(START_MONO), odd_number(0), odd_text("a [10]"),
					 odd_number(2000 * MS), odd_number(2000 * MS)};

	return odd_period(w, cpu) || odd_period(w, wall) ||
	       odd_put(w, cpu, sample, COUNT(sample)) || odd_put(w, wall, look, COUNT(look)) ||
	       odd_put(w, odd_type(w, "app.Work", work_fields, COUNT(work_fields)), work,
		       COUNT(work)) ||
	       odd_put(w, odd_type(w, RECORDING_THREAD_TIME, time_fields, COUNT(time_fields)),
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
	struct weft_jfr_options options = {
		.size = sizeof(options),
		.path = path,
		.start_mono_ns = START_MONO,
		.start_real_ns = RECORDINGS_START_NS,
	};
	struct weft_jfr_writer *w = weft_jfr_create(&options);
	int is_lost, rc;

	if (!w)
		return -errno;
	is_lost = odd_fill(w);
	rc = weft_jfr_close(w);
	if (rc == 0 && is_lost)
		rc = -EINVAL;
	return rc ? rc : odd_unname(path);
}
