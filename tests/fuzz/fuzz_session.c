/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a target that lies. The input is a list of what it does to its session:
 * claims, records of every kind (RAW, FRAMES, CHECK) with any lengths, counts, ends and map
 * numbers, positions, states, logs of modules and of strings, and bytes anywhere. Between, the
 * collector drains, walks, names and writes, as it does in life, on one thread. In the end
 * the recording must be one that can be read to its end.
 */
#include "base/clock.h"
#include "base/recording.h"
#include "base/session_layout.h"
#include "collector/session/session.h"
#include "collector/walk/process_walk.h"
#include "collector/walk/walk.h"
#include "collector/write/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/write/process_work.h"
#include "table_recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS 64
#define SLOTS 8
#define CODE UINT64_C(0x700000000000)
#define JIT UINT64_C(0x600000000000)
#define STACK UINT64_C(0x7ffe00000000)
/* Every slot below the mark costs the collector a look: enough of them, but not all. */
#define SLOTS_HIGH_MAX 256

struct scene {
	struct recipe in;
	struct session *session;
	struct process *process;
	struct queue queue, walked;
	struct walker walker;
	struct worker worker;
	char path[64];
};

static struct tables tables;
static struct table_cache no_cache = {.fd = -1};
static struct modules *modules;

/* Code as the process has it: libc at a fixed place, JIT code, the vdso. */
static char *maps_text(size_t *bytes)
{
	static char text[1024];
	char line[512], rest[400];
	unsigned long start, end;
	FILE *f = fopen("/proc/self/maps", "r");
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "600000000000-600000100000 r-xp 00000000 00:00 0 \n");

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "r-xp") && strstr(line, "/libc.so") &&
		    sscanf(line, "%lx-%lx %399[^\n]", &start, &end, rest) == 3)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%llx-%llx %s\n",
					      (unsigned long long)CODE,
					      (unsigned long long)(CODE + end - start), rest);
	if (f)
		fclose(f);
	n += (size_t)snprintf(text + n, sizeof(text) - n,
			      "7fff00000000-7fff00002000 r-xp 00000000 00:00 0 [vdso]\n");
	*bytes = n;
	return strdup(text);
}

static struct process *make_process(uint64_t choice)
{
	struct process *p;

	if (process_new(&p, getpid()))
		abort();
	close(p->proc_fd); /* from here on it tells of itself what it likes */
	p->proc_fd = -1;
	free(p->walk->first_maps);
	p->walk->first_maps = choice & 1 ? NULL : maps_text(&p->walk->first_maps_bytes);
	p->inside_pid = INT32_MAX;
	p->session_id = 1;
	p->opened_ns = clock_mono_ns();
	process_walk_jit(p);
	return p;
}

static void begin(struct scene *s, uint64_t choice)
{
	struct session_settings settings = {.period_ns = 5000000,
					    .ring_bytes = WEFT_RING_BYTES_MIN,
					    .stack_mode = WEFT_STACK_AUTO,
					    .stack_copy_bytes = 16384,
					    .tables_bytes = tables.bytes};
	struct recording_options options = {.path = s->path,
					    .command_line = "fuzz",
					    .version = "0",
					    .stack_mode = "auto",
					    .period_ns = settings.period_ns,
					    .inline_context = choice >> 1 & 1};

	snprintf(s->path, sizeof(s->path), "/dev/shm/weft-fuzz-%d.jfr", (int)getpid());
	s->process = make_process(choice);
	if (queue_init(&s->queue, 1 << 24) || queue_init(&s->walked, SIZE_MAX) ||
	    naming_init(&s->worker.naming) || session_new(&s->session, s->process, &settings) ||
	    recording_open(&s->worker.recording, &options))
		abort();
	s->walker = (struct walker){
		.in = &s->queue,
		.out = &s->walked,
		.walking = {.modules = modules, .tables = &tables, .jit_budget = 1 << 20},
	};
	s->worker.queue = &s->walked;
	s->worker.period_ns = settings.period_ns;
	s->worker.naming.writer = recording_writer(s->worker.recording);
	queue_push(&s->queue, batch_new(BATCH_OPEN, s->process, 0));
}

