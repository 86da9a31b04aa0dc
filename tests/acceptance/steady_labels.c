/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady-labels [ROUNDS]: on two threads, every call of weft/labels.h and weft/context.h that may
 * stand on a request's path, with keys that the process has never used, between two marks in
 * its system calls (writes to no descriptor). In between the program makes no system call:
 * what strace shows there is weft's. Allocations are counted by a malloc of its own; one is made
 * on purpose first, so that a counter that counts nothing is found out.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/labels.h>
#include <weft/prepared.h>

#define NEW_KEYS 60 /* per thread: the process's table of keys has 256 places */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *p);

static __thread unsigned long allocations __attribute__((tls_model("initial-exec")));

void *malloc(size_t bytes)
{
	allocations++;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	allocations++;
	return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	allocations++;
	return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
	allocations++;
	return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
	*out = memalign(alignment, bytes);
	return *out ? 0 : ENOMEM;
}

void free(void *p)
{
	allocations++;
	__libc_free(p);
}

static void mark(void)
{
	syscall(SYS_write, -1, "mark", 4); /* fails; seen by strace */
}

static int count_label(void *arg, const char *key, size_t key_bytes, const char *value,
		       size_t value_bytes)
{
	(void)key, (void)value;
	*(size_t *)arg += key_bytes + value_bytes;
	return 0;
}

/* A key of its own for each thread and number, cut and not. */
static void new_key(unsigned long thread, unsigned long number)
{
	char key[] = "thread-0-key-00", value[300];

	if (number >= NEW_KEYS)
		return;
	key[7] = (char)('0' + thread);
	key[13] = (char)('0' + number / 10);
	key[14] = (char)('0' + number % 10);
	memset(value, 'v', sizeof(value));
	weft_label_set_bytes(key, sizeof(key) - 1, value, number % 2 ? sizeof(value) : 7);
	weft_label_remove(key);
}

static void use_labels(unsigned long i)
{
	char value[64];
	size_t bytes = 0;
	struct weft_context context = {.span_id = i, .root_span_id = 1, .trace_id = {1}};
	struct weft_label batch[] = {{"tenant", 6, i % 2 ? "acme" : "initech", i % 2 ? 4 : 7, 0},
				     {"route", 5, "/checkout", 9, 0},
				     {"method", 6, i % 3 ? "GET" : NULL, i % 3 ? 3 : 0, 0}};

	weft_label_set("tenant", i % 2 ? "initech" : "acme");
	weft_label_set_bytes("route", 5, "/search", 7);
	weft_label_set("span-id", "mine"); /* refused */
	weft_context_update(&context, batch, 3, i % 2 ? WEFT_UPDATE_REPLACE : 0);
	WEFT_SCOPE (&context) {
		weft_label_set("route", "/inner");
		weft_label_set("depth", "1");
		weft_context_update(NULL, batch, 3, 0);
	}
	weft_label_get("route", value, sizeof(value));
	weft_labels_each(count_label, &bytes);
	weft_label_remove("tenant");
	if (i % 64 == 0)
		weft_labels_clear();
}

static void use_contexts(unsigned long i, uint32_t tag)
{
	static const uint8_t trace[16] = {7};
	struct weft_context context = {.span_id = i, .root_span_id = 1, .trace_id = {1}};
	struct weft_ids before = weft_context_set(i, 1);

	context.tags[0] = tag;
	weft_context_set_trace(i, 2, trace, 1);
	WEFT_SCOPE (&context) {
		weft_tag_set(1, tag);
		weft_context_read(&context);
	}
	weft_context_write(&context);
	weft_context_set(before.span_id, before.root_span_id);
	if (i % 64 == 0)
		weft_context_clear();
}

static struct weft_prepared *prepared, *other;

static void prepare(void)
{
	struct weft_context context = {.span_id = 5, .root_span_id = 1, .trace_id = {2}};
	struct weft_label labels[] = {{"tenant", 6, "acme", 4, 0}, {"route", 5, "/batch", 6, 0}};

	prepared = weft_context_prepare(&context, labels, 2);
	other = weft_context_prepare(&context, labels, 1);
}

static void use_prepared(unsigned long i)
{
	struct weft_attached outer, inner;

	weft_context_attach(&outer, prepared);
	weft_context_attach(&inner, other);
	if (i % 8 == 0)
		weft_label_set("depth", "2");
	weft_context_detach(&inner);
	weft_context_detach(&outer);
}

static unsigned long rounds = 20000;

static void *run(void *arg)
{
	unsigned long thread = (unsigned long)(uintptr_t)arg, made;
	uint32_t tag = weft_tag_intern("steady");

	weft_label_set("tenant", "acme"); /* the first use claims the slot */
	mark();
	made = allocations;
	for (unsigned long i = 0; i < rounds; i++) {
		new_key(thread, i);
		use_labels(i);
		use_contexts(i, tag);
		use_prepared(i);
	}
	made = allocations - made;
	mark();
	return (void *)made;
}

int main(int argc, char **argv)
{
	void *volatile one = malloc(1);
	unsigned long seen = allocations;
	pthread_t thread;
	void *made = NULL, *made_there = NULL;

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 10);
	free(one);
	weft_tag_name(0, "kind");
	prepare();
	if (pthread_create(&thread, NULL, run, (void *)1))
		return 1;
	made = run(NULL);
	pthread_join(thread, &made_there);
	printf("steady, %lu allocations\n", (unsigned long)made + (unsigned long)made_there);
	return !seen || made || made_there;
}
