/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's process context: names of the mapping, resource attributes, the key map from
 * many threads at once, the payload as another process reads it meanwhile, another publisher's
 * keys.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/publish.h>

#include "runtime/otel/otel_private.h"
#include "unit.h"

#define PAYLOAD WEFT_OTEL_PROCESS_PAYLOAD_MAX

static void utf8(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
		int valid;
	} cases[] = {
		{"", 0, 1},
		{"plain text, 20 bytes", 20, 1},
		{"\0", 1, 1},
		{"\xc3\xa9", 2, 1},
		{"\xe2\x82\xac", 3, 1},
		{"\xf0\x9f\x98\x80", 4, 1},
		{"\xf4\x8f\xbf\xbf", 4, 1},
		{"12345678\xc3\xa9", 10, 1},
		{"\x80", 1, 0},
		{"\xc3", 1, 0},
		{"\xc0\xaf", 2, 0},
		{"\xc1\xbf", 2, 0},
		{"\xe0\x9f\xbf", 3, 0},
		{"\xed\xa0\x80", 3, 0},
		{"\xf0\x8f\xbf\xbf", 4, 0},
		{"\xf4\x90\x80\x80", 4, 0},
		{"\xf5\x80\x80\x80", 4, 0},
		{"\xe2\x82", 2, 0},
		{"\xe2(\xa1", 3, 0},
		{"12345678\xff", 9, 0},
		{"1234567\x80\x80", 9, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(weft_otel_is_utf8(cases[i].text, cases[i].bytes), cases[i].valid);
}

/* ---- reading as from outside */

struct message {
	const uint8_t *at, *end;
};

static uint64_t varint(struct message *m)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		assert_true(m->at < m->end);
		value |= (uint64_t)(*m->at & 0x7F) << shift;
		if (!(*m->at++ & 0x80))
			break;
	}
	return value;
}

/* The @n-th field @number; all of them must have a length. */
static int nth(struct message m, uint64_t number, int n, struct message *out)
{
	while (m.at < m.end) {
		uint64_t tag = varint(&m), bytes = varint(&m);

		assert_int_equal(tag & 7, 2);
		assert_true(bytes <= (uint64_t)(m.end - m.at));
		if (tag >> 3 == number && n-- == 0) {
			*out = (struct message){m.at, m.at + bytes};
			return 1;
		}
		m.at += bytes;
	}
	return 0;
}

static int text_is(struct message m, const char *text)
{
	return (size_t)(m.end - m.at) == strlen(text) && !memcmp(m.at, text, strlen(text));
}

/* The value (AnyValue) of @key among the KeyValues that are fields @number of @m. */
static int attribute(struct message m, uint64_t number, const char *key, struct message *value)
{
	struct message pair, name;

	for (int i = 0; nth(m, number, i, &pair); i++)
		if (nth(pair, 1, 0, &name) && text_is(name, key))
			return nth(pair, 2, 0, value);
	return 0;
}

static const struct weft_otel_process_header *header(void)
{
	return (const void *)(uintptr_t)weft_otel_process_at();
}

static struct message payload(void)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)header()->payload;

	return (struct message){at, at + header()->payload_bytes};
}

/* "" where there is none. */
static const char *resource(const char *key)
{
	static char text[OTEL_TEXT_BYTES + 1];
	struct message m, value;

	text[0] = 0;
	assert_true(nth(payload(), 1, 0, &m));
	if (attribute(m, 1, key, &value) && nth(value, 1, 0, &m)) {
		memcpy(text, m.at, (size_t)(m.end - m.at));
		text[m.end - m.at] = 0;
	}
	return text;
}

static struct message key_map(struct message from)
{
	struct message value, array = {0};

	assert_true(attribute(from, 2, WEFT_OTEL_KEY_MAP_KEY, &value));
	nth(value, 5, 0, &array);
	return array;
}

static void resource_attributes(void **state)
{
	struct message value, text;

	(void)state;
	assert_memory_equal(header()->signature, "OTEL_CTX", 8);
	assert_int_equal(header()->version, 2);
	assert_string_equal(resource("service.name"), "shop");
	assert_string_equal(resource("deployment.environment.name"), "blue, green=1");
	assert_string_equal(resource("caf\xc3\xa9"), "x");
	assert_string_equal(resource("empty"), "");
	assert_int_equal(strlen(resource("service.instance.id")), 36);
	assert_int_equal(resource("service.instance.id")[14], '4');
	assert_string_equal(resource("telemetry.sdk.name"), "weft");
	assert_true(attribute(payload(), 2, WEFT_OTEL_SCHEMA_KEY, &value));
	assert_true(nth(value, 1, 0, &text) && text_is(text, WEFT_OTEL_SCHEMA_DEV));
}