/* The walker and the worker take what there is. */
static void work(struct scene *s)
{
	queue_push(&s->queue, batch_new(BATCH_FINISH, NULL, 0));
	walker_run(&s->walker);
	worker_run(&s->worker);
}

static struct weft_session_header *header(const struct scene *s)
{
	return s->session->process->base;
}

static struct weft_slot *any_slot(struct scene *s, uint32_t *index)
{
	*index = (uint32_t)recipe_take(&s->in, 1) % SLOTS;
	return weft_session_slot(s->session->process->base, &s->session->process->layout, *index);
}

static uint64_t *state_of(const struct scene *s, uint32_t index)
{
	return &weft_session_states(s->session->process->base, &s->session->process->layout)[index];
}

static void claim(struct scene *s)
{
	uint32_t index;
	struct weft_slot *slot = any_slot(s, &index);
	uint64_t generation = WEFT_GENERATION_OF(*state_of(s, index)) + 1;

	memset(&slot->samples_p, 0, sizeof(slot->samples_p));
	memset(&slot->samples_c, 0, sizeof(slot->samples_c));
	memset(slot->counters, 0, sizeof(slot->counters));
	slot->thread.tid = (int32_t)recipe_take(&s->in, 2);
	slot->thread.generation = generation;
	slot->thread.claimed_ns = s->process->opened_ns;
	snprintf(slot->name, sizeof(slot->name), "t%u", index);
	if (header(s)->slots_high <= index)
		header(s)->slots_high = index + 1;
	*state_of(s, index) = WEFT_STATE_WORD(generation, WEFT_SLOT_LIVE);
}

static void publish(struct scene *s, struct weft_slot *slot, const uint8_t *data, uint32_t bytes)
{
	uint8_t *ring = (uint8_t *)slot + s->session->process->layout.samples_offset;
	uint32_t mask = s->session->process->layout.samples_bytes - 1;

	for (uint32_t i = 0; i < bytes; i++)
		ring[(slot->samples_p.head + i) & mask] = data[i];
	slot->samples_p.written++;
	slot->samples_p.head += bytes;
}

static uint64_t any_pc(struct scene *s)
{
	uint64_t kind = recipe_take(&s->in, 1);

	if (kind < 160)
		return CODE + recipe_take(&s->in, 3) % 0x160000;
	if (kind < 200)
		return JIT + recipe_take(&s->in, 3);
	return kind < 230 ? STACK + recipe_take(&s->in, 1) * 8 : recipe_take(&s->in, 8);
}

/* A number that is right most of the time. */
static uint64_t lie(struct scene *s, uint64_t truth, unsigned int bytes)
{
	return recipe_take(&s->in, 1) < 240 ? truth : recipe_take(&s->in, bytes);
}

/* Labels behind the rest of @r, most often whole ones; where they end. */
static uint8_t *put_labels(struct scene *s, struct weft_sample_record *r, uint8_t *at)
{
	uint64_t count = recipe_take(&s->in, 1) % 16;
	uint8_t *from = at;

	if (count > 8)
		return at;
	for (uint64_t i = 0; i < count; i++) {
		struct weft_sample_label head = {
			.key_bytes = (uint16_t)lie(s, 1 + recipe_take(&s->in, 1) % 4, 2),
			.value_bytes = (uint16_t)lie(s, recipe_take(&s->in, 1) % 8, 2),
		};
		uint32_t text = (head.key_bytes + head.value_bytes) % 400u;

		memcpy(at, &head, sizeof(head));
		at += sizeof(head);
		for (uint32_t k = 0; k < text; k++)
			*at++ = (uint8_t)(k < 4 ? recipe_take(&s->in, 1) : k);
	}
	r->label_generation = (uint32_t)lie(s, recipe_take(&s->in, 1) % 4, 4);
	r->label_bytes = (uint16_t)lie(s, (uint64_t)(at - from), 2);
	r->labels_at = (uint32_t)lie(s, (uint64_t)(from - (uint8_t *)r), 4);
	while ((at - (uint8_t *)r) % 8)
		*at++ = 0;
	return at;
}

