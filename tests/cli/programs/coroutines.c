/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with coroutines, as an engine sees it: no stack is switched, only told of.
 *
 *	coroutines ours COUNT SWITCHES [PAUSE_US]   COUNT at once, each so many resumes
 *	coroutines short COUNT                      one after the other, one resume each
 *	coroutines legacy s|d EVENTS [PAUSE_US]     a probe of another engine's, one coroutine
 *	coroutines forks CHILDREN SWITCHES          each process its own
 *	coroutines hang COUNT                       suspended, until it is killed
 *	coroutines endless                          switches until it is killed
 *	coroutines until STATUS                     switches until the end of its input
 *	coroutines idle COUNT SWITCHES PAUSE_US     one that switches among others that do not
 *	coroutines midwrite                         dies over an event
 *	coroutines heir                             after a child that died over an event
 *	coroutines storm CHILDREN                   that switch until they are killed, at any moment
 *
 * Says how many events it wrote on stdout.
 */
#include <weft/coro.h>

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const void *const where = (const void *)0x1000;

static void rest(unsigned int us)
{
	if (us)
		usleep(us);
}

static void say(uint64_t events)
{
	printf("%" PRIu64 "\n", events);
	fflush(stdout);
}

static uint64_t ours(unsigned int count, unsigned int switches, unsigned int pause_us)
{
	struct weft_coro *coro = calloc(count, sizeof(*coro));
	uint64_t events = 0;

	for (unsigned int i = 0; i < count; i++)
		weft_coro_create(&coro[i], NULL);
	for (unsigned int s = 0; s < switches; s++)
		for (unsigned int i = 0; i < count; i++) {
			weft_coro_resume(&coro[i], where);
			weft_coro_suspend(&coro[i], where);
			events += coro[i].station ? 2 : 0;
			rest(pause_us);
		}
	for (unsigned int i = 0; i < count; i++)
		weft_coro_destroy(&coro[i]);
	free(coro);
	return events;
}

static uint64_t among_idle(unsigned int count, unsigned int switches, unsigned int pause_us)
{
	struct weft_coro *idle = calloc(count, sizeof(*idle));
	uint64_t events;

	for (unsigned int i = 0; i < count; i++)
		weft_coro_create(&idle[i], NULL);
	events = ours(1, switches, pause_us);
	free(idle);
	return events;
}

static uint64_t shorts(unsigned int count)
{
	uint64_t events = 0;

	for (unsigned int i = 0; i < count; i++)
		events += ours(1, 1, 0);
	return events;
}

/* ---- another engine's probe */

struct legacy {
	struct weft_ctp_header *header;
	struct weft_ctp_station *station;
	int fd;
};

static void open_legacy(struct legacy *l)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = open(getenv("CTP_SHM_PATH"), O_RDWR);
	uint64_t bytes = WEFT_CTP_FILE_BYTES(strtoul(getenv("CTP_MAX_STATIONS"), NULL, 10));
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint32_t index;

	if (fd < 0 || at == MAP_FAILED)
		exit(99);
	l->header = (void *)at;
	index = __atomic_fetch_add(&l->header->allocated_count, 1, __ATOMIC_RELAXED);
	if (index >= l->header->max_stations)
		exit(98);
	l->station = (void *)(at + WEFT_CTP_HEADER_BYTES + (size_t)index * sizeof(*l->station));
	l->station->probe_id = 77;
	l->station->birth_ts = 1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", getenv("CTP_SOCK_PATH"));
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(l->fd, (struct sockaddr *)&address, sizeof(address)))
		exit(97);
}

static void write_payload(struct weft_ctp_epoch *slot, uint64_t n)
{
	__atomic_store_n(&slot->timestamp, n + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->tid, 2 * n + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->addr, 3 * n, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->is_active, n % 2 == 0, __ATOMIC_RELAXED);
}

static void wake(const struct legacy *l)
{
	uint32_t asleep = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&l->header->tracer_sleeping, __ATOMIC_RELAXED) == 1 &&
	    __atomic_compare_exchange_n(&l->header->tracer_sleeping, &asleep, 0, 0,
					__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		send(l->fd, "1", 1, MSG_NOSIGNAL);
}

/* What the event says follows from its number, so that a torn one shows. */
static uint64_t legacy(char dialect, uint64_t events, unsigned int pause_us)
{
	struct legacy l;

	open_legacy(&l);
	for (uint64_t n = 0; n < events; n++) {
		uint64_t seq = dialect == 's' ? 2 * (n / 8 + 1) : n + 1;
		struct weft_ctp_epoch *slot = &l.station->slots[(dialect == 's' ? n : seq) % 8];

		if (dialect == 's') {
			__atomic_store_n(&slot->seq, seq - 1, __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_RELEASE);
		}
		write_payload(slot, n);
		__atomic_store_n(&slot->seq, seq, __ATOMIC_RELEASE);
		wake(&l);
		rest(pause_us);
	}
	l.station->is_dead = 1;
	return events;
}

