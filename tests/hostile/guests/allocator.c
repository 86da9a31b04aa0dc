/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator ROUNDS [LIBRARY]: threads that allocate and free each other's memory, begin and end
 * threads, fork children that allocate, begin programs, and write files to the disk, in the current
 * directory: all that an allocator, or a library that stands before fsync, has locks for.
 *
 * Says what came out, the same in every run, and whether LIBRARY is mapped; the programs that it
 * begins see to that, too. Ends with 3.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4
#define SHARED 64
#define BLOCKS 40
#define LEAF_STATUS 5

extern char **environ;

static void *shared[SHARED];
static unsigned long rounds;
static char **self;

static void fail(const char *what)
{
	fprintf(stderr, "allocator: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Small most often, one time in eight some pages. */
static size_t any_size(uint64_t *state)
{
	return 1 + next(state) % (next(state) % 8 ? 500 : 60000);
}

/* Gives a block of another thread's back, and leaves its own for one. */
static void exchange(uint64_t *state, void *mine)
{
	free(__atomic_exchange_n(&shared[next(state) % SHARED], mine, __ATOMIC_ACQ_REL));
}

static uint64_t allocate(uint64_t *state)
{
	uint64_t sum = 0;

	for (int i = 0; i < BLOCKS; i++) {
		size_t bytes = any_size(state);
		uint8_t *block = next(state) % 4 ? malloc(bytes) : calloc(1, bytes);

		if (!block)
			fail("malloc");
		block[0] = block[bytes - 1] = (uint8_t)bytes;
		if (next(state) % 4 == 0 && !(block = realloc(block, bytes + 100)))
			fail("realloc");
		sum += block[0];
		exchange(state, block);
	}
	return sum;
}

static void *brief(void *seed)
{
	uint64_t state = *(uint64_t *)seed;

	*(uint64_t *)seed = allocate(&state);
	pthread_exit(NULL);
}

static uint64_t begin_thread(uint64_t *state)
{
	uint64_t value = next(state) | 1;
	pthread_t thread;

	if (pthread_create(&thread, NULL, brief, &value) || pthread_join(thread, NULL))
		fail("pthread_create");
	return value;
}

static uint64_t ended_with(pid_t pid)
{
	int status = 0;

	if (pid < 0)
		fail("fork");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid");
	return WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status)
				 : 1000 + (uint64_t)WTERMSIG(status);
}

static uint64_t fork_child(uint64_t *state)
{
	pid_t pid = fork();

	if (pid == 0) {
		allocate(state);
		_exit(7);
	}
	return ended_with(pid);
}

static uint64_t begin_program(void)
{
	static char leaf[] = "leaf";
	char *argv[] = {self[0], leaf, self[1] ? self[2] : NULL, NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
		fail("posix_spawn");
	return ended_with(pid);
}

static uint64_t write_file(uint64_t *state)
{
	char path[32], text[600];
	int fd;

	snprintf(path, sizeof(path), "allocator.%llx", (unsigned long long)next(state));
	memset(text, 'x', sizeof(text));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, sizeof(text)) != (ssize_t)sizeof(text) || fsync(fd) ||
	    fdatasync(fd) || close(fd) || unlink(path))
		fail(path);
	return sizeof(text);
}

static void *work(void *seed)
{
	uint64_t state = *(uint64_t *)seed, sum = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		sum += allocate(&state);
		if (i % 16 == 3)
			sum += begin_thread(&state);
		if (i % 64 == 5)
			sum += fork_child(&state);
		if (i % 64 == 37)
			sum += begin_program();
		if (i % 64 == 51)
			sum += write_file(&state);
	}
	*(uint64_t *)seed = sum;
	return NULL;
}

static int is_mapped(const char *library)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, library) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	uint64_t value[WORKERS], sum = 0, state = 99;
	const char *library = argc > 2 ? argv[2] : "";
	pthread_t thread[WORKERS];

	self = argv;
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "leaf"))
		return is_mapped(library) && allocate(&state) ? LEAF_STATUS : 1;
	rounds = strtoul(argv[1], NULL, 10);
	for (int i = 0; i < WORKERS; i++) {
		value[i] = (uint64_t)i + 1;
		if (pthread_create(&thread[i], NULL, work, &value[i]))
			fail("pthread_create");
	}
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(thread[i], NULL);
		sum += value[i];
	}
	printf("%llu, %s mapped\n", (unsigned long long)sum, is_mapped(library) ? "is" : "is not");
	return fflush(stdout) ? 1 : 3;
}