static void put_sample(struct scene *s)
{
	static uint64_t block[3000];
	uint32_t index;
	struct weft_slot *slot = any_slot(s, &index);
	struct weft_sample_record *r = (void *)block;
	uint64_t *word = (uint64_t *)(r + 1);
	uint64_t kind = recipe_take(&s->in, 1) % 3;
	uint32_t registers = kind == 0 ? 0 : 17, frames, words;

	frames = kind == 1 ? 0 : (uint32_t)recipe_take(&s->in, 1) % 40;
	words = kind == 0 ? 0 : (uint32_t)recipe_take(&s->in, 1);
	memset(block, 0, sizeof(block));
	for (uint32_t i = 0; i < registers; i++)
		*word++ = any_pc(s);
	for (uint32_t i = 0; i < words; i++)
		*word++ = any_pc(s);
	for (uint32_t i = 0; i < frames; i++)
		*word++ = any_pc(s);
	word = (uint64_t *)(void *)put_labels(s, r, (uint8_t *)word);
	r->record.bytes = (uint32_t)lie(s, (uint64_t)((uint8_t *)word - (uint8_t *)block), 4);
	r->record.type = (uint16_t)lie(s, WEFT_RECORD_SAMPLE, 1);
	r->record.generation = (uint32_t)lie(s, WEFT_GENERATION_OF(*state_of(s, index)), 4);
	r->time_ns = lie(s, clock_mono_ns(), 8);
	r->weight = (uint32_t)lie(s, 1, 4);
	r->flags = (uint16_t)lie(s, kind == 2 ? WEFT_SAMPLE_CHECK : 0, 1);
	r->context = (uint8_t)recipe_take(&s->in, 1) % 8;
	r->stack = (uint8_t)lie(s, kind == 0 ? WEFT_SAMPLE_FRAMES : WEFT_SAMPLE_RAW, 1);
	r->register_count = (uint16_t)lie(s, registers, 2);
	r->frame_count = (uint32_t)lie(s, frames, 4);
	r->span_id = recipe_take(&s->in, 1);
	r->root_span_id = recipe_take(&s->in, 1);
	r->tags[0] = (uint32_t)recipe_take(&s->in, 1) % 4;
	r->tags[9] = (uint32_t)lie(s, 0, 4);
	r->map_number = (uint32_t)lie(s, s->process->walk->maps.number, 4);
	r->copy_bytes = (uint32_t)lie(s, words * 8, 4);
	r->copy_address = lie(s, STACK, 8);
	r->end = (uint8_t)lie(s, recipe_take(&s->in, 1) % 6, 1);
	publish(s, slot, (const uint8_t *)block, (uint32_t)((uint8_t *)word - (uint8_t *)block));
}

static void put_bytes(struct scene *s)
{
	uint8_t bytes[64];
	uint32_t index, count = (uint32_t)recipe_take(&s->in, 1) % sizeof(bytes);
	struct weft_slot *slot = any_slot(s, &index);

	for (uint32_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)recipe_take(&s->in, 1);
	publish(s, slot, bytes, count);
}

static void put_positions(struct scene *s)
{
	uint32_t index;
	struct weft_slot *slot = any_slot(s, &index);
	uint64_t which = recipe_take(&s->in, 1);

	if (which & 1)
		slot->samples_p.head = recipe_take(&s->in, 8);
	if (which & 2)
		slot->samples_p.written = recipe_take(&s->in, 8);
	if (which & 4)
		slot->samples_p.head += recipe_take(&s->in, 2);
	if (which & 8)
		slot->samples_c.tail = recipe_take(&s->in, 8);
	if (which & 16)
		slot->counters[recipe_take(&s->in, 1) % WEFT_COUNTER_ROOM] = recipe_take(&s->in, 8);
}

static void put_state(struct scene *s)
{
	uint32_t index;

	any_slot(s, &index);
	if (recipe_take(&s->in, 1) & 1)
		*state_of(s, index) = recipe_take(&s->in, 8);
	else
		*state_of(s, index) =
			WEFT_STATE_WORD(WEFT_GENERATION_OF(*state_of(s, index)), WEFT_SLOT_DEAD);
}