static int forks(unsigned int children, unsigned int switches)
{
	uint64_t events = 0;
	int status, failed = 0;

	ours(1, 0, 0);
	for (unsigned int i = 0; i < children; i++)
		if (fork() == 0)
			_exit(ours(3, switches, 100) != 6 * (uint64_t)switches);
	while (wait(&status) > 0)
		failed |= status;
	events = 6 * (uint64_t)switches * children;
	say(events);
	return failed != 0;
}

__attribute__((noreturn)) static void hang(unsigned int count, int endless)
{
	struct weft_coro *coro = calloc(count, sizeof(*coro));

	for (unsigned int i = 0; i < count; i++) {
		weft_coro_create(&coro[i], NULL);
		weft_coro_resume(&coro[i], where);
		weft_coro_suspend(&coro[i], where);
	}
	say(2 * (uint64_t)count);
	if (!endless)
		for (;;)
			pause();
	for (;;)
		for (unsigned int i = 0; i < count; i++) {
			weft_coro_resume(&coro[i], where);
			weft_coro_suspend(&coro[i], where);
		}
}

static int midwrite(void)
{
	struct weft_coro coro;
	struct weft_ctp_epoch *slot;

	weft_coro_create(&coro, NULL);
	weft_coro_resume(&coro, where);
	slot = &coro.station->slots[coro.next_event % 8];
	__atomic_store_n(&slot->seq, 2 * coro.next_event + 1, __ATOMIC_RELEASE);
	slot->addr = 0xDEAD;
	say(2);
	return kill(getpid(), SIGKILL);
}

static int until(int status)
{
	struct weft_coro coro;
	struct pollfd input = {.fd = 0, .events = POLLIN};
	uint64_t events = 0;

	weft_coro_create(&coro, NULL);
	say(0);
	while (poll(&input, 1, 0) == 0)
		for (int i = 0; i < 1000; i++, events += 2) {
			weft_coro_resume(&coro, where);
			weft_coro_suspend(&coro, where);
		}
	weft_coro_destroy(&coro);
	say(events);
	return status;
}

/* The engine has given as many stations back as there were coroutines in @child. */
static void wait_for_burial(pid_t child, uint32_t coroutines)
{
	struct weft_ctp_header *header = weft_probe_open()->header;
	uint32_t before = __atomic_load_n(&header->recycle_count, __ATOMIC_RELAXED);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	while (__atomic_load_n(&header->recycle_count, __ATOMIC_RELAXED) < before + coroutines)
		usleep(1000);
}

/* The only station is a child's, which is killed with its second event begun. */
static int heir(void)
{
	int ends[2];
	char byte;
	pid_t child;

	weft_probe_open();
	if (pipe(ends) || (child = fork()) < 0)
		return 1;
	if (child == 0) {
		struct weft_coro coro;

		weft_coro_create(&coro, NULL);
		weft_coro_resume(&coro, where);
		__atomic_store_n(&coro.station->slots[1].seq, 2 * 1 + 1, __ATOMIC_RELEASE);
		coro.station->slots[1].addr = 0xDEAD;
		if (write(ends[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	if (read(ends[0], &byte, 1) != 1)
		return 1;
	wait_for_burial(child, 1);
	say(1 + ours(1, 3, 0));
	return 0;
}

static int storm(unsigned int children)
{
	for (unsigned int i = 0; i < children; i++) {
		int ends[2];
		char byte;
		pid_t child;

		if (pipe(ends) || (child = fork()) < 0)
			return 1;
		if (child == 0) {
			dup2(ends[1], 1);
			hang(2, 1);
		}
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			return 1;
		close(ends[0]);
		usleep((unsigned int)rand() % 3000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int a = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	unsigned int b = argc > 3 ? (unsigned int)atoi(argv[3]) : 1;
	unsigned int c = argc > 4 ? (unsigned int)atoi(argv[4]) : 0;
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "ours"))
		say(ours(a, b, c));
	else if (!strcmp(mode, "short"))
		say(shorts(a));
	else if (!strcmp(mode, "legacy"))
		say(legacy(argv[2][0], b, c));
	else if (!strcmp(mode, "forks"))
		return forks(a, b);
	else if (!strcmp(mode, "hang"))
		hang(a, 0);
	else if (!strcmp(mode, "endless"))
		hang(a, 1);
	else if (!strcmp(mode, "until"))
		return until((int)a);
	else if (!strcmp(mode, "heir"))
		return heir();
	else if (!strcmp(mode, "idle"))
		say(among_idle(a, b, c));
	else if (!strcmp(mode, "storm"))
		return storm(a);
	else if (!strcmp(mode, "midwrite"))
		return midwrite();
	else
		return 2;
	return 0;
}
