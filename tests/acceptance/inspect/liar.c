/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liar SEED: a process whose memory is full of lies to whoever looks at it from outside: a session,
 * an OTEL_CTX mapping, label sets and records, made sound first and then spoilt at random,
 * variables that lead to them or anywhere. Threads go on spoiling, so that nothing stays as it
 * was. Prints "ready", then lies until it is killed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_process_context.h>
#include <weft/abi/otel_thread_context.h>

#include "base/session_layout.h"

#define THREADS 3
#define SLOTS 64
#define PAGE 4096
#define SCRATCH (64 * PAGE)

const uint32_t custom_labels_abi_version = 1;
__thread void *custom_labels_current_set;
__thread void *otel_thread_ctx_v1;

static struct weft_session_header *session, layout; /* layout: as it is, whatever session says */
static uint8_t *process_context, *scratch;

/* xorshift: each thread its own, from the seed. */
static uint64_t any(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *mapped(const char *name, uint64_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	void *at;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		exit(1);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		exit(1);
	close(fd);
	return at;
}

static uint64_t address_of(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Somewhere that is likely to be there; now and then anywhere. */
static uint64_t any_address(uint64_t *state)
{
	switch (any(state) % 6) {
	case 0:
		return address_of(session) + any(state) % (layout.total_bytes - 64);
	case 1:
		return address_of(process_context) + any(state) % PAGE;
	case 2:
		return any(state);
	case 3:
		return 0;
	default:
		return address_of(scratch) + any(state) % SCRATCH;
	}
}

static struct weft_slot *any_slot(uint64_t *state)
{
	return weft_session_slot(session, &layout, (uint32_t)(any(state) % THREADS));
}

static void make_session(void)
{
	struct weft_session_header h = {0};

	weft_session_layout(&h, SLOTS, WEFT_RING_BYTES_MIN, WEFT_RING_BYTES_MIN);
	session = mapped("weft-session", h.total_bytes);
	h.magic = WEFT_SESSION_MAGIC;
	h.version = WEFT_SESSION_VERSION;
	h.header_bytes = WEFT_SESSION_HEADER_BYTES;
	h.pid = getpid();
	h.session_id = 1;
	h.slots_high = h.slots_used = THREADS;
	h.blocks_open = 1;
	h.formats = 7;
	h.labels_max = WEFT_CUSTOM_LABELS_DEFAULT;
	h.mapped_at = address_of(session);
	*session = layout = h;
}

static void take_slot(uint32_t index)
{
	struct weft_slot *slot = weft_session_slot(session, &layout, index);

	slot->thread.tid = gettid();
	slot->thread.generation = 1;
	slot->ext.seq = 2;
	slot->ext.label_set = address_of(slot->labels);
	weft_session_states(session, &layout)[index] = WEFT_STATE_WORD(1, WEFT_SLOT_LIVE);
}

static void lie_about_set(uint64_t *state, struct weft_custom_labels_set *set)
{
	uint64_t storage = any(state) % 2 ? address_of(set + 1) : any_address(state);

	set->count = any(state) % 4 ? any(state) % 12 : any(state);
	memcpy(&set->storage, &storage, sizeof(storage));
	for (unsigned int i = 0; i < 10; i++) {
		uint64_t words[] = {
			any(state) % 4 ? any(state) % 300 : any(state), any_address(state),
			any(state) % 4 ? any(state) % 300 : any(state), any_address(state)};

		memcpy((struct weft_custom_labels_label *)(set + 1) + i, words, sizeof(words));
	}
}

static void lie_about_record(uint64_t *state, struct weft_otel_record *r)
{
	r->valid = any(state) % 8 ? 1 : (uint8_t)any(state);
	r->attributes_bytes = (uint16_t)(any(state) % 4 ? any(state) % 640 : any(state));
	for (unsigned int i = 0; i < sizeof(r->attributes); i++)
		r->attributes[i] = (uint8_t)(any(state) % 16);
}

static void lie_about_process(uint64_t *state)
{
	struct weft_otel_process_header h = {.version = WEFT_OTEL_PROCESS_VERSION};

	memcpy(h.signature, WEFT_OTEL_PROCESS_SIGNATURE, sizeof(h.signature));
	h.payload_bytes = (uint32_t)(any(state) % 4 ? any(state) % 200 : any(state));
	h.published_ns = any(state) % 8;
	h.payload = any(state) % 4 ? address_of(process_context) + sizeof(h) : any_address(state);
	memcpy(process_context, &h, sizeof(h));
	process_context[sizeof(h) + any(state) % 200] = (uint8_t)any(state);
}

static void lie_about_session(uint64_t *state)
{
	uint8_t *at = any(state) % 4 ? (uint8_t *)any_slot(state) : (uint8_t *)session;

	if (at == (uint8_t *)session && any(state) % 16)
		return; /* mostly sound, or nobody would look further */
	at[any(state) % PAGE] = (uint8_t)any(state);
}

static void *lie(void *arg)
{
	uint64_t state = (uint64_t)(uintptr_t)arg * UINT64_C(0x9E3779B97F4A7C15) | 1;
	uint32_t index = (uint32_t)((uintptr_t)arg % THREADS);

	take_slot(index);
	for (;;) {
		struct weft_slot *slot = weft_session_slot(session, &layout, index);
		uint64_t set = any(&state) % 2 ? address_of(slot->labels) : any_address(&state);
		uint64_t record =
			any(&state) % 2 ? address_of(slot->otel_record) : any_address(&state);

		lie_about_set(&state, (void *)slot->labels);
		lie_about_record(&state, (void *)slot->otel_record);
		lie_about_process(&state);
		lie_about_session(&state);
		scratch[any(&state) % SCRATCH] = (uint8_t)any(&state);
		memcpy(&custom_labels_current_set, &set, sizeof(set));
		memcpy(&otel_thread_ctx_v1, &record, sizeof(record));
		usleep(any(&state) % 4 ? 0 : 300);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	pthread_t thread;

	make_session();
	process_context = mapped("OTEL_CTX", PAGE);
	scratch = mapped("scratch", SCRATCH);
	for (unsigned long i = 1; i < THREADS; i++)
		if (pthread_create(&thread, NULL, lie, (void *)(uintptr_t)(seed * THREADS + i)))
			return 1;
	if (puts("ready") < 0 || fflush(stdout))
		return 1;
	lie((void *)(uintptr_t)(seed * THREADS));
	return 0;
}
