/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth [--seconds S] [--phase P] [--seed N] [--out FILE] [--wait] PROGRAM: works for A and B in
 * known parts, measures the CPU time of each in the thread that does it (used.c), and writes what
 * it knows as JSON: used_ns, passed_ns (by CLOCK_MONOTONIC) and acts of A and B, process_ns. Links
 * libweft, so that there are tags whoever records it. --wait: prints its pid and waits for a line
 * before it begins. --list: the programs.
 */
#include "truth.h"

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>
#include <weft/context.h>

#define HUGE_PARTS 1024
#define HUGE_PART 131072

struct tally *tally;
double seconds = 2, phase;
char *const *own_argv;
int tally_fd = -1;
static double spins_per_ns, gigabytes_per_s = 4;
static uint64_t random_state;

uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double random_part(void) /* splitmix64 */
{
	uint64_t z = __atomic_add_fetch(&random_state, 0x9E3779B97F4A7C15u, __ATOMIC_RELAXED);

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static __attribute__((noinline)) void spin(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		__asm__ volatile("" : "+r"(i));
}

static void calibrate(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID), took;

		spin(200000);
		took = now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		best = took < best ? took : best;
	}
	spins_per_ns = 200000.0 / (double)best;
}

/* ---- kinds of work */

static void read_zeros(double ms)
{
	static __thread char buffer[4096];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct used began;

	used_begin(&began);
	do {
		for (int i = 0; i < 64; i++)
			if (read(fd, buffer, sizeof(buffer)) < 0)
				abort();
	} while (used_since(&began) < (uint64_t)(ms * 1e6));
	close(fd);
}

static void use_pipe(double ms)
{
	static __thread char buffer[4096];
	struct used began;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		abort();
	used_begin(&began);
	do {
		for (int i = 0; i < 16; i++)
			if (write(ends[1], buffer, sizeof(buffer)) < 0 ||
			    read(ends[0], buffer, sizeof(buffer)) < 0)
				abort();
	} while (used_since(&began) < (uint64_t)(ms * 1e6));
	close(ends[0]);
	close(ends[1]);
}

/* One call, into memory; no signal cuts it short (a read of /dev/zero would be). */
static void write_at_once(double ms)
{
	static char part[HUGE_PART];
	static int fd = -1;
	struct iovec parts[HUGE_PARTS];
	double bytes = ms * 1e6 * gigabytes_per_s;
	int count = (int)(bytes / HUGE_PART);
	struct used began;
	ssize_t done;

	if (fd < 0)
		fd = memfd_create("huge", MFD_CLOEXEC);
	count = count < 1 ? 1 : count > HUGE_PARTS ? HUGE_PARTS : count;
	for (int i = 0; i < count; i++)
		parts[i] = (struct iovec){part, HUGE_PART};
	used_begin(&began);
	done = pwritev(fd, parts, count, 0);
	if (done <= 0)
		abort();
	gigabytes_per_s = (double)done / (double)used_since(&began);
}

/* An epoll that nothing comes to, as servers wait. */
static void wait_in_epoll(double ms)
{
	static __thread int epoll = -1;
	struct epoll_event event;

	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_wait(epoll, &event, 1, (int)ms) < 0)
		abort();
}

