/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collector of few lines, for the runtime's own tests: serves the rendezvous, hands every
 * process a session, drains it, and prints what it found, one line a session:
 *
 *   session pid=N flags=N samples=N weight=N ... <every counter>=N ...
 *   span ID root=ID trace=HEX tag0=N samples=N frames=N pid=N
 *
 * tiny [-s SLOTS] [-b BUDGET] [-p PERIOD_NS] [-r RING] [-x STOP_AFTER_MS] [-n] [-l LIB]
 *      [-S MODE] [-c BYTES] [-z PATH] [-T] -- CMD
 *   -n  never drain   -l  LD_PRELOAD it   -a  abort the collector's work: refuse everybody
 *   -S  raw, auto, table, fp or check, with unwind tables; -T  without tables
 *   -c  bytes of stack copied at most   -z  no map after the first that has this in a path
 * Exits with CMD's status (128 + signal).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/abi/rendezvous.h>

#include "base/ring_consumer.h"
#include "base/session_layout.h"
#include "tiny_tables.h"

#define SESSIONS_MAX 4096
#define SPANS_MAX 4096

struct slot_reader {
	uint64_t generation;
	struct ring_reader samples;
};

struct session {
	struct weft_session_header *h;
	struct weft_session_header layout;
	struct slot_reader *readers;
	uint64_t samples, weight, invalid, mixed, contexts[6], engines, copied, stacks[8];
	uint64_t counters[WEFT_COUNTER_ROOM];
	uint64_t pending, slots_seen, logs[5];
	uint64_t walked, frames, ends[8], stale, equal, different, partial, skipped;
	struct tiny_map *map;
	uint32_t flags;
	int pid;
};

struct span {
	uint64_t id, root, samples, frames;
	uint8_t trace[16];
	uint32_t tag;
	int pid;
};

static struct session sessions[SESSIONS_MAX];
static int session_count;
static struct span spans[SPANS_MAX];
static int span_count;

