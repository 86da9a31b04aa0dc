/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a process that is attached to, and lies. Its session (a memfd as the runtime
 * makes it, then spoilt by the input: header, slots, states, positions) is looked for, checked,
 * taken over, ordered about, drained while more is spoilt, counted and left. What is refused must
 * be explained, and is not written to; what is taken has a layout that lies within the file.
 */
#include "base/clock.h"
#include "base/session_layout.h"
#include "collector/session/attach.h"
#include "collector/session/session_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/write/process_work.h"
#include "table_recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SLOTS 64
#define SLOTS_SPOILT 8
#define STEPS 32

struct scene {
	struct recipe in;
	pid_t target;
	int fd;
	struct weft_session_header good, *header;
	struct attach_target found;
	struct process *process;
	struct session *session;
};

static void need(int holds)
{
	if (!holds)
		abort();
}

/* One for all inputs: it only has to be there, and to sleep. */
static pid_t sleeper(void)
{
	static pid_t pid;

	if (!pid) {
		pid = fork();
		while (pid == 0)
			if (getppid() == 1)
				_exit(0);
			else
				usleep(100000);
	}
	return pid;
}

static void make_session(struct scene *s)
{
	s->target = sleeper();
	need(weft_session_layout(&s->good, SLOTS, WEFT_RING_BYTES_MIN, 0) == 0);
	s->fd = memfd_create("weft-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	need(s->fd >= 0 && ftruncate(s->fd, (off_t)s->good.total_bytes) == 0);
	need(fcntl(s->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0);
	s->header = mmap(NULL, s->good.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	need(s->header != MAP_FAILED);
	s->good.pid = s->target;
	s->good.features = WEFT_FEATURE_RUNTIME_MADE;
	s->good.session_id = 1;
	s->good.cookie = 0x123456;
	s->good.prime_signal_used = SIGURG;
	memcpy(s->header, &s->good, sizeof(s->good));
}

static void spoil_bytes(struct scene *s, uint8_t *at, size_t room)
{
	uint64_t where = recipe_take(&s->in, 2), count = recipe_take(&s->in, 1) % 16;

	for (uint64_t i = 0; i < count; i++)
		at[(where + i) % room] = (uint8_t)recipe_take(&s->in, 1);
}

static void spoil_slot(struct scene *s)
{
	uint32_t index = (uint32_t)recipe_take(&s->in, 1) % SLOTS_SPOILT;
	struct weft_slot *slot = weft_session_slot(s->header, &s->good, index);
	uint64_t *word = &weft_session_states(s->header, &s->good)[index];
	uint64_t kind = recipe_take(&s->in, 1);

	if (kind & 1)
		*word = recipe_take(&s->in, 8);
	else
		*word = WEFT_STATE_WORD(kind >> 4, recipe_take(&s->in, 1) % 6) |
			(kind & 2 ? WEFT_SLOT_HELD : 0);
	if (kind & 4)
		spoil_bytes(s, (uint8_t *)slot, WEFT_SLOT_TOUCHED_BYTES);
	slot->samples_p.head += recipe_take(&s->in, 2);
	slot->samples_p.written += recipe_take(&s->in, 1);
	if (s->header->slots_high <= index)
		s->header->slots_high = index + 1;
}

static void spoil(struct scene *s)
{
	switch (recipe_take(&s->in, 1) % 4) {
	case 0:
		spoil_bytes(s, (uint8_t *)s->header, sizeof(*s->header));
		break;
	case 1:
		s->header->slots_high = (uint32_t)recipe_take(&s->in, 4);
		break;
	default:
		spoil_slot(s);
	}
}

/* The sleeper has no weft, whatever lies here: what is found must be refused, in words. */
static void look_elsewhere(struct scene *s)
{
	struct attach_target other;
	char text[512] = "";
	enum attach_verdict verdict = attach_find(&other, s->target, 1);

	need(verdict != ATTACH_FINE && other.fd < 0);
	attach_explain(&other, verdict, text, sizeof(text));
	need(strlen(text) > 5);
}

static int check(struct scene *s)
{
	struct weft_session_header before = *s->header;
	int rc;

	s->found = (struct attach_target){.pid = s->target, .fd = dup(s->fd)};
	rc = attach_check(s->found.fd, s->target, 0, &s->found.layout);
	need(memcmp(&before, s->header, sizeof(before)) == 0);
	if (rc) {
		attach_target_close(&s->found);
		return 0;
	}
	need(s->found.layout.total_bytes <= s->good.total_bytes &&
	     weft_session_validate(&s->found.layout, s->good.total_bytes) == 0);
	return 1;
}

static void take_over(struct scene *s)
{
	struct session_settings settings = {.period_ns = 5000000,
					    .stack_mode = WEFT_STACK_AUTO,
					    .stack_copy_bytes = 16384,
					    .prime_signal = SIGURG,
					    .engines = WEFT_ENGINE_CPU,
					    .socket = "/nowhere"};

	need(process_new(&s->process, s->target) == 0);
	s->process->inside_pid = s->target;
	s->process->session_id = 1;
	s->process->opened_ns = clock_mono_ns();
	need(session_attach(&s->session, s->process, &s->found, &settings) == 0);
}

static void work(struct scene *s)
{
	struct order_search search = {0};
	struct session_counts counts;
	struct queue queue;

	need(queue_init(&queue, 1 << 22) == 0);
	for (unsigned int i = 0; i < STEPS && s->in.at < s->in.end; i++) {
		spoil(s);
		session_drain(s->session, &queue, DRAIN_RUNNING);
		need(session_attach_state(s->session) <= 0);
		need(order_try(s->session->process, WEFT_ORDER_ATTACH, 0, &search) <=
		     0); /* it sleeps */
		session_tidy(s->session, clock_mono_ns());
	}
	session_stop(s->session);
	session_drain(s->session, &queue, DRAIN_STOPPED);
	session_count(s->session, &counts);
	session_leave(s->session);
	need(s->header->run_state == WEFT_RUN_CLOSED);
	session_free(s->session);
	process_free(s->process);
	queue_destroy(&queue);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene s = {.in = {data, data + size}};
	uint64_t before;

	make_session(&s);
	before = recipe_take(&s.in, 1);
	for (uint64_t i = 0; i < before % 16; i++)
		spoil(&s);
	if (before > 250)
		look_elsewhere(&s);
	if (check(&s)) {
		take_over(&s);
		work(&s);
	}
	munmap(s.header, s.good.total_bytes);
	close(s.fd);
	need(waitpid(s.target, NULL, WNOHANG) == 0); /* alive */
	return 0;
}
