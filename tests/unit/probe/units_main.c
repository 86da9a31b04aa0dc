/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One probe of several translation units: they share the open file and the thread's running
 * coroutine. Exits with the number of the first line that finds otherwise.
 *
 *   units FILE     a shared file is made there
 */
#include <stdio.h>
#include <stdlib.h>

#include "units.h"

int setenv(const char *name, const char *value, int replace); /* not in strict C11 */

#define EXPECT(x)                                                                                  \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "line %d: %s\n", __LINE__, #x);                            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static char zeros[WEFT_CTP_FILE_BYTES(4)];

static void make_file(const char *path)
{
	struct weft_ctp_header *header = (struct weft_ctp_header *)(void *)zeros;
	FILE *file = fopen(path, "wb");

	header->magic = WEFT_CTP_MAGIC;
	header->version = WEFT_CTP_VERSION;
	header->max_stations = 4;
	header->extension = WEFT_CTP_EXTENSION;
	header->features = WEFT_CTP_TIMER;
	header->dirty_shift = WEFT_CTP_DIRTY_SHIFT_LEAST;
	EXPECT(file && fwrite(zeros, sizeof(zeros), 1, file) == 1 && !fclose(file));
	EXPECT(!setenv("CTP_SHM_PATH", path, 1));
}

int main(int argc, char **argv)
{
	struct weft_coro a, b;

	EXPECT(argc == 2);
	make_file(argv[1]);
	EXPECT(weft_coro_create(&a, NULL) == 1);
	EXPECT(other_creates(&b) == 1);
	EXPECT(weft_probe_process.header->allocated_count == 2);
	EXPECT(a.station != b.station && a.id != b.id);
	other_resumes(&a);
	EXPECT(weft_coro_running() == &a && other_runs() == &a);
	EXPECT(a.station->state == WEFT_CTP_RUNNING && a.station->slots[0].seq == 2);
#ifdef WITH_CPP
	EXPECT(cpp_runs() == &a);
	cpp_suspends(&a);
#else
	weft_coro_suspend(&a, NULL);
#endif
	EXPECT(!weft_coro_running() && !other_runs());
	EXPECT(a.station->totals.suspends == 1 && a.station->slots[1].seq == 4);
	weft_coro_destroy(&a);
	weft_coro_destroy(&b);
	EXPECT(weft_probe_process.stations[1].state == WEFT_CTP_DEAD);
	return 0;
}
