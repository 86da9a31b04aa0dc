/* SPDX-License-Identifier: Apache-2.0 */
/* Filling findings, and the small readers that probes share. */
#include "cli/doctor/doctor.h"

#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void finding_set(struct finding *out, enum finding_state state, const char *format, ...)
{
	va_list list;

	out->state = state;
	va_start(list, format);
	vsnprintf(out->value, sizeof(out->value), format, list);
	va_end(list);
}

void finding_choose(struct finding *out, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(out->choice, sizeof(out->choice), format, list);
	va_end(list);
}

void finding_number(struct finding *out, int64_t number)
{
	out->has_number = 1;
	out->number = number;
}

void finding_refused(struct finding *out, enum finding_state state, const char *what, int error)
{
	finding_set(out, state, "%s: %s", what, strerror(error));
}

int doctor_read_line(const char *path, char *line, unsigned int bytes)
{
	ssize_t n = proc_read(AT_FDCWD, path, line, bytes);

	line[strcspn(line, "\n")] = '\0';
	return n < 0 ? (int)n : n ? 0 : -ENODATA;
}

void finding_line(struct finding *out, const char *what, const char *path)
{
	int err = doctor_read_line(path, out->value, sizeof(out->value));

	out->state = FINDING_INFO;
	if (err)
		finding_refused(out, FINDING_INFO, what, -err);
}

/* Not by our pid: where /proc is of an outer PID namespace, another process has that number. */
int doctor_read_status(const char *name, char *value, unsigned int bytes)
{
	size_t size;
	char *text = proc_read_all(AT_FDCWD, "/proc/self/status", &size);
	int err = text ? -ENOENT : -errno;
	const char *at = text ? proc_line(text, name) : NULL;

	if (at) {
		at += strspn(at, " \t");
		snprintf(value, bytes, "%.*s", (int)strcspn(at, "\n"), at);
		err = 0;
	}
	free(text);
	return err;
}

const char *doctor_bytes(uint64_t bytes, char *text, unsigned int room)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;
	double value = (double)bytes;

	if (bytes == RLIM_INFINITY) {
		snprintf(text, room, "unlimited");
		return text;
	}
	for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		value /= 1024;
	snprintf(text, room, "%.*f %s", value < 10 && unit ? 1 : 0, value, units[unit]);
	return text;
}