/* One record of a log whose head then passes it, or says something else. */
static void put_log(struct scene *s, uint64_t offset, uint64_t room, uint64_t *head, int is_module)
{
	uint8_t *at = (uint8_t *)s->session->process->base + offset;
	struct weft_log_record *r = (void *)(at + (*head % room & ~7ULL));
	uint32_t data = is_module ? sizeof(struct weft_log_module) + 8 : 8;
	struct weft_log_module module = {.bias = any_pc(s), .start = any_pc(s)};

	if (room - (*head % room & ~7ULL) < 256)
		return;
	module.end = lie(s, module.start + recipe_take(&s->in, 3), 8);
	*r = (struct weft_log_record){
		.bytes = (uint32_t)lie(s, sizeof(*r) + ((data + 7) & ~7u), 4),
		.type = (uint16_t)lie(s, is_module ? WEFT_LOG_MODULE : WEFT_LOG_STRING, 1),
		.id = (uint32_t)recipe_take(&s->in, 1) % 4,
		.data_bytes = (uint32_t)lie(s, data, 4),
	};
	if (is_module)
		memcpy(r + 1, &module, sizeof(module));
	memcpy((uint8_t *)(r + 1) + data - 8, "/bin/sh", 8);
	*head = lie(s, (*head & ~7ULL) + sizeof(*r) + ((data + 7) & ~7u), 8);
}

static void put_anywhere(struct scene *s)
{
	uint32_t index;
	uint8_t *at = (uint8_t *)any_slot(s, &index);
	uint64_t where = recipe_take(&s->in, 2), count = recipe_take(&s->in, 1) % 32;

	if (where & 1)
		at = (uint8_t *)s->session->process->base;
	if (where & 2)
		at = (uint8_t *)s->session->process->base + s->session->process->layout.map_offset;
	for (uint64_t i = 0; i < count; i++)
		at[(where >> 2) % 4000 + i] = (uint8_t)recipe_take(&s->in, 1);
}

static void step(struct scene *s)
{
	const struct weft_session_header *layout = &s->session->process->layout;

	switch (recipe_take(&s->in, 1) % 12) {
	case 0:
	case 1:
		claim(s);
		break;
	case 2:
	case 3:
	case 4:
		put_sample(s);
		break;
	case 5:
		put_bytes(s);
		break;
	case 6:
		put_positions(s);
		break;
	case 7:
		put_state(s);
		break;
	case 8:
		put_log(s, layout->modules_offset, layout->modules_bytes, &header(s)->modules_head,
			1);
		break;
	case 9:
		put_log(s, layout->dict_offset, layout->dict_bytes, &header(s)->dict_head, 0);
		break;
	case 10:
		put_anywhere(s);
		break;
	default:
		session_drain(s->session, &s->queue, DRAIN_RUNNING);
		work(s);
	}
	if (header(s)->slots_high > SLOTS_HIGH_MAX)
		header(s)->slots_high = SLOTS_HIGH_MAX;
}

static void finish(struct scene *s)
{
	struct batch *b = batch_new(BATCH_CLOSE, s->process, sizeof(struct session_counts));
	struct recording_written written;

	session_drain(s->session, &s->queue, DRAIN_GONE);
	session_count(s->session, (struct session_counts *)(void *)b->data);
	b->end = RECORDING_END_EXITED;
	b->time_ns = clock_mono_ns();
	queue_push(&s->queue, b);
	work(s);
	session_free(s->session);
	recording_close(s->worker.recording, clock_mono_ns(), &written);
	queue_destroy(&s->queue);
	queue_destroy(&s->walked);
	naming_free(&s->worker.naming);
	if (s->walker.error || s->worker.error || written.error)
		abort();
}

static void read_recording(const struct scene *s)
{
	struct weft_jfr_reader *r = weft_jfr_open(s->path);
	struct weft_jfr_event_view e;
	int rc = 0;

	while (r && (rc = weft_jfr_next(r, &e)) == 1)
		;
	if (!r || rc != 0) {
		fprintf(stderr, "unreadable recording: %s\n", r ? weft_jfr_error(r) : "open");
		abort();
	}
	weft_jfr_reader_free(r);
	unlink(s->path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene s = {.in = {data, data + size}};

	if (!modules) {
		if (tables_open(&tables, 8 << 20))
			abort();
		modules = modules_new(&tables, &no_cache);
	}
	begin(&s, recipe_take(&s.in, 1));
	work(&s);
	for (unsigned int i = 0; i < STEPS && s.in.at < s.in.end; i++)
		step(&s);
	finish(&s);
	read_recording(&s);
	return 0;
}