static void the_programs_own_attributes(void **state)
{
	static char big[OTEL_TEXT_BYTES + 2];
	uint64_t before = header()->published_ns;
	char key[16];
	int failed = 0;

	(void)state;
	assert_int_equal(weft_otel_resource("service.name", "shop-2"), 0);
	assert_true(header()->published_ns > before);
	assert_string_equal(resource("service.name"), "shop-2");
	assert_int_equal(weft_otel_resource("service.version", "1"), 0);
	assert_int_equal(weft_otel_resource("service.version", "1.4.2"), 0);
	assert_string_equal(resource("service.version"), "1.4.2");
	assert_int_equal(weft_otel_resource("service.version", NULL), 0);
	assert_string_equal(resource("service.version"), "");
	assert_int_equal(weft_otel_resource("", "x"), -EINVAL);
	assert_int_equal(weft_otel_resource(NULL, "x"), -EINVAL);
	assert_int_equal(weft_otel_resource("x", "\xff"), -EINVAL);
	memset(big, 'b', sizeof(big) - 1);
	assert_int_equal(weft_otel_resource("x", big), -EINVAL);
	big[OTEL_TEXT_BYTES] = 0;
	for (int i = 0; i < 10 && !failed; i++) {
		snprintf(key, sizeof(key), "big%d", i);
		failed = weft_otel_resource(key, big);
	}
	assert_int_equal(failed, -ENOSPC);
	assert_string_equal(resource("big0"), big);
	assert_string_equal(resource("service.name"), "shop-2");
	for (int i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "big%d", i);
		weft_otel_resource(key, NULL);
	}
	assert_int_equal(weft_otel_options("x", NULL), -EBUSY);
}

/* ---- the key map */

#define THREADS 4
#define KEYS_EACH 90
static int indices[THREADS][KEYS_EACH];

static void name_key(char *key, int n)
{
	snprintf(key, 32, "key-%d", n);
}

/* Each half of its keys is another thread's as well. */
static void *add_keys(void *arg)
{
	int me = (int)(intptr_t)arg;
	char key[32];

	for (int i = 0; i < KEYS_EACH; i++) {
		name_key(key, me * KEYS_EACH / 2 + i);
		indices[me][i] = weft_otel_key(key, strlen(key));
	}
	return NULL;
}

/* Another process, which holds to the reader's protocol; exits 0 when all that it saw was whole. */
static void watch(pid_t target, const void *mapping)
{
	static uint8_t copy[PAYLOAD];
	struct weft_otel_process_header h, after;
	int whole = 0, last_count = 0;
	uint64_t last = 0;

	while (last_count < WEFT_OTEL_PROCESS_KEYS_MAX || whole < 10) {
		struct iovec l = {&h, sizeof(h)}, r = {(void *)(uintptr_t)mapping, sizeof(h)};
		struct message map, key;
		int count = 0;

		if (process_vm_readv(target, &l, 1, &r, 1, 0) != sizeof(h))
			_exit(errno == EPERM || errno == ENOSYS ? 77 : 2);
		if (!h.published_ns)
			continue;
		l = (struct iovec){copy, h.payload_bytes};
		r = (struct iovec){(void *)(uintptr_t)h.payload, h.payload_bytes};
		if (h.payload_bytes > PAYLOAD || process_vm_readv(target, &l, 1, &r, 1, 0) < 0)
			_exit(3);
		l = (struct iovec){&after, sizeof(after)};
		r = (struct iovec){(void *)(uintptr_t)mapping, sizeof(after)};
		if (process_vm_readv(target, &l, 1, &r, 1, 0) != sizeof(after))
			_exit(6);
		if (memcmp(&after, &h, sizeof(h)) != 0) /* a header is not read in one piece */
			continue;
		if (h.published_ns < last)
			_exit(4);
		last = h.published_ns;
		map = key_map((struct message){copy, copy + h.payload_bytes});
		while (nth(map, 1, count, &key))
			count++;
		if (count < last_count)
			_exit(5);
		last_count = count;
		whole++;
	}
	_exit(0);
}

static void many_threads_add_keys(void **state)
{
	pthread_t threads[THREADS];
	struct message entry, text;
	pid_t target = getpid(), watcher = fork();
	char key[32];
	int status;

	(void)state;
	if (!watcher) {
		const void *mapping = (const void *)(intptr_t) * (uint64_t *)*state;

		watch(target, mapping);
	}
	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_keys, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int n = (int)weft_otel_keys_count(); n < WEFT_OTEL_PROCESS_KEYS_MAX; n++) {
		snprintf(key, sizeof(key), "more-%d", n);
		assert_int_equal(weft_otel_key(key, strlen(key)), n);
	}
	assert_int_equal(waitpid(watcher, &status, 0), watcher);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < KEYS_EACH; i++) {
			name_key(key, t * KEYS_EACH / 2 + i);
			assert_true(indices[t][i] > 0);
			assert_string_equal(weft_otel_key_at((uint32_t)indices[t][i])->text, key);
			assert_int_equal(weft_otel_keys_find(key, strlen(key)), indices[t][i]);
		}
	for (int i = 0; i < WEFT_OTEL_PROCESS_KEYS_MAX; i++) {
		assert_true(nth(key_map(payload()), 1, i, &entry) && nth(entry, 1, 0, &text));
		assert_true(text_is(text, weft_otel_key_at((uint32_t)i)->text));
	}
	assert_false(nth(key_map(payload()), 1, WEFT_OTEL_PROCESS_KEYS_MAX, &entry));
}

