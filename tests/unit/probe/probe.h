/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of weft/coro.h: a shared file as an engine would make it, and a child for each test,
 * because a process opens its probe once. What a child finds wrong it prints, and exits with 1.
 */
#ifndef TESTS_PROBE_H
#define TESTS_PROBE_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/coro.h>

#define PEER 0 /* no extension: the header as another engine makes it */
#define OURS 1

struct probe_file {
	char path[64];
	struct weft_ctp_header *header;
	struct weft_ctp_station *stations;
	uint32_t count;
};

/* A new file of @count stations, mapped here, and CTP_SHM_PATH saying where. */
static inline struct probe_file probe_file(uint32_t count, int extended, uint32_t features)
{
	struct probe_file file;
	void *at;
	int fd;

	strcpy(file.path, "/tmp/weft-probe-XXXXXX");
	fd = mkstemp(file.path);
	assert_true(fd >= 0 && !ftruncate(fd, (off_t)WEFT_CTP_FILE_BYTES(count)));
	at = mmap(NULL, WEFT_CTP_FILE_BYTES(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	file.count = count;
	file.header = at;
	file.stations = (struct weft_ctp_station *)(file.header + 1);
	file.header->magic = WEFT_CTP_MAGIC;
	file.header->version = WEFT_CTP_VERSION;
	file.header->max_stations = count;
	if (extended) {
		file.header->extension = WEFT_CTP_EXTENSION;
		file.header->features = features;
		file.header->dirty_shift = WEFT_CTP_DIRTY_SHIFT_LEAST;
	}
	setenv("CTP_SHM_PATH", file.path, 1);
	unsetenv("CTP_SOCK_PATH");
	unsetenv("CTP_MAX_STATIONS");
	return file;
}

static inline void probe_file_gone(struct probe_file *file)
{
	unlink(file->path);
	munmap(file->header, WEFT_CTP_FILE_BYTES(file->count));
}

/* In a child: both operands, and it is over. */
#define CHECK(a, is, b)                                                                            \
	do {                                                                                       \
		long long check_a = (long long)(a), check_b = (long long)(b);                      \
		if (!(check_a is check_b)) {                                                       \
			fprintf(stderr, "%s:%d: %s (%lld) is not %s %s (%lld)\n", __FILE__,        \
				__LINE__, #a, check_a, #is, #b, check_b);                          \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* The child's wait status: @work is done in a process of its own. */
static inline int status_of(void (*work)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		work(arg);
		_exit(0);
	}
	assert_true(waitpid(pid, &status, 0) == pid);
	return status;
}

static inline void in_child(void (*work)(void *arg), void *arg)
{
	assert_int_equal(status_of(work, arg), 0);
}

/* The slot of event @n, when it holds it. */
static inline struct weft_ctp_epoch *event_of(struct weft_ctp_station *station, uint64_t n)
{
	struct weft_ctp_epoch *slot = &station->slots[n % WEFT_CTP_SLOTS];

	return slot->seq == 2 * n + 2 ? slot : NULL;
}

#endif
