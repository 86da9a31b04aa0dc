/* SPDX-License-Identifier: Apache-2.0 */
/* One session for one target; see the header. Slots are never given back: there are enough. */
#include "target_session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/abi/rendezvous.h>

#define RING_BYTES (1024 * 1024)
#define WORDS_MAX 32

static int make_session(struct target_session *t)
{
	struct weft_session_header *h = &t->layout;
	void *at;

	t->fd = memfd_create("target", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (t->fd < 0 || weft_session_layout(h, TARGET_SLOTS, RING_BYTES, RING_BYTES) ||
	    ftruncate(t->fd, (off_t)h->total_bytes) ||
	    fcntl(t->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) ||
	    getrandom(&h->cookie, sizeof(h->cookie), 0) != sizeof(h->cookie))
		return -EIO;
	h->cookie |= 1;
	h->session_id = h->cookie;
	h->run_state = WEFT_RUN_RECORDING;
	h->collector_pid = getpid();
	h->period_ns = 1000000000;
	h->engines = WEFT_ENGINE_CPU;
	h->stack_copy_bytes = 64;
	h->frames_max = WEFT_FRAMES_MAX;
	h->timer_budget = 0;
	at = mmap(NULL, h->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, t->fd,
		  0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	t->shared = at;
	memcpy(t->shared, h, sizeof(*h));
	return 0;
}

/* The file's time in whole seconds: the target waits a second (abi/rendezvous.h). */
static int listen_for_it(struct target_session *t)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL)}};
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	memcpy(t->folder, "/tmp/weft-target-XXXXXX", sizeof("/tmp/weft-target-XXXXXX"));
	if (!mkdtemp(t->folder))
		return -errno;
	snprintf(t->path, sizeof(t->path), "%s/s", t->folder);
	memcpy(a.sun_path, t->path, sizeof(t->path));
	t->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (t->listener < 0 || bind(t->listener, (struct sockaddr *)&a, sizeof(a)) ||
	    utimensat(AT_FDCWD, t->path, times, 0) || listen(t->listener, 1))
		return -errno;
	return 0;
}

int target_session_open(struct target_session *t)
{
	int failed;

	memset(t, 0, sizeof(*t));
	t->listener = t->fd = -1;
	failed = make_session(t);
	if (!failed)
		failed = listen_for_it(t);
	for (uint32_t i = 0; i < TARGET_SLOTS && !failed; i++) {
		struct weft_slot *slot = target_session_slot(t, i);

		ring_reader_open(&t->readers[i], &slot->samples_p, &slot->samples_c,
				 (uint8_t *)slot + t->layout.samples_offset,
				 t->layout.samples_bytes);
	}
	return failed;
}

static int welcome(struct target_session *t, int client)
{
	struct weft_welcome w = {.magic = WEFT_RENDEZVOUS_MAGIC,
				 .version = WEFT_RENDEZVOUS_VERSION,
				 .collector_pid = getpid(),
				 .total_bytes = t->layout.total_bytes};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {&w, sizeof(w)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &t->fd, sizeof(t->fd));
	return sendmsg(client, &m, MSG_NOSIGNAL) == sizeof(w) ? 0 : -errno;
}

/* Until it says hello, or is dead. */
static int meet(struct target_session *t)
{
	struct pollfd p = {.fd = t->listener, .events = POLLIN};
	struct weft_hello hello;
	int client, failed = -EPROTO;

	while (poll(&p, 1, 100) <= 0)
		if (waitpid(t->pid, NULL, WNOHANG) == t->pid)
			return -ECHILD;
	client = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC);
	if (client < 0)
		return -errno;
	if (recv(client, &hello, sizeof(hello), 0) == sizeof(hello)) {
		t->shared->pid = hello.pid;
		failed = welcome(t, client);
	}
	close(client);
	return failed;
}

static _Noreturn void become_target(const struct target_session *t, char **argv,
				    const char *variable, const char *value)
{
	char *wrapper = getenv("MESON_EXE_WRAPPER"), *words[WORDS_MAX + 2], *rest = NULL;
	int count = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("WEFT_SOCKET", t->path, 1);
	setenv(variable, value, 1);
	if (wrapper)
		for (char *w = strtok_r(wrapper, " ", &rest); w && count < WORDS_MAX;
		     w = strtok_r(NULL, " ", &rest))
			words[count++] = w;
	words[count++] = argv[0];
	words[count] = NULL;
	execvp(words[0], words);
	_exit(127);
}

int target_session_start(struct target_session *t, char **argv, const char *variable,
			 const char *value)
{
	fflush(stdout);
	t->pid = fork();
	if (t->pid < 0)
		return -errno;
	if (t->pid == 0)
		become_target(t, argv, variable, value);
	return meet(t);
}

struct weft_slot *target_session_slot(struct target_session *t, uint32_t index)
{
	return weft_session_slot(t->shared, &t->layout, index);
}

static enum weft_slot_state state_of(struct target_session *t, uint32_t index)
{
	const uint64_t *words = weft_session_states(t->shared, &t->layout);

	return WEFT_STATE_OF(__atomic_load_n(&words[index], __ATOMIC_ACQUIRE));
}

int target_session_is_live(struct target_session *t, uint32_t index)
{
	return state_of(t, index) == WEFT_SLOT_LIVE;
}

int target_session_drain(struct target_session *t, target_sample_fn *take, void *arg)
{
	static _Alignas(8) uint8_t record[WEFT_STACK_COPY_MAX * 2];
	int bytes, unreadable = 0;

	for (uint32_t i = 0; i < TARGET_SLOTS; i++) {
		enum weft_slot_state state = state_of(t, i);

		if (state == WEFT_SLOT_FREE || state == WEFT_SLOT_OPENING)
			continue;
		while ((bytes = ring_reader_next(&t->readers[i], record, sizeof(record))) != 0) {
			const struct weft_sample_record *r = (const void *)record;

			if (bytes < (int)sizeof(*r) || r->record.type != WEFT_RECORD_SAMPLE)
				unreadable++;
			else
				take(arg, i, r);
		}
		ring_reader_release(&t->readers[i]);
	}
	return unreadable;
}

uint64_t target_session_counter(struct target_session *t, enum weft_counter counter)
{
	uint64_t sum = t->shared->counters[counter];

	for (uint32_t i = 0; i < TARGET_SLOTS; i++)
		sum += target_session_slot(t, i)->counters[counter];
	return sum;
}

void target_session_close(struct target_session *t)
{
	if (t->listener >= 0)
		close(t->listener);
	if (t->path[0])
		unlink(t->path);
	if (t->folder[0])
		rmdir(t->folder);
	if (t->shared)
		munmap(t->shared, t->layout.total_bytes);
	if (t->fd >= 0)
		close(t->fd);
}