static void the_map_is_full(void **state)
{
	uint64_t before = header()->published_ns;

	(void)state;
	assert_int_equal(weft_otel_key("one too many", 12), -1);
	assert_int_equal(weft_otel_key("key-7", 5), weft_otel_keys_find("key-7", 5));
	assert_int_equal(header()->published_ns, before);
}

/* The time is later each time, also within one tick of the clock. */
static void times_only_grow(void **state)
{
	uint64_t before = header()->published_ns;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		weft_otel_process_republish();
		assert_true(header()->published_ns > before);
		before = header()->published_ns;
	}
}

/* ---- another publisher */

static uint64_t find_in(const char *text)
{
	char path[] = "/tmp/weft-maps-XXXXXX";
	int fd = mkstemp(path);
	uint64_t found;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	found = weft_otel_foreign_find(path, 0);
	close(fd);
	unlink(path);
	return found;
}

/* An emulator of another machine's programs (qemu-user) has no such system call. */
static int memory_can_be_read(void)
{
	char from = 'x', to = 0;
	struct iovec here = {&to, 1}, there = {&from, 1};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != ENOSYS;
}

/* Also the two spellings that not every kernel can show. */
static void found_in_maps(void **state)
{
	static const char *const names[] = {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					    "/memfd:OTEL_CTX (deleted)"};
	static struct weft_otel_process_header there = {.signature = "OTEL_CTX", .version = 2};
	static char text[8192];
	unsigned long at = (unsigned long)(uintptr_t)&there;

	(void)state;
	if (!memory_can_be_read())
		skip();
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text),
			 "1000-2000 r-xp 00000000 08:01 77     /bin/some program\n"
			 "3000-4000 rw-p 00000000 00:00 0 \n"
			 "5000-6000 rw-p 00000000 00:01 24 /memfd:OTEL_CTX (deleted)\n"
			 "%lx-%lx rw-p 00000000 00:01 24                  %s\n",
			 at, at + 4096, names[i]);
		assert_int_equal(find_in(text), at); /* 5000 has no header */
	}
	snprintf(text, sizeof(text), "%lx-%lx rw-p 00000000 00:01 24 /memfd:OTEL_CTX2\n", at,
		 at + 4096);
	assert_int_equal(find_in(text), 0);
	memset(text, 'x', sizeof(text) - 1); /* a line longer than any buffer */
	assert_int_equal(find_in(text), 0);
	assert_int_equal(find_in(""), 0);
	assert_int_equal(find_in("\n\nzzz\n-\n1-2 \n"), 0);
}

static void lies_in_a_payload(void **state)
{
	static uint8_t bytes[512];
	uint64_t x = 88172645463325252u;
	uint32_t size;

	(void)state;
	size = header()->payload_bytes < sizeof(bytes) ? header()->payload_bytes : sizeof(bytes);
	for (int i = 0; i < 20000; i++) {
		memcpy(bytes, (const void *)(uintptr_t)header()->payload, size);
		for (int j = 0; j < 8; j++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			bytes[x % size] = (uint8_t)(x >> 32);
		}
		weft_otel_foreign_parse(bytes, (uint32_t)(x >> 40) % (size + 1));
	}
}

/* ---- a child */

static void a_child_publishes_anew(void **state)
{
	char parents[64];
	int status;
	pid_t pid;

	(void)state;
	strcpy(parents, resource("service.instance.id"));
	pid = fork();
	if (!pid) {
		weft_otel_after_fork();
		_exit(!header() || !strcmp(resource("service.instance.id"), parents) ||
		      strcmp(resource("service.name"), "shop-2") != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(resource("service.instance.id"), parents);
}

static uint64_t mapping;

static int begin(void **state)
{
	*state = &mapping;
	if (weft_otel_begin() || weft_otel_process_publisher() != WEFT_PUBLISHER_WEFT)
		return -1;
	mapping = weft_otel_process_at();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8),
		cmocka_unit_test(resource_attributes),
		cmocka_unit_test(the_programs_own_attributes),
		cmocka_unit_test(many_threads_add_keys),
		cmocka_unit_test(the_map_is_full),
		cmocka_unit_test(times_only_grow),
		cmocka_unit_test(found_in_maps),
		cmocka_unit_test(a_child_publishes_anew),
		cmocka_unit_test(lies_in_a_payload),
	};

	setenv("OTEL_SERVICE_NAME", "shop", 1);
	setenv("OTEL_RESOURCE_ATTRIBUTES",
	       "service.name=other, deployment.environment.name = blue%2C green%3D1 ,"
	       "caf%C3%A9=x,empty=,,",
	       1);
	return cmocka_run_group_tests(tests, begin, NULL);
}
