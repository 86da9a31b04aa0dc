/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program and a library (-DLIBRARY), each with a probe of its own, switch each other's
 * coroutines, as code of templates does that the dynamic linker takes from anywhere. Exits with 1
 * at the first line that finds otherwise.
 */
#include <stdio.h>
#include <stdlib.h>

#include <weft/coro.h>

int library_create(struct weft_coro *coro, const struct weft_coro *parent);
void library_resume(struct weft_coro *coro);
void library_end(struct weft_coro *coro);
const struct weft_coro *library_running(void);

#ifdef LIBRARY
int library_create(struct weft_coro *coro, const struct weft_coro *parent)
{
	struct weft_coro_options options;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	options.parent = parent;
	return weft_coro_create(coro, &options);
}

void library_resume(struct weft_coro *coro)
{
	weft_coro_resume(coro, NULL);
}

void library_end(struct weft_coro *coro)
{
	weft_coro_destroy(coro);
}

const struct weft_coro *library_running(void)
{
	return weft_coro_running();
}
#else
#define COUNT 16

int setenv(const char *name, const char *value, int replace); /* neither is in strict C11 */
int mkstemp(char *template);
int close(int fd);
int unlink(const char *path);

#define EXPECT(x)                                                                                  \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "line %d: %s\n", __LINE__, #x);                            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static char zeros[WEFT_CTP_FILE_BYTES(COUNT)];
static char path[] = "/tmp/weft-apart-XXXXXX";

static void make_file(void)
{
	struct weft_ctp_header *header = (struct weft_ctp_header *)(void *)zeros;
	int fd = mkstemp(path);
	FILE *file = fopen(path, "wb");

	header->magic = WEFT_CTP_MAGIC;
	header->version = WEFT_CTP_VERSION;
	header->max_stations = COUNT;
	header->extension = WEFT_CTP_EXTENSION;
	header->features = WEFT_CTP_TIMER | WEFT_CTP_RECYCLE;
	header->dirty_shift = WEFT_CTP_DIRTY_SHIFT_LEAST;
	EXPECT(fd >= 0 && file && fwrite(zeros, sizeof(zeros), 1, file) == 1 && !fclose(file));
	EXPECT(!close(fd) && !setenv("CTP_SHM_PATH", path, 1));
}

/* Created by the library; the first time the program has not opened its own. @at: its station. */
static void borrowed(uint32_t at)
{
	struct weft_coro theirs, inner;
	const struct weft_ctp_station *station;

	EXPECT(library_create(&theirs, NULL) == 1);
	station = theirs.station;
	weft_coro_resume(&theirs, NULL);
	EXPECT(library_running() == &theirs && !weft_coro_running());
	EXPECT(library_create(&inner, &theirs) == 1);
	EXPECT(inner.station->parent_station == at + 1);
	library_end(&inner);
	weft_coro_wake(&theirs);
	weft_coro_suspend(&theirs, NULL);
	EXPECT(!library_running());
	EXPECT(station->totals.resumes == 1 && station->totals.suspends == 1);
	EXPECT(station->totals.wakes == 1);
	library_resume(&theirs);
	weft_coro_destroy(&theirs);
	EXPECT(!library_running() && station->state == WEFT_CTP_LISTED);
}

static void lent(uint32_t at)
{
	struct weft_coro ours, inner;
	const struct weft_ctp_station *station;

	EXPECT(weft_coro_create(&ours, NULL) == 1);
	station = ours.station;
	library_resume(&ours);
	EXPECT(weft_coro_running() == &ours && !library_running());
	EXPECT(library_create(&inner, &ours) == 1);
	EXPECT(inner.station->parent_station == at + 1);
	weft_coro_destroy(&inner);
	library_end(&ours);
	EXPECT(!weft_coro_running());
	EXPECT(station->totals.suspends == 1 && station->state == WEFT_CTP_LISTED);
}

int main(void)
{
	struct weft_ctp_header *header;

	make_file();
	borrowed(0);
	lent(2);
	borrowed(4);
	unlink(path);
	header = weft_probe_process.header;
	EXPECT(header->allocated_count == 6 && header->recycle_count == 6);
	EXPECT(header->dirty[0] == 1);
	return 0;
}
#endif
