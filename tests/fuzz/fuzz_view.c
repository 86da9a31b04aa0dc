/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a recording in every view, in the table of a type's events, and
 * beside itself, where nothing may have changed.
 */
#include "report/diff/diff.h"

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct text_style style = {
	.columns = 100, .top = 20, .bold = "", .dim = "", .plain = ""};

static void show(const struct view_query *q, FILE *out)
{
	struct view_run *v;

	if (view_run(&v, q))
		return;
	if (view_text(v, &style, out) || view_json(v, 20, out))
		abort();
	view_free(v);
}

static void compare(const char *path, FILE *out)
{
	struct diff_query q = {.path = {path, path}};
	struct diff *d;
	int failed;

	if (diff_run(&d, &q, &failed))
		return;
	if (diff_text(d, &style, out) || diff_json(d, 20, out) || table_rows(&d->settings))
		abort();
	for (int i = 0; i < DIFF_SECTIONS; i++)
		for (size_t k = 0; k < d->table[i].cells; k++)
			if (d->table[i].cell[k].kind == CELL_CHANGE &&
			    d->table[i].cell[k].real != 1)
				abort();
	diff_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = {"weft.LockWait", "weft.Span", "jdk.ExecutionSample"};
	static FILE *out;
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	if (!out)
		out = fopen("/dev/null", "w");
	if (fd < 0 || !out || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; views[i]; i++)
		show(&(struct view_query){.view = views[i], .path = path}, out);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		show(&(struct view_query){.path = path, .type = types[i], .rows_max = 20}, out);
	compare(path, out);
	close(fd);
	return 0;
}