static uint32_t slots = 1024, budget = 1000, ring_bytes;
static uint64_t period_ns = 1000000;
static int stop_after_ms, never_drain, refuse;
static const char *preload;
static uint32_t stack_mode, copy_bytes = 4096;
static int tables_fd = -1, no_tables;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int make_memfd(struct session *s, const struct weft_hello *hello)
{
	struct weft_session_header *h = &s->layout;
	int fd = memfd_create("tiny", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || weft_session_layout(h, slots, ring_bytes, ring_bytes) ||
	    ftruncate(fd, (off_t)h->total_bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		return -1;
	h->pid = hello->pid;
	h->parent_pid = hello->parent_pid;
	h->session_id = now_ns() | 1;
	h->run_state = WEFT_RUN_RECORDING;
	h->collector_pid = getpid();
	h->period_ns = period_ns;
	h->engines = WEFT_ENGINE_CPU;
	h->stack_copy_bytes = copy_bytes;
	h->stack_mode = stack_mode;
	h->frames_max = WEFT_FRAMES_MAX;
	h->tables_bytes = tables_fd >= 0 ? WEFT_TABLES_BYTES : 0;
	h->timer_budget = budget;
	if (getrandom(&h->cookie, sizeof(h->cookie), 0) != sizeof(h->cookie))
		return -1;
	s->h = mmap(NULL, h->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		    0);
	if (s->h == MAP_FAILED)
		return -1;
	memcpy(s->h, h, sizeof(*h));
	s->readers = calloc(h->slot_count, sizeof(*s->readers));
	return fd;
}

static void send_welcome(int client, int fd, int32_t status, uint64_t total)
{
	struct weft_welcome w = {.magic = WEFT_RENDEZVOUS_MAGIC,
				 .version = WEFT_RENDEZVOUS_VERSION,
				 .status = status,
				 .collector_pid = getpid(),
				 .total_bytes = total,
				 .tables_bytes = tables_fd >= 0 ? WEFT_TABLES_BYTES : 0};
	char control[CMSG_SPACE(2 * sizeof(int))] = {0};
	struct iovec part = {&w, sizeof(w)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[2] = {fd, tables_fd};
	size_t bytes = (tables_fd >= 0 ? 2 : 1) * sizeof(int);

	if (fd >= 0) {
		struct cmsghdr *c = (struct cmsghdr *)(void *)control;

		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(bytes);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(c), fds, bytes);
	}
	if (sendmsg(client, &m, MSG_NOSIGNAL) < 0)
		perror("tiny: sendmsg");
}

static void serve(int listener)
{
	struct weft_hello hello;
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC), fd = -1;
	struct session *s = &sessions[session_count];

	if (client < 0)
		return;
	if (recv(client, &hello, sizeof(hello), 0) != sizeof(hello) ||
	    hello.magic != WEFT_RENDEZVOUS_MAGIC || session_count == SESSIONS_MAX) {
		close(client);
		return;
	}
	if (!refuse)
		fd = make_memfd(s, &hello);
	if (fd >= 0) {
		s->pid = hello.pid;
		s->flags = hello.flags;
		s->map = calloc(1, sizeof(*s->map));
		s->map->pid = hello.pid;
		session_count++;
	}
	send_welcome(client, fd, fd < 0 ? -ECANCELED : 0, fd < 0 ? 0 : s->layout.total_bytes);
	if (fd >= 0)
		close(fd);
	close(client);
}

static void count_span(const struct session *s, const struct weft_sample_record *r)
{
	struct span *p = spans;

	for (; p < spans + span_count; p++)
		if (p->id == r->span_id && p->root == r->root_span_id && p->pid == s->pid &&
		    p->tag == r->tags[0] && !memcmp(p->trace, r->trace_id, 16))
			break;
	if (p == spans + SPANS_MAX)
		return;
	if (p == spans + span_count) {
		*p = (struct span){.id = r->span_id, .root = r->root_span_id};
		p->tag = r->tags[0];
		p->pid = s->pid;
		memcpy(p->trace, r->trace_id, 16);
		span_count++;
	}
	p->samples++;
	p->frames += r->frame_count;
}

#if defined(__x86_64__)
#define MACHINE UNWIND_X86_64
#define PC_REGISTER 16
#else
#define MACHINE UNWIND_AARCH64
#define PC_REGISTER 32
#endif

/* Where two stacks part: on standard error, the first few times. */
static void show_difference(const struct weft_sample_record *r, const uint64_t *theirs,
			    const uint64_t *ours, size_t count, enum unwind_end end)
{
	static int shown;

	if (shown++ > 3)
		return;
	fprintf(stderr, "different: handler %u frames end %u, copy %zu frames end %d\n",
		r->frame_count, r->end, count, end);
	for (size_t i = 0; i < count || i < r->frame_count; i++)
		fprintf(stderr, "  %16lx %16lx\n", i < r->frame_count ? theirs[i] : 0,
			i < count ? ours[i] : 0);
}

/* The copy, walked here, against the frames that the handler found in place. */
static void compare(struct session *s, const struct weft_sample_record *r)
{
	const uint8_t *at = (const uint8_t *)(r + 1) + (size_t)r->register_count * 8;
	const uint64_t *theirs = (const void *)(at + r->copy_bytes);
	struct unwind_memory memory = {
		.bytes = at, .address = r->copy_address, .size = r->copy_bytes};
	struct unwind_registers regs = {.valid = (UINT64_C(1) << PC_REGISTER) - 1};
	uint64_t ours[WEFT_FRAMES_MAX];
	enum unwind_end end;
	size_t count;

	if (r->map_number != s->map->number || r->flags & WEFT_SAMPLE_STALE_MAP) {
		s->skipped++;
		return;
	}
	memcpy(regs.r, r + 1, (size_t)r->register_count * 8);
	regs.pc = regs.r[PC_REGISTER];
	count = unwind_walk(&regs, &memory, tiny_map_find, s->map, MACHINE, ours, WEFT_FRAMES_MAX,
			    &end);
	/* The copy may be cut, or lack the stack that a signal frame leads to. */
	if (end == UNWIND_END_COPY_LIMIT && count < r->frame_count &&
	    !memcmp(ours, theirs, count * 8))
		s->partial++;
	else if (count == r->frame_count && end == (enum unwind_end)r->end &&
		 !memcmp(ours, theirs, count * 8))
		s->equal++;
	else {
		s->different++;
		show_difference(r, theirs, ours, count, end);
	}
}

static void take_frames(struct session *s, const struct weft_sample_record *r, int bytes)
{
	uint64_t before = sizeof(*r);

	if (r->stack == WEFT_SAMPLE_RAW)
		before += (uint64_t)r->register_count * 8 + r->copy_bytes;
	if (r->stack == WEFT_SAMPLE_FRAMES ? r->frame_count == 0 || r->register_count
					   : !(r->flags & WEFT_SAMPLE_CHECK))
		s->invalid += r->stack == WEFT_SAMPLE_FRAMES || r->frame_count;
	else if (before + (uint64_t)r->frame_count * 8 != (uint64_t)bytes)
		s->invalid++;
	else {
		s->walked++;
		s->frames += r->frame_count;
		s->ends[r->end & 7]++;
		if (r->stack == WEFT_SAMPLE_RAW)
			compare(s, r);
	}
	s->stale += (r->flags & WEFT_SAMPLE_STALE_MAP) != 0;
}

static void take(struct session *s, const struct weft_sample_record *r, int bytes)
{
	if (bytes < (int)sizeof(*r) || r->record.type != WEFT_RECORD_SAMPLE) {
		s->invalid++;
		return;
	}
	s->samples++;
	s->weight += r->weight;
	s->contexts[r->context % 6]++;
	s->stacks[r->flags & 7]++;
	s->copied += r->copy_bytes;
	take_frames(s, r, bytes);
	if (r->copy_bytes && (uintptr_t)r->copy_address % 8)
		s->invalid++;
	/* What `victim hammer` writes: every field tells the same number. */
	if (r->span_id >> 48 == 0x5EED) {
		uint64_t trace;

		memcpy(&trace, r->trace_id, sizeof(trace));
		s->mixed += r->root_span_id != ~r->span_id ||
			    (r->context == WEFT_CONTEXT_TRACE && trace != r->span_id + 1);
		return;
	}
	count_span(s, r);
}

static void drain_ring(struct session *s, struct slot_reader *r)
{
	static _Alignas(8) uint8_t record[65536];
	int bytes;

	while ((bytes = ring_reader_next(&r->samples, record, sizeof(record))) != 0) {
		if (bytes < 0) {
			s->invalid++;
			break;
		}
		take(s, (void *)record, bytes);
	}
	ring_reader_release(&r->samples);
}

/* The slot is ours: its books are added up, and zero for the next owner. */
static void close_slot(struct session *s, struct slot_reader *r, struct weft_slot *slot)
{
	for (int i = 0; i < WEFT_COUNTER_ROOM; i++)
		s->counters[i] += __atomic_load_n(&slot->counters[i], __ATOMIC_RELAXED);
	s->pending += slot->samples_p.written - r->samples.delivered -
		      slot->counters[WEFT_COUNTER_LOST_STOLEN];
	memset(slot->counters, 0, sizeof(slot->counters));
	memset(&slot->samples_p, 0, sizeof(slot->samples_p));
	memset(&slot->samples_c, 0, sizeof(slot->samples_c));
	r->samples.delivered = 0;
}

static int word_changes(uint64_t *word, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* A generation not met before; a stolen slot's books go on. */
static void meet(struct session *s, struct slot_reader *r, struct weft_slot *slot,
		 uint64_t generation)
{
	uint64_t delivered = r->samples.delivered;

	if (r->generation == generation)
		return;
	ring_reader_open(&r->samples, &slot->samples_p, &slot->samples_c,
			 (uint8_t *)slot + s->layout.samples_offset, s->layout.samples_bytes);
	r->samples.delivered = delivered;
	r->generation = generation;
	s->slots_seen++;
}

static void drain_slot(struct session *s, uint32_t i, int final)
{
	uint64_t *word = &weft_session_states(s->h, &s->layout)[i];
	uint64_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	struct weft_slot *slot = weft_session_slot(s->h, &s->layout, i);
	struct slot_reader *r = &s->readers[i];
	uint64_t generation = WEFT_GENERATION_OF(seen);

	if (WEFT_STATE_OF(seen) == WEFT_SLOT_FREE ||
	    (WEFT_STATE_OF(seen) == WEFT_SLOT_OPENING && !final))
		return;
	if (WEFT_STATE_OF(seen) == WEFT_SLOT_LIVE && !final) {
		if (!word_changes(word, seen, seen | WEFT_SLOT_HELD))
			return;
		meet(s, r, slot, generation);
		drain_ring(s, r);
		__atomic_fetch_and(word, ~(uint64_t)WEFT_SLOT_HELD, __ATOMIC_RELEASE);
		return;
	}
	if (!word_changes(word, seen, WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING)))
		return;
	if (WEFT_STATE_OF(seen) != WEFT_SLOT_OPENING) {
		meet(s, r, slot, generation);
		drain_ring(s, r);
	}
	close_slot(s, r, slot);
	__atomic_store_n(word, WEFT_STATE_WORD(generation, WEFT_SLOT_FREE), __ATOMIC_RELEASE);
	__atomic_fetch_or(&weft_session_free_bits(s->h, &s->layout)[i / 64], UINT64_C(1) << i % 64,
			  __ATOMIC_RELEASE);
}

static void drain(struct session *s, int final)
{
	uint32_t high = __atomic_load_n(&s->h->slots_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < high && i < s->layout.slot_count; i++)
		drain_slot(s, i, final);
}

static void read_log(struct session *s, uint64_t offset, uint64_t head)
{
	for (uint64_t at = 0; at < head;) {
		const struct weft_log_record *r = (void *)((uint8_t *)s->h + offset + at);

		if (r->bytes < sizeof(*r) || r->bytes % 8 || r->type > 4)
			break;
		s->logs[r->type]++;
		at += r->bytes;
	}
}

static void print_session(struct session *s)
{
	const struct weft_session_header *h = s->h;
	static const char *const names[WEFT_COUNTER_ROOM] = {
#define NAME(number, id, name, kind, text) [number] = name,
		WEFT_COUNTERS(NAME)
#undef NAME
	};

	enum kind { BOOK, LOST, CUT, CTX, INFO };
	static const int is_lost[WEFT_COUNTER_ROOM] = {
#define IS_LOST(number, id, name, kind, text) [number] = (kind) == LOST,
		WEFT_COUNTERS(IS_LOST)
#undef IS_LOST
	};

	read_log(s, s->layout.dict_offset, h->dict_head);
	read_log(s, s->layout.modules_offset, h->modules_head);
	printf("session pid=%d flags=%u samples=%lu weight=%lu bad_records=%lu pending=%lu", s->pid,
	       s->flags, s->samples, s->weight, s->invalid, s->pending);
	printf(" ctx_none=%lu ctx_ids=%lu ctx_trace=%lu ctx_busy=%lu ctx_bad=%lu ctx_slotless=%lu",
	       s->contexts[0], s->contexts[1], s->contexts[2], s->contexts[3], s->contexts[4],
	       s->contexts[5]);
	printf(" mixed=%lu", s->mixed);
	printf(" slots_high=%u slots_used=%u slots_seen=%lu hook_calls=%u hooks=%u timers=%u",
	       h->slots_high, h->slots_used, s->slots_seen, h->hook_calls, h->hooks,
	       h->timers_armed);
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++)
		if (is_lost[i])
			s->counters[WEFT_COUNTER_ATTEMPTED] += h->counters[i];
	printf(" strings=%lu names=%lu modules=%lu commands=%lu target_state=%u copied=%lu",
	       s->logs[1], s->logs[2], s->logs[3], s->logs[4], h->target_state, s->copied);
	printf(" walked=%lu frames=%lu end_outermost=%lu end_max=%lu end_no_module=%lu "
	       "end_no_rule=%lu end_copy=%lu end_bad=%lu",
	       s->walked, s->frames, s->ends[0], s->ends[1], s->ends[2], s->ends[3], s->ends[4],
	       s->ends[5]);
	printf(" stale=%lu equal=%lu different=%lu partial=%lu skipped=%lu maps=%u", s->stale,
	       s->equal, s->different, s->partial, s->skipped, s->map->number);
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++)
		printf(" %s=%lu", names[i], s->counters[i] + h->counters[i]);
	printf("\n");
}

