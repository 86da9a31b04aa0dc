/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vandal SEED CHILDREN STRANGER: an honest program (its time goes to honest_work()) that begins so
 * many children, three at a time, each of which owns its session and means harm, and kills those
 * that have not ended by themselves. After SIGTERM it begins no more. Says "done"; ends with 7.
 *
 * vandal SEED guest: such a child, in which weft's runtime is at work on what the child spoils.
 *
 * Built as STRANGER (vandal-stranger SEED): a child without the runtime. It joins the recording by
 * itself, plays a target that does all that a target can do, and spoils that at the same time.
 * Then it joins again, begins another program, or ends as badly as can be.
 *
 * None of it goes by a clock: lives and pauses are counted in work and in naps.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef STRANGER
#include "../../unit/collector/target.h"
#else
#include <weft/context.h>
#include <weft/event.h>
#include <weft/labels.h>

#include "../../own_session.h"
#endif
#include "vandal.h"

#define NAP_US 1000
#define LIFE_NAPS 150

static struct vandal writer, spoiler; /* one session, random numbers of each one's own */
static int is_over;
static char **self;

static void nap(void)
{
	usleep(NAP_US);
}

/* The session is @base; @seed says what is done to it. */
static void own(void *base, uint64_t seed)
{
	memset(&writer, 0, sizeof(writer));
	writer.base = base;
	memcpy(&writer.layout, base, sizeof(writer.layout));
	spoiler = writer;
	vandal_seed(&writer, seed);
	vandal_seed(&spoiler, seed + 1);
}

/* Slower or faster by a pause that changes now and then: what is spoilt at once is never read. */
static void *spoil(void *arg)
{
	uint64_t pause = 0;

	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		if (vandal_below(&spoiler, 64) == 0)
			pause = vandal_below(&spoiler, 2) ? 0 : vandal_below(&spoiler, 20000);
		for (volatile uint64_t i = 0; i < pause; i++)
			;
		spoiler.dict_head = __atomic_load_n(&writer.dict_head, __ATOMIC_RELAXED);
		spoiler.modules_head = __atomic_load_n(&writer.modules_head, __ATOMIC_RELAXED);
		vandal_spoil(&spoiler);
		if (vandal_below(&spoiler, 256) == 0)
			nap();
	}
	return arg;
}

static void end_badly(void)
{
	static const int signals[] = {SIGKILL, SIGSEGV, SIGABRT, SIGTERM, SIGBUS, SIGPROF};

	switch (vandal_below(&writer, 4)) {
	case 0:
		exit(0);
	case 1:
		_exit((int)vandal_below(&writer, 256));
	default:
		raise(signals[vandal_below(&writer, sizeof(signals) / sizeof(signals[0]))]);
		_exit(1);
	}
}

#ifdef STRANGER
static struct target target;

/* Questions that nobody would ask: as no runtime would, and settings as no user would. */
static void knock(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint8_t question[600];
	struct weft_set set = {.magic = WEFT_SET_MAGIC,
			       .version = WEFT_RENDEZVOUS_VERSION,
			       .pid = getpid(),
			       .text_bytes = 40};
	struct weft_hello hello = {.magic = WEFT_RENDEZVOUS_MAGIC,
				   .version = WEFT_RENDEZVOUS_VERSION,
				   .pid = getpid()};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	for (size_t i = 0; i < sizeof(question); i++)
		question[i] =
			(uint8_t)(vandal_below(&writer, 3) ? 'a' + i % 26 : vandal_any(&writer));
	hello.flags = (uint32_t)vandal_odd_number(&writer);
	set.text_bytes = (uint32_t)vandal_lie(&writer, set.text_bytes);
	if (vandal_below(&writer, 2)) {
		memcpy(question, &hello, sizeof(hello));
	} else if (vandal_below(&writer, 4)) {
		memcpy(question, &set, sizeof(set));
		memcpy(question + sizeof(set), "app.Vandal*#throttle=1/s\napp.*#enabled=x\n", 41);
	}
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)))
		(void)!send(fd, question,
			    vandal_below(&writer, 2) ? sizeof(struct weft_hello)
						     : vandal_below(&writer, sizeof(question)),
			    MSG_NOSIGNAL);
	if (fd >= 0)
		close(fd);
}

static void live(const char *path, uint64_t seed)
{
	uint64_t naps;
	pthread_t thread;

	if (target_join(&target, path))
		return;
	own(target.header, seed);
	naps = 1 + vandal_below(&writer, LIFE_NAPS);
	__atomic_store_n(&is_over, 0, __ATOMIC_RELEASE);
	if (pthread_create(&thread, NULL, spoil, NULL))
		_exit(1);
	while (naps > 0) {
		vandal_write(&writer);
		if (vandal_below(&writer, 32) == 0) {
			nap();
			naps--;
		}
		if (vandal_below(&writer, 2000) == 0)
			knock(path);
	}
	if (vandal_below(&writer, 3) == 0)
		end_badly();
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	/* one time in four it goes on as if it had never joined */
	if (vandal_below(&writer, 4))
		target_leave(&target);
}

