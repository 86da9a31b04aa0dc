/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JIT compiler of two functions, both at one address, one after the other; each runs for half
 * of the CPU time asked for. It tells of them as others do:
 *
 *	jit-maker map|dump|none MILLISECONDS [blind]
 *
 * map: /tmp/perf-PID.map, a line before each function runs. dump: jit-PID.dump here, mapped as
 * perf wants it, and written only at the end, as from a buffer that never got full.
 * blind: its parent, who records it, is stopped while the code is there.
 */
#include "../own_session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ADDRESS ((void *)0x200000000)
#define PAGE 4096

/* void f(uint64_t rounds): a loop in a frame with a frame pointer. */
#if defined(__x86_64__)
static const uint8_t code[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,       /* jnz 1b */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};
#elif defined(__aarch64__)
static const uint32_t code[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xf1000400, /* 1: subs x0, x0, #1 */
	0x54ffffe1, /* b.ne 1b */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#endif

static char *dump_bytes;
static size_t dump_size;
static FILE *dump;

static uint64_t clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put(uint64_t value, size_t bytes)
{
	fwrite(&value, 1, bytes, dump);
}

static void begin_dump(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, 0) ||
	    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(1);
	close(fd);
	dump = open_memstream(&dump_bytes, &dump_size);
	put(0x4A695444, 4);
	put(1, 4);
	put(40, 4);
	put(0, 4);
	put(0, 4);
	put((uint64_t)getpid(), 4);
	put(0, 8);
	put(0, 8);
}

static void put_lines(uint32_t line)
{
	static const char file[] = "/src/made.lang";
	uint64_t address = (uint64_t)(uintptr_t)ADDRESS;

	put(2, 4);
	put(32 + 16 + sizeof(file), 4);
	put(clock_of(CLOCK_MONOTONIC), 8);
	put(address, 8);
	put(1, 8);
	put(address, 8);
	put(line, 4);
	put(0, 4);
	fwrite(file, 1, sizeof(file), dump);
}

static void put_load(const char *name, uint64_t index)
{
	put(0, 4);
	put(56 + strlen(name) + 1 + sizeof(code), 4);
	put(clock_of(CLOCK_MONOTONIC), 8);
	put((uint64_t)getpid(), 4);
	put((uint64_t)getpid(), 4);
	put((uint64_t)(uintptr_t)ADDRESS, 8);
	put((uint64_t)(uintptr_t)ADDRESS, 8);
	put(sizeof(code), 8);
	put(index, 8);
	fwrite(name, 1, strlen(name) + 1, dump);
	fwrite(code, 1, sizeof(code), dump);
}

static void end_dump(void)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	f = fopen(name, "r+");
	fclose(dump);
	if (!f || fwrite(dump_bytes, 1, dump_size, f) != dump_size || fclose(f))
		exit(1);
}

static void add_to_map(const char *name)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "a");
	if (!f)
		exit(1);
	fprintf(f, "%llx %zx %s\n", (unsigned long long)(uintptr_t)ADDRESS, sizeof(code), name);
	fclose(f);
}

static void make(const char *how, const char *name, uint32_t line)
{
	memcpy(ADDRESS, code, sizeof(code));
	__builtin___clear_cache(ADDRESS, (char *)ADDRESS + sizeof(code));
	if (strcmp(how, "map") == 0)
		add_to_map(name);
	if (dump) {
		put_lines(line);
		put_load(name, line);
	}
}

__attribute__((noinline)) static void run(uint64_t until_ns)
{
	void (*made)(uint64_t) = (void (*)(uint64_t))(uintptr_t)ADDRESS;

	while (clock_of(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
		made(1000000);
}

/* The code is still there when what ran is told; but only then. */
static void let_see(void)
{
	const struct weft_session_header *h = own_session();
	const struct weft_slot *slot = h ? (const void *)((const char *)h + h->slots_offset) : NULL;

	kill(getppid(), SIGCONT);
	for (int i = 0; slot && i < 500; i++) {
		usleep(10000);
		if (__atomic_load_n(&slot->samples_c.tail, __ATOMIC_ACQUIRE) ==
		    __atomic_load_n(&slot->samples_p.head, __ATOMIC_RELAXED))
			break;
	}
	usleep(300000);
}

int main(int argc, char **argv)
{
	uint64_t half_ns;
	int blind = argc == 4;

	if (argc != 3 && !blind)
		return 2;
	if (blind)
		kill(getppid(), SIGSTOP);
	half_ns = strtoull(argv[2], NULL, 10) * 500000;
	if (mmap(ADDRESS, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != ADDRESS)
		return 1;
	if (strcmp(argv[1], "dump") == 0)
		begin_dump();
	make(argv[1], "made_first", 11);
	run(half_ns);
	make(argv[1], "made_second", 22);
	run(2 * half_ns);
	if (dump)
		end_dump();
	if (blind)
		let_see();
	return 0;
}