static void print_span(const struct span *p)
{
	printf("span %lx root=%lx trace=", p->id, p->root);
	for (int i = 0; i < 16; i++)
		printf("%02x", p->trace[i]);
	printf(" tag0=%u samples=%lu frames=%lu pid=%d\n", p->tag, p->samples, p->frames, p->pid);
}

/* So programs wait a second for an answer (abi/rendezvous.h). */
static int set_whole_second(const char *path)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL)}};

	return utimensat(AT_FDCWD, path, times, 0);
}

static int open_listener(char *path, size_t room)
{
	char folder[] = "/tmp/weft-tiny-XXXXXX";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (!mkdtemp(folder))
		return -1;
	snprintf(path, room, "%s/s", folder);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || set_whole_second(path) || listen(fd, 128))
		return -1;
	return fd;
}

static void usage_exit(void)
{
	fprintf(stderr, "usage: tiny [-s N] [-b N] [-p NS] [-r N] [-x MS] [-n] [-a] [-l LIB]\n"
			"            [-S MODE] [-c N] [-z PATH] [-T] CMD\n");
	exit(2);
}

static uint32_t mode_of(const char *word)
{
	static const char *const words[] = {"raw", "auto", "table", "fp", "check"};

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i]))
			return i;
	usage_exit();
	return 0;
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "+s:b:p:r:x:l:S:c:z:naT")) != -1) {
		switch (c) {
		case 's':
			slots = (uint32_t)atoi(optarg);
			break;
		case 'b':
			budget = (uint32_t)atoi(optarg);
			break;
		case 'p':
			period_ns = (uint64_t)atoll(optarg);
			break;
		case 'r':
			ring_bytes = (uint32_t)atoi(optarg);
			break;
		case 'x':
			stop_after_ms = atoi(optarg);
			break;
		case 'l':
			preload = optarg;
			break;
		case 'S':
			stack_mode = mode_of(optarg);
			break;
		case 'c':
			copy_bytes = (uint32_t)atoi(optarg);
			break;
		case 'z':
			tiny_last_map = optarg;
			break;
		case 'T':
			no_tables = 1;
			break;
		case 'n':
			never_drain = 1;
			break;
		case 'a':
			refuse = 1;
			break;
		default:
			usage_exit();
		}
	}
	if (optind >= argc)
		usage_exit();
}

