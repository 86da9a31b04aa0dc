/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dweller MS WORD [ARG...]: makes itself a world, uses MS of CPU time there, half of it on the
 * main thread and half on another, and says "done N", N the same in every run.
 *
 *   plain
 *   mlocked             mlockall(MCL_CURRENT | MCL_FUTURE), and not much resident for it
 *   locked_room [UID]   the same (as UID from then on), and how much more can be had and locked
 *   descriptors         none left to open
 *   closed              all closed, 0, 1 and 2 too: nothing is said
 *   refused CALL...     these system calls are refused by EPERM (seccomp) from now on
 *   before CALL.. -- P  the same, then the program P is begun
 *   strict              any system call that it does not use itself kills (seccomp); one thread
 *   undumpable          PR_SET_DUMPABLE 0
 *   chroot FOLDER       FOLDER becomes the root
 *   daemon              daemon(): the child does the work
 *   queue               32 threads, and signals of its own are queued meanwhile
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RESIDENT_KB 200000
#define THREADS 32
#define FILTER_MAX 64

static long ms;
static int is_alone, is_silent;
static volatile sig_atomic_t queued;

static void fail(const char *what)
{
	fprintf(stderr, "dweller: %s: %s\n", what, strerror(errno));
	exit(3);
}

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void burn(long until_ms)
{
	volatile uint64_t sink = 0;

	do
		for (uint64_t i = 0; i < 50000; i++)
			sink += i * sink + 1;
	while (cpu_ms() < until_ms);
}

static void *half(void *arg)
{
	burn(ms / 2);
	return arg;
}

static const struct call {
	const char *name;
	uint32_t number;
} calls[] = {
	{"timer_create", SYS_timer_create},
	{"process_vm_readv", SYS_process_vm_readv},
	{"memfd_create", SYS_memfd_create},
	{"prctl", SYS_prctl},
	{"mprotect", SYS_mprotect},
	{"socket", SYS_socket},
	{"madvise", SYS_madvise},
	{"timer_settime", SYS_timer_settime},
	{"openat", SYS_openat},
	{"rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo},
};

static uint32_t number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].number;
	errno = ENOENT;
	fail(name);
	return 0;
}

/* The calls that are listed have @listed for an answer, all others @others. */
static void set_filter(const uint32_t *numbers, int count, uint32_t listed, uint32_t others)
{
	struct sock_filter code[FILTER_MAX];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (int i = 0; i < count; i++) {
		code[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		fail("seccomp");
}

static char **refuse(char **names)
{
	uint32_t numbers[16];
	int count = 0;

	for (; *names && strcmp(*names, "--"); names++)
		numbers[count++] = number_of(*names);
	set_filter(numbers, count, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
	return *names ? names + 1 : names;
}

static void refused(char **arg)
{
	refuse(arg);
}

static void before(char **arg)
{
	char **program = refuse(arg);

	execv(program[0], program);
	fail(program[0]);
}

static void strict(char **arg)
{
	static const uint32_t used[] = {
		SYS_read,
		SYS_write,
		SYS_exit_group,
		SYS_exit,
		SYS_futex,
		SYS_rt_sigreturn,
		SYS_brk,
		SYS_clock_gettime,
		SYS_newfstatat,
		SYS_fstat,
		SYS_restart_syscall,
		SYS_getrandom,
		SYS_ioctl,
		SYS_mmap,
	};

	(void)arg;
	is_alone = 1;
	set_filter(used, sizeof(used) / sizeof(used[0]), SECCOMP_RET_ALLOW,
		   SECCOMP_RET_KILL_PROCESS);
}

static void plain(char **arg)
{
	(void)arg;
}

static void mlocked(char **arg)
{
	(void)arg;
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("mlockall");
}

static int is_mapped(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return 0;
	munmap(at, bytes);
	return 1;
}

static int is_in_core(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmLck: %ld kB", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb >= 1024;
}

/* How much is a matter of the limit, which is the same with and without weft. */
static void locked_room(char **arg)
{
	void *given;

	if (mlockall(MCL_CURRENT))
		printf("mlockall: %s\n", strerror(errno));
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		printf("mlockall, and what comes: %s\n", strerror(errno));
	if (arg[0] && setresuid((uid_t)atoi(arg[0]), (uid_t)atoi(arg[0]), (uid_t)atoi(arg[0])))
		fail("setresuid");
	given = malloc(1 << 16);
	printf("locked: %d; malloc: %d; 1 MiB: %d; 24 MiB: %d\n", is_in_core(), given != NULL,
	       is_mapped(1 << 20), is_mapped(24 << 20));
	free(given);
}

static void check_resident(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kb;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmRSS: %ld kB", &kb) == 1)
			if (kb > RESIDENT_KB)
				printf("too much is resident: %s", line);
	if (file)
		fclose(file);
}

static void descriptors(char **arg)
{
	(void)arg;
	while (open("/dev/null", O_RDONLY) >= 0)
		;
}

static void closed(char **arg)
{
	(void)arg;
	for (int fd = 0; fd < 4096; fd++)
		close(fd);
	is_silent = 1;
}

static void undumpable(char **arg)
{
	(void)arg;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		fail("prctl");
}

static void go_root(char **arg)
{
	if (chroot(arg[0]) || chdir("/"))
		fail("chroot");
}

static void go_daemon(char **arg)
{
	(void)arg;
	if (daemon(1, 1))
		fail("daemon");
}

static void count_signal(int signo)
{
	(void)signo;
	queued++;
}

/* Real-time signals queue, each in a place of RLIMIT_SIGPENDING; the standard ones need none. */
static void queue(char **arg)
{
	struct sigaction action = {.sa_handler = count_signal};
	pthread_t threads[THREADS];
	int count = 0;

	(void)arg;
	sigaction(SIGRTMIN, &action, NULL);
	while (count < THREADS && !pthread_create(&threads[count], NULL, half, NULL))
		count++;
	for (int i = 0; i < 4; i++)
		if (sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}))
			fail("sigqueue");
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads, %d signals\n", count, (int)queued);
}

static const struct world {
	const char *name;
	void (*enter)(char **arg);
} worlds[] = {
	{"plain", plain},      {"mlocked", mlocked},       {"descriptors", descriptors},
	{"closed", closed},    {"refused", refused},       {"before", before},
	{"strict", strict},    {"undumpable", undumpable}, {"chroot", go_root},
	{"daemon", go_daemon}, {"queue", queue},           {"locked_room", locked_room},
};

static void enter(char **word)
{
	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
		if (!strcmp(worlds[i].name, word[0])) {
			worlds[i].enter(word + 1);
			return;
		}
	errno = ENOENT;
	fail(word[0]);
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc < 3)
		return 2;
	ms = atol(argv[1]);
	enter(argv + 2);
	if (!is_alone && pthread_create(&other, NULL, half, NULL))
		fail("pthread_create");
	burn(is_alone ? ms : ms / 2);
	if (!is_alone)
		pthread_join(other, NULL);
	if (!strcmp(argv[2], "mlocked"))
		check_resident();
	if (!is_silent)
		printf("done %d\n", 42);
	return is_silent ? 0 : 7;
}