static __attribute__((noinline)) void do_work(enum how how, double ms)
{
	switch (how) {
	case USER:
		spin((uint64_t)(ms * 1e6 * spins_per_ns));
		break;
	case READS:
		read_zeros(ms);
		break;
	case HUGE_WRITE:
		write_at_once(ms);
		break;
	case PIPES:
		use_pipe(ms);
		break;
	case WAIT:
		wait_in_epoll(ms);
		break;
	}
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

static __attribute__((noinline)) void act_a(enum how how, double ms)
{
	do_work(how, ms);
	__asm__ volatile("nop" : : : "memory"); /* two functions, not one */
}

static __attribute__((noinline)) void act_b(enum how how, double ms)
{
	do_work(how, ms);
	__asm__ volatile("" : : : "memory");
}

void act_plain(int what, double ms)
{
	(what == A ? act_a : act_b)(USER, ms);
}

static void act_with(int what, enum how how, double ms, uint64_t span)
{
	static uint32_t names[KINDS];
	struct used began;
	uint64_t passed, used;

	if (!names[what])
		names[what] = weft_tag_intern(what == A ? "on-A" : "on-B");
	used_open();
	weft_context_set(0, 0); /* a thread's first takes its time */
	weft_tag_set(0, 0);
	used_begin(&began);
	weft_context_set(span, 1);
	weft_tag_set(0, names[what]);
	passed = now_ns(CLOCK_MONOTONIC);
	(what == A ? act_a : act_b)(how, ms);
	passed = now_ns(CLOCK_MONOTONIC) - passed;
	/* A call of the kernel is where it likes to give the CPU to others: still with the tag. */
	used = used_since(&began);
	weft_tag_set(0, 0);
	weft_context_set(0, 0);
	used_close();
	__atomic_fetch_add(&tally->used_ns[what], used, __ATOMIC_RELAXED);
	__atomic_fetch_add(&tally->passed_ns[what], passed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&tally->acts[what], 1, __ATOMIC_RELAXED);
}

void act(int what, enum how how, double ms)
{
	act_with(what, how, ms, (uint64_t)what + 1);
}

void act_in_span(int what, double ms, uint64_t span)
{
	act_with(what, USER, ms, span);
}

double used_seconds(int what)
{
	return (double)__atomic_load_n(&tally->used_ns[what], __ATOMIC_RELAXED) / 1e9;
}

int is_enough(void)
{
	return used_seconds(A) + used_seconds(B) >= seconds;
}

/* ---- main */

static uint64_t rusage_ns(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000u;
}

static void print_pair(FILE *out, const char *name, const uint64_t pair[KINDS])
{
	fprintf(out, "\"%s\": {\"A\": %llu, \"B\": %llu}, ", name, (unsigned long long)pair[A],
		(unsigned long long)pair[B]);
}

static int print_truth(const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;

	if (!out)
		return 1;
	fprintf(out, "{");
	print_pair(out, "used_ns", tally->used_ns);
	print_pair(out, "passed_ns", tally->passed_ns);
	print_pair(out, "acts", tally->acts);
	fprintf(out, "\"process_ns\": %llu}\n",
		(unsigned long long)(rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN)));
	return fclose(out) != 0;
}

static int print_list(void)
{
	for (const struct program *p = programs; p->name; p++)
		printf("%-14s %s\n", p->name, p->text);
	return 0;
}

static int open_tally(void)
{
	if (tally_fd < 0) {
		tally_fd = memfd_create("truth", 0); /* what is exec'ed has it, too */
		if (tally_fd < 0 || ftruncate(tally_fd, sizeof(*tally)))
			return 1;
	}
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, tally_fd, 0);
	return tally == MAP_FAILED;
}

static int run(const char *name)
{
	for (const struct program *p = programs; p->name; p++)
		if (!strcmp(p->name, name)) {
			p->run(p->ms);
			return 0;
		}
	fprintf(stderr, "truth: no program %s\n", name);
	return 2;
}

/* Busy: who attaches finds nobody to give the order to in a process that sleeps. */
static void wait_for_line(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (poll(&in, 1, 0) == 0)
		for (volatile int i = 0; i < 1000000; i++)
			;
	while (getchar() != '\n' && !feof(stdin))
		;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seconds", 1, NULL, 's'}, {"phase", 1, NULL, 'p'}, {"seed", 1, NULL, 'r'},
		{"out", 1, NULL, 'o'},     {"wait", 0, NULL, 'w'},  {"list", 0, NULL, 'l'},
		{"request", 1, NULL, 'q'}, {"tally", 1, NULL, 't'}, {NULL, 0, NULL, 0}};
	const char *out = NULL;
	double request = 0;
	int o, is_waiting = 0, status;

	own_argv = argv;
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == 's')
			seconds = strtod(optarg, NULL);
		else if (o == 'p')
			phase = strtod(optarg, NULL);
		else if (o == 'r')
			random_state = strtoull(optarg, NULL, 10) << 32;
		else if (o == 'o')
			out = optarg;
		else if (o == 'w')
			is_waiting = 1;
		else if (o == 'l')
			return print_list();
		else if (o == 'q')
			request = strtod(optarg, NULL);
		else if (o == 't')
			tally_fd = (int)strtol(optarg, NULL, 10);
		else
			return 2;
	}
	if ((optind == argc && !(request > 0)) || open_tally())
		return 2;
	weft_tag_name(0, "work");
	calibrate();
	if (request > 0) {
		act(B, USER, request);
		return 0;
	}
	if (is_waiting)
		wait_for_line();
	status = run(argv[optind]);
	return status ? status : print_truth(out);
}