static void maybe_stop(uint64_t began)
{
	if (!stop_after_ms || now_ns() - began < (uint64_t)stop_after_ms * 1000000)
		return;
	for (int i = 0; i < session_count; i++)
		__atomic_store_n(&sessions[i].h->run_state, WEFT_RUN_STOPPED, __ATOMIC_RELEASE);
}

static int wait_and_drain(int listener, pid_t child)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};
	uint64_t began = now_ns();
	int status;

	for (;;) {
		if (poll(&p, 1, 5) > 0)
			serve(listener);
		maybe_stop(began);
		for (int i = 0; i < session_count && !never_drain; i++) {
			drain(&sessions[i], 0);
			if (tables_fd >= 0)
				tiny_map_publish(sessions[i].map, sessions[i].h,
						 &sessions[i].layout);
		}
		if (waitpid(child, &status, WNOHANG) == child)
			break;
	}
	while (poll(&p, 1, 100) > 0) /* grandchildren that are on their way */
		serve(listener);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	char path[64];
	int listener = open_listener(path, sizeof(path)), status;
	pid_t child;

	options(argc, argv);
	if (listener < 0)
		return 1;
	if (stack_mode != WEFT_STACK_RAW && !no_tables)
		tables_fd = tiny_tables_open();
	child = fork();
	if (child == 0) {
		setenv("WEFT_SOCKET", path, 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execvp(argv[optind], argv + optind);
		_exit(127);
	}
	status = wait_and_drain(listener, child);
	for (int i = 0; i < session_count; i++) {
		drain(&sessions[i], 1);
		print_session(&sessions[i]);
	}
	for (int i = 0; i < span_count; i++)
		print_span(&spans[i]);
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
	return status;
}
