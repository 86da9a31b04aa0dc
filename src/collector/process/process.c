/* SPDX-License-Identifier: Apache-2.0 */
/* One process of the recording: see process.h. */
#include "collector/process/process.h"

#include "base/map.h"
#include "collector/process/clock.h"
#include "collector/process/libraries.h"
#include "collector/walk/jit.h"
#include "collector/write/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Looking may take this part of the time, and so much at once. */
#define LOOK_SHARE 50
#define LOOK_CREDIT_NS 20000000
#define FILE_MAX (16 * 1024 * 1024)

char *process_read_file(int directory_fd, const char *name, size_t *bytes)
{
	size_t room = 16384, size = 0;
	char *text = NULL, *grown;
	ssize_t n = -1;
	int saved, fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	do {
		if (!text || size + 4096 > room)
			room *= 2;
		grown = realloc(text, room);
		if (!grown)
			break;
		text = grown;
		n = read(fd, text + size, room - size - 1);
		if (n > 0)
			size += (size_t)n;
	} while (n > 0 && size < FILE_MAX);
	saved = errno;
	close(fd);
	if (n < 0) {
		free(text);
		errno = saved;
		return NULL;
	}
	text[size] = 0;
	*bytes = size;
	return text;
}

/* The command in field 2 may hold anything, so fields are counted from its last bracket. */
static uint64_t number_in(const char *text, int field)
{
	const char *at = text ? strrchr(text, ')') : NULL;

	for (int before = 2; at && before < field; before++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t process_stat_number(int proc_fd, int field)
{
	size_t bytes = 0;
	char *text = process_read_file(proc_fd, "stat", &bytes);
	uint64_t number = number_in(text, field);

	free(text);
	return number;
}

/* All that is wanted of it at once: the process waits meanwhile. */
static void take_stat(struct process *p)
{
	size_t bytes = 0;
	char *text = process_read_file(p->proc_fd, "stat", &bytes);

	p->parent = (pid_t)number_in(text, STAT_PARENT);
	p->start_ticks = number_in(text, STAT_START_TIME);
	p->stack_start = number_in(text, STAT_STACK_START);
	free(text);
}

/* Where the kernel put the stack of the program that @proc_fd now runs: another place for
 * each, as it is random. 0 = not told. */
static uint64_t stack_start(int proc_fd)
{
	return process_stat_number(proc_fd, STAT_STACK_START);
}

char *process_read_own(const struct process *p, const char *name, size_t *bytes)
{
	char *text = process_read_file(p->proc_fd, name, bytes);

	if (!text || stack_start(p->proc_fd) == p->stack_start)
		return text;
	free(text);
	errno = ESRCH;
	return NULL;
}

int process_runs_on(const struct process *p)
{
	uint64_t start = stack_start(p->proc_fd);

	return start == 0 || start == p->stack_start;
}

char *process_command_line(int proc_fd)
{
	size_t bytes = 0;
	char *text = process_read_file(proc_fd, "cmdline", &bytes);

	if (!text)
		return NULL;
	while (bytes && text[bytes - 1] == 0)
		bytes--;
	for (size_t i = 0; i < bytes; i++)
		if (text[i] == 0)
			text[i] = ' ';
	return text;
}

char *process_command_line_of(pid_t pid)
{
	char path[32], *text;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = process_command_line(fd);
	close(fd);
	return text;
}

static void read_command(struct process *p)
{
	size_t bytes = 0;
	char *text = process_read_file(p->proc_fd, "comm", &bytes);

	snprintf(p->command, sizeof(p->command), "%.*s", text ? (int)strcspn(text, "\n") : 1,
		 text ? text : "?");
	free(text);
	snprintf(p->group, sizeof(p->group), "%s [%d]", p->command, (int)p->pid);
}

int process_new(struct process **out, pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p));
	char path[32];

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->root_fd = -1;
	p->dictionary = dictionary_new();
	p->threads = map_new();
	p->codes = map_new();
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	p->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!p->dictionary || !p->threads || !p->codes || p->proc_fd < 0) {
		int rc = p->proc_fd < 0 ? -errno : -ENOMEM;

		process_free(p);
		return rc;
	}
	take_stat(p);
	p->root_fd = openat(p->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	p->first_maps = process_read_file(p->proc_fd, "maps", &p->first_maps_bytes);
	p->command_line = process_command_line(p->proc_fd);
	read_command(p);
	*out = p;
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void process_tell_gone(struct process *p, uint32_t slot, uint64_t generation)
{
	struct gone_slot *g = malloc(sizeof(*g));

	if (!g)
		return; /* its slot stays in use until the process ends */
	*g = (struct gone_slot){.slot = slot, .generation = generation};
	g->next = __atomic_load_n(&p->gone, __ATOMIC_RELAXED);
	/* Pairs with the acquire in process_take_gone(). */
	while (!__atomic_compare_exchange_n(&p->gone, &g->next, g, 1, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

struct gone_slot *process_take_gone(struct process *p)
{
	if (!__atomic_load_n(&p->gone, __ATOMIC_RELAXED))
		return NULL;
	return __atomic_exchange_n(&p->gone, NULL, __ATOMIC_ACQUIRE);
}

void process_keep_words(struct process *p)
{
	__atomic_store_n(&p->words, calloc(p->layout.slot_count, sizeof(*p->words)),
			 __ATOMIC_RELEASE);
}

void process_tell_words(struct process *p, uint32_t slot, const struct slot_words *words)
{
	struct slot_words *to = __atomic_load_n(&p->words, __ATOMIC_ACQUIRE);

	if (!to)
		return;
	to += slot;
	__atomic_store_n(&to->generation, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&to->ended_ns, words->ended_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&to->cpu_ns, words->cpu_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&to->generation, words->generation, __ATOMIC_RELEASE);
}

int process_words(const struct process *p, uint32_t slot, uint64_t generation,
		  struct slot_words *out)
{
	const struct slot_words *from = p->words ? &p->words[slot] : NULL; /* we made them */

	if (!from || __atomic_load_n(&from->generation, __ATOMIC_ACQUIRE) != generation)
		return 0;
	*out = (struct slot_words){
		.generation = generation,
		.ended_ns = __atomic_load_n(&from->ended_ns, __ATOMIC_RELAXED),
		.cpu_ns = __atomic_load_n(&from->cpu_ns, __ATOMIC_RELAXED),
	};
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->generation, __ATOMIC_RELAXED) == generation;
}

static void free_gone(struct process *p)
{
	struct gone_slot *g = process_take_gone(p), *next;

	for (; g; g = next) {
		next = g->next;
		free(g);
	}
}

void process_release(struct process *p)
{
	struct process_thread *t;
	size_t cursor = 0;

	free_gone(p);
	free(p->words);
	p->words = NULL;

	if (p->threads)
		while ((t = process_thread_next(p, &cursor)))
			free(t);
	map_free(p->threads);
	p->threads = NULL;
	map_free(p->tids);
	p->tids = NULL;
	free(p->classes);
	p->classes = NULL;
	maps_free(&p->maps);
	loads_free(&p->loads);
	libraries_free(p->told);
	p->told = NULL;
	dictionary_free(p->dictionary);
	p->dictionary = NULL;
	jit_free(p->jit);
	p->jit = NULL;
	if (p->base)
		munmap(p->base, p->base_bytes);
	p->base = NULL;
	close_fd(&p->root_fd);
	close_fd(&p->proc_fd);
	free(p->first_maps);
	free(p->first_environ);
	p->first_maps = p->first_environ = NULL;
}

void process_free(struct process *p)
{
	if (!p)
		return;
	process_release(p);
	map_free(p->codes);
	libraries_free(p->libraries);
	recording_account_free(p);
	recording_lockstep_free(p);
	free(p->command_line);
	free(p);
}

struct slot_key {
	uint64_t slot, generation;
};

struct process_thread *process_thread(struct process *p, uint32_t slot, uint64_t generation,
				      int *fresh)
{
	struct slot_key key = {slot, generation};
	uint64_t *value = map_put(p->threads, &key, sizeof(key), fresh);

	if (!value)
		return NULL;
	*fresh = *value == 0;
	if (*fresh)
		*value = (uint64_t)(uintptr_t)calloc(1, sizeof(struct process_thread));
	return (struct process_thread *)(uintptr_t)*value;
}

void process_thread_tell_tid(struct process *p, struct process_thread *t, int32_t tid)
{
	uint64_t *value;

	t->tid = tid;
	if (!p->tids)
		p->tids = map_new();
	value = p->tids ? map_put(p->tids, &tid, sizeof(tid), NULL) : NULL;
	if (value)
		*value = (uint64_t)(uintptr_t)t;
}

struct process_thread *process_thread_by_tid(const struct process *p, int32_t tid)
{
	const uint64_t *value = p->tids ? map_get(p->tids, &tid, sizeof(tid)) : NULL;

	return value ? (struct process_thread *)(uintptr_t)*value : NULL;
}

static void forget_tid(const struct process *p, const struct process_thread *t)
{
	uint64_t *value = t && p->tids ? map_get(p->tids, &t->tid, sizeof(t->tid)) : NULL;

	if (value && *value == (uint64_t)(uintptr_t)t)
		*value = 0;
}

void process_thread_drop(struct process *p, uint32_t slot, uint64_t generation)
{
	struct slot_key key = {slot, generation};
	uint64_t *value = map_get(p->threads, &key, sizeof(key));

	if (!value)
		return;
	forget_tid(p, (struct process_thread *)(uintptr_t)*value);
	free((void *)(uintptr_t)*value);
	*value = 0;
}

struct process_thread *process_thread_next(struct process *p, size_t *cursor)
{
	const void *key;
	uint64_t *value;
	size_t bytes;

	if (!p->threads)
		return NULL;
	while (map_next(p->threads, cursor, &key, &bytes, &value))
		if (*value)
			return (struct process_thread *)(uintptr_t)*value;
	return NULL;
}

void process_take_counts(struct process *p)
{
	p->own.counter[WEFT_COUNTER_TABLES_REFUSED] =
		__atomic_load_n(&p->tables_refused, __ATOMIC_RELAXED);
}

int process_read_dictionary(struct process *p)
{
	const struct weft_session_header *shared = p->base;
	uint64_t head = __atomic_load_n(&shared->dict_head, __ATOMIC_ACQUIRE);

	return log_read((const uint8_t *)p->base + p->layout.dict_offset, p->layout.dict_bytes,
			head, &p->dict_position, dictionary_take, p->dictionary);
}

/* A module as the process itself tells it: one mapping from its first to its last byte. */
static void add_told(struct process *p, const struct load_module *m)
{
	struct mapping one = m->mapping;

	one.path = strdup(one.path);
	if (one.path)
		maps_add(&p->maps, &one);
}

static void take_module(void *arg, const struct weft_log_record *record, const uint8_t *data)
{
	struct process *p = arg;
	size_t before = p->loads.module_count;

	loads_take(&p->loads, &p->maps, record, data);
	if (p->told_by_log && p->loads.module_count > before)
		add_told(p, &p->loads.module[before]);
}

static void read_log(struct process *p)
{
	const struct weft_session_header *shared = p->base;
	uint64_t head = __atomic_load_n(&shared->modules_head, __ATOMIC_ACQUIRE);

	log_read((const uint8_t *)p->base + p->layout.modules_offset, p->layout.modules_bytes, head,
		 &p->modules_position, take_module, p);
}

static uint64_t epoch_now(const struct process *p)
{
	const struct weft_session_header *shared = p->base;

	/* Pairs with the release add in weft_modules_epoch_add(): the log is as new. */
	return __atomic_load_n(&shared->modules_epoch, __ATOMIC_ACQUIRE);
}

int process_map_is_stale(const struct process *p)
{
	return epoch_now(p) != p->epoch;
}

static void believe_the_log(struct process *p)
{
	if (p->told_by_log)
		return;
	p->told_by_log = 1;
	for (size_t i = 0; i < p->loads.module_count; i++)
		add_told(p, &p->loads.module[i]);
}

/* What was told before and not taken yet is part of it. */
static void tell_libraries(struct process *p, const char *text, size_t bytes)
{
	struct libraries *now = libraries_read(text, bytes);

	if (!now)
		return;
	libraries_follow(now, __atomic_exchange_n(&p->told, NULL, __ATOMIC_ACQUIRE));
	/* Pairs with the acquire in process_take_libraries(). */
	__atomic_store_n(&p->told, now, __ATOMIC_RELEASE);
	p->libraries_told = p->maps.generation;
}

void process_look_libraries(struct process *p)
{
	size_t bytes;
	char *text = process_read_own(p, "maps", &bytes);

	if (text)
		tell_libraries(p, text, bytes);
	free(text);
}

void process_take_libraries(struct process *p)
{
	struct libraries *told = __atomic_exchange_n(&p->told, NULL, __ATOMIC_ACQUIRE);

	if (!told)
		return;
	libraries_follow(told, p->libraries);
	p->libraries = told;
}

/* The epoch first: what is unloaded from now on makes it another. */
static void look(struct process *p)
{
	uint64_t epoch = epoch_now(p) & ~(uint64_t)UINT32_MAX, now_ns = clock_mono_ns();
	size_t bytes = p->first_maps_bytes;
	char *text = p->first_maps;

	if (text) {
		epoch = 0;
		now_ns = p->opened_ns;
	}
	p->first_maps = NULL;
	p->maps.looked_ns = now_ns;
	if (!text && !p->told_by_log)
		text = process_read_own(p, "maps", &bytes);
	read_log(p);
	if (text && bytes) {
		maps_update(&p->maps, text, bytes);
		if (p->libraries_told != p->maps.generation)
			tell_libraries(p, text, bytes);
	} else if (p->maps.count == 0) { /* else it is ending, or another program: nothing is new */
		believe_the_log(p);
	}
	free(text);
	p->epoch = epoch;
	p->maps_ns = now_ns;
}

/* The first look was taken by the drain thread. */
int process_look(struct process *p, uint64_t now_ns)
{
	uint32_t before = p->maps.generation;
	uint64_t earned = (now_ns - p->looked_ns) / LOOK_SHARE, start_ns;

	p->look_credit_ns += (int64_t)(earned < LOOK_CREDIT_NS ? earned : LOOK_CREDIT_NS);
	if (p->look_credit_ns > LOOK_CREDIT_NS)
		p->look_credit_ns = LOOK_CREDIT_NS;
	p->looked_ns = now_ns;
	if (!p->first_maps && p->look_credit_ns <= 0) {
		read_log(p);
		return (int)(p->maps.generation - before);
	}
	start_ns = clock_mono_ns();
	look(p);
	p->look_credit_ns -= (int64_t)(clock_mono_ns() - start_ns);
	return (int)(p->maps.generation - before);
}