int main(int argc, char **argv)
{
	const char *path = getenv("WEFT_SOCKET");
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	char next[32];

	self = argv;
	if (argc != 2 || !path)
		return 2;
	for (uint64_t i = 0; i < 3; i++)
		live(path, seed * 3 + i);
	if (vandal_below(&writer, 2))
		return 0;
	snprintf(next, sizeof(next), "%llu", (unsigned long long)seed + 1000003);
	execl("/proc/self/exe", self[0], next, (char *)NULL);
	return 1;
}
#else
#define AT_A_TIME 3
#define WORKERS 2
#define HONEST_ROUNDS 3000000

static struct weft_event_type event_type = {
	.name = "app.Guest",
	WEFT_EVENT_FIELDS({.name = "n", .kind = WEFT_EVENT_LONG},
			  {.name = "text", .kind = WEFT_EVENT_STRING}),
};

/* ---- a guest */

static void *work(void *arg)
{
	uint64_t n = 0;
	char value[16];

	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		snprintf(value, sizeof(value), "%llu", (unsigned long long)n % 50);
		weft_context_set(n % 20, n % 3);
		weft_label_set("tenant", value);
		weft_event_emit(&event_type, WEFT_LONG((int64_t)n), WEFT_STRING(value));
		if (n++ % 1000 == 0)
			nap();
	}
	return arg;
}

static void begin(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		_exit(1);
}

/* The runtime goes by what is spoilt, and may crash or never end: that is the guest's own doing. */
static int guest(uint64_t seed)
{
	struct weft_session_header *session = own_session();

	if (!session)
		return 3;
	own(session, seed);
	if (mprotect(session, writer.layout.total_bytes, PROT_READ | PROT_WRITE))
		return 4;
	for (int i = 0; i < WORKERS; i++)
		begin(work);
	for (uint64_t naps = 1 + vandal_below(&writer, LIFE_NAPS); naps > 0; naps--)
		nap();
	begin(spoil);
	for (uint64_t naps = 1 + vandal_below(&writer, LIFE_NAPS); naps > 0; naps--)
		nap();
	if (vandal_below(&writer, 4) == 0)
		execl("/proc/self/exe", self[0], self[1], "leaf", (char *)NULL);
	end_badly();
	return 1;
}

/* ---- who begins them */

static volatile sig_atomic_t is_enough;

static void enough(int signo)
{
	(void)signo;
	is_enough = 1;
}

static __attribute__((noinline)) uint64_t honest_work(uint64_t seed)
{
	for (uint64_t i = 0; i < HONEST_ROUNDS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

struct child {
	pid_t pid;
	uint64_t rounds; /* so many, and it is killed */
};

static void begin_child(struct vandal *v, struct child *c, const char *stranger)
{
	int is_guest = vandal_below(v, 3) == 0;
	char seed[32];

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)vandal_below(v, 1000000000));
	c->rounds = 1 + vandal_below(v, 200);
	c->pid = fork();
	if (c->pid)
		return;
	signal(SIGTERM, SIG_DFL);
	if (is_guest)
		execl("/proc/self/exe", self[0], seed, "guest", (char *)NULL);
	unsetenv("LD_PRELOAD");
	execl(stranger, stranger, seed, (char *)NULL);
	_exit(127);
}

/* 1: it is gone. */
static int look_after(struct child *c)
{
	if (c->pid <= 0)
		return 1;
	if (--c->rounds == 0)
		kill(c->pid, SIGKILL);
	if (waitpid(c->pid, NULL, c->rounds ? WNOHANG : 0) != c->pid)
		return 0;
	c->pid = 0;
	return 1;
}

static int begin_all(uint64_t seed, uint64_t children, const char *stranger)
{
	struct child child[AT_A_TIME] = {{0}};
	struct vandal v = {0};
	uint64_t sum = 0;
	int left = 0;

	vandal_seed(&v, seed);
	signal(SIGTERM, enough);
	do {
		children = is_enough ? 0 : children;
		sum += honest_work(seed);
		left = 0;
		for (int i = 0; i < AT_A_TIME; i++) {
			if (look_after(&child[i]) && children > 0) {
				children--;
				begin_child(&v, &child[i], stranger);
			}
			left += child[i].pid > 0;
		}
	} while (left || children);
	puts("done");
	return sum ? 7 : 1;
}

int main(int argc, char **argv)
{
	const struct rlimit none = {0, 0};
	uint64_t seed = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;

	self = argv;
	setrlimit(RLIMIT_CORE, &none);
	if (argc == 3 && !strcmp(argv[2], "guest"))
		return guest(seed);
	if (argc == 3 && !strcmp(argv[2], "leaf"))
		return honest_work(seed) == 0;
	if (argc == 4)
		return begin_all(seed, strtoull(argv[2], NULL, 10), argv[3]);
	return 2;
}
#endif
