/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label-cost ROUNDS ITERATIONS [v1]: what labels and contexts cost in each format, in interleaved
 * rounds. Prints a line: the formats that could be had (enum weft_format bits), 1 if the Custom
 * Labels library is here, then nanoseconds, one per case of label_cases.h. A program of its own
 * because a format that was ever on costs something from then on; so with "v1" only what needs no
 * other is measured, and the rest is 0.
 *
 * The labels are a server's: tenant, route, method, beside span-id and root-span-id; the
 * reference has the same five. What is set is the fourth. "Full": ten labels, the last is set.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/labels.h>
#include <weft/prepared.h>
#include <weft/publish.h>

#include "harness.h"
#include "label_cases.h"
#include "reference_labels.h"

#define V1 WEFT_FORMAT_V1
#define SHOWN (WEFT_FORMAT_V1 | WEFT_FORMAT_LABELS)
#define OTEL (WEFT_FORMAT_V1 | WEFT_FORMAT_OTEL)
#define ALL (WEFT_FORMAT_V1 | WEFT_FORMAT_LABELS | WEFT_FORMAT_OTEL)

/* Ids as they are: 64 random bits, so nineteen or twenty digits. */
#define ID(i) ((i)*UINT64_C(0x9E3779B97F4A7C15) | UINT64_C(1) << 63)

static const char *const base[][2] = {{"tenant", "acme"}, {"route", "/search"}, {"method", "GET"}};
static const char *const even[] = {"/search", "/static"}, *const odd[] = {"/search", "/checkout"};
static __thread struct reference_set *current, *full;
static char pairs[200]; /* "00" .. "99" */

static struct reference_string text(const char *s)
{
	return (struct reference_string){strlen(s), (unsigned char *)(uintptr_t)s};
}

static void set_same(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++)
		weft_label_set_bytes("route", 5, even[i & 1], 7);
	bench_keep(arg);
}

static void reference_same(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++)
		reference_set(
			current, (struct reference_string){5, (unsigned char *)"route"},
			(struct reference_string){7, (unsigned char *)(uintptr_t)even[i & 1]});
	bench_keep(arg);
}

static void set_other(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++)
		weft_label_set("route", odd[i & 1]);
	bench_keep(arg);
}

static void reference_other(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++)
		reference_set(current, text("route"), text(odd[i & 1]));
	bench_keep(arg);
}

/* Eight labels of the program's own, keys of one length: "key-2" .. "key-9". */
static void fill(void)
{
	char key[] = "key-0";

	weft_labels_clear();
	for (int n = 2; n < 10; n++) {
		key[4] = (char)('0' + n);
		weft_label_set(key, "/search");
	}
}

static void back_to_base(void)
{
	weft_labels_clear();
	for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		weft_label_set(base[i][0], base[i][1]);
}

static void set_full(uint64_t iterations, void *arg)
{
	fill();
	for (uint64_t i = 0; i < iterations; i++)
		weft_label_set_bytes("key-9", 5, even[i & 1], 7);
	back_to_base();
	bench_keep(arg);
}

static void reference_full(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++)
		reference_set(
			full, (struct reference_string){5, (unsigned char *)"key-9"},
			(struct reference_string){7, (unsigned char *)(uintptr_t)even[i & 1]});
	bench_keep(arg);
}

static void set_and_remove(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		weft_label_set("user", "u-1");
		weft_label_remove("user");
	}
	bench_keep(arg);
}

static void reference_set_and_remove(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		reference_set(current, text("user"), text("u-1"));
		reference_delete(current, text("user"));
	}
	bench_keep(arg);
}

static void get(uint64_t iterations, void *arg)
{
	char value[64];

	for (uint64_t i = 0; i < iterations; i++) {
		weft_label_get("route", value, sizeof(value));
		bench_keep(value);
	}
	bench_keep(arg);
}

static void reference_read(uint64_t iterations, void *arg)
{
	char value[64];

	for (uint64_t i = 0; i < iterations; i++) {
		const struct reference_label *l = reference_get(current, text("route"));

		if (l && l->value.len <= sizeof(value))
			memcpy(value, l->value.buf, l->value.len);
		bench_keep(value);
	}
	bench_keep(arg);
}

/* A request: ids, trace id and three labels as one. */
static void update(uint64_t iterations, void *arg)
{
	struct weft_context context = {.trace_id = {1, 2, 3}, .trace_flags = 1};
	struct weft_label batch[] = {
		{"tenant", 6, "acme", 4, 0}, {"route", 5, "", 7, 0}, {"method", 6, "GET", 3, 0}};

	for (uint64_t i = 0; i < iterations; i++) {
		context.span_id = ID(i);
		context.root_span_id = ID(i + 1);
		batch[1].value = even[i & 1];
		weft_context_update(&context, batch, 3, 0);
	}
	bench_keep(arg);
}

static void decimal(uint64_t id, char *to, size_t *length);

/* The same one by one, as the reference has it: five labels, two of them numbers. */
static void reference_update(uint64_t iterations, void *arg)
{
	char digits[20];
	size_t n;

	for (uint64_t i = 0; i < iterations; i++) {
		decimal(ID(i), digits, &n);
		reference_set(current, text("span-id"),
			      (struct reference_string){n, (unsigned char *)digits});
		decimal(ID(i + 1), digits, &n);
		reference_set(current, text("root-span-id"),
			      (struct reference_string){n, (unsigned char *)digits});
		reference_set(current, text("tenant"), text("acme"));
		reference_set(current, text("route"), text(even[i & 1]));
		reference_set(current, text("method"), text("GET"));
	}
	bench_keep(arg);
}

static void scope_with_label(uint64_t iterations, void *arg)
{
	struct weft_context context = {.root_span_id = 7};

	for (uint64_t i = 0; i < iterations; i++) {
		context.span_id = i;
		WEFT_SCOPE (&context) {
			weft_label_set("route", even[i & 1]);
		}
	}
	bench_keep(arg);
}

static void scope_alone(uint64_t iterations, void *arg)
{
	struct weft_context context = {.root_span_id = 7};

	for (uint64_t i = 0; i < iterations; i++) {
		context.span_id = i;
		WEFT_SCOPE (&context) {
			bench_keep(&context);
		}
	}
	bench_keep(arg);
}

static void set_ids(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++) {
		weft_context_set(ID(i), ID(i + 1));
		bench_keep(arg);
	}
}

static void set_trace(uint64_t iterations, void *arg)
{
	uint8_t trace[16] = {1, 2, 3};

	for (uint64_t i = 0; i < iterations; i++) {
		weft_context_set_trace(ID(i), ID(i + 1), trace, 1);
		bench_keep(arg);
	}
}

static struct weft_prepared *prepare(uint64_t i)
{
	struct weft_context context = {.span_id = ID(i),
				       .root_span_id = ID(i + 1),
				       .trace_id = {1, 2, 3},
				       .trace_flags = 1};
	struct weft_label batch[] = {{"tenant", 6, "acme", 4, 0},
				     {"route", 5, even[i & 1], 7, 0},
				     {"method", 6, "GET", 3, 0}};

	return weft_context_prepare(&context, batch, 3);
}

/* A request comes to a thread and goes: both count, as a scope's beginning and end do. */
static void attach_prepared(uint64_t iterations, void *arg)
{
	struct weft_prepared *p = prepare(0);
	struct weft_attached before;

	for (uint64_t i = 0; i < iterations; i++) {
		weft_context_attach(&before, p);
		bench_keep(&before);
		weft_context_detach(&before);
	}
	weft_context_free(p);
	bench_keep(arg);
}

/* One request inside another. */
static void swap_prepared(uint64_t iterations, void *arg)
{
	struct weft_prepared *p[] = {prepare(0), prepare(1)};
	struct weft_attached before[2];

	for (uint64_t i = 0; i < iterations; i += 2) {
		weft_context_attach(&before[0], p[0]);
		weft_context_attach(&before[1], p[1]);
		bench_keep(before);
		weft_context_detach(&before[1]);
		weft_context_detach(&before[0]);
	}
	weft_context_free(p[0]);
	weft_context_free(p[1]);
	bench_keep(arg);
}

static void prepare_and_free(uint64_t iterations, void *arg)
{
	for (uint64_t i = 0; i < iterations; i++)
		weft_context_free(prepare(i));
	bench_keep(arg);
}

/* Two digits at a time, by a table: the usual quick way. */
static void decimal(uint64_t id, char *to, size_t *length)
{
	char digits[20];
	size_t n = sizeof(digits);

	for (; id >= 100; id /= 100)
		memcpy(digits + (n -= 2), pairs + 2 * (id % 100), 2);
	if (id >= 10)
		memcpy(digits + (n -= 2), pairs + 2 * id, 2);
	else
		digits[--n] = (char)('0' + id);
	*length = sizeof(digits) - n;
	memcpy(to, digits + n, *length);
}

static void two_decimals(uint64_t iterations, void *arg)
{
	char digits[2][20];
	size_t length[2];

	for (uint64_t i = 0; i < iterations; i++) {
		decimal(ID(i), digits[0], &length[0]);
		decimal(ID(i + 1), digits[1], &length[1]);
		bench_keep(digits);
		bench_keep(length);
	}
	bench_keep(arg);
}

#define FORMATS_OF(name, formats, function) {formats, function},
static const struct {
	unsigned int formats;
	void (*run)(uint64_t iterations, void *arg);
} cases[] = {LABEL_CASES(FORMATS_OF)};

/* A case with its formats: switched a few times a second, beside a million operations. */
static void with_formats(uint64_t iterations, void *arg)
{
	size_t n = (size_t)(uintptr_t)arg;

	if (weft_publish_selected() != cases[n].formats) {
		weft_publish_select(cases[n].formats);
		weft_context_set(1, 1);
		weft_label_set("route", "/search");
	}
	cases[n].run(iterations, NULL);
}

static int fill_reference(void)
{
	char key[] = "key-0";

	current = reference_new(10);
	full = reference_new(10);
	if (!current || !full)
		return -1;
	reference_set(current, text("span-id"), text("1"));
	reference_set(current, text("root-span-id"), text("1"));
	for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		reference_set(current, text(base[i][0]), text(base[i][1]));
	for (int n = 0; n < 10; n++) {
		key[4] = (char)('0' + n);
		reference_set(full, text(key), text("/search"));
	}
	return 0;
}

/* Of those that may be measured here: which, where its time goes. */
static size_t choose(struct bench_case *timed, size_t *which, int is_v1)
{
	size_t count = 0;

	for (size_t n = 0; n < LABEL_CASE_COUNT; n++) {
		if (is_v1 != (cases[n].formats == V1))
			continue;
		which[count] = n;
		timed[count++] =
			(struct bench_case){.run = with_formats, .arg = (void *)(uintptr_t)n};
	}
	return count;
}

static void make_pairs(void)
{
	for (int n = 0; n < 100; n++) {
		pairs[2 * n] = (char)('0' + n / 10);
		pairs[2 * n + 1] = (char)('0' + n % 10);
	}
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 5;
	uint64_t iterations = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
	struct bench_case timed[LABEL_CASE_COUNT];
	double ns[LABEL_CASE_COUNT] = {0};
	size_t which[LABEL_CASE_COUNT], count = choose(timed, which, argc > 3);
	int formats;

	if (!weft_thread_own_slot() || fill_reference())
		return 1;
	make_pairs();
	weft_context_set(1, 1);
	back_to_base();
	formats = argc > 3 ? V1 : weft_publish_select(ALL);
	bench_interleave(timed, count, rounds, iterations);
	for (size_t i = 0; i < count; i++)
		ns[which[i]] = timed[i].ns;
	printf("%d %d", formats, dlsym(RTLD_DEFAULT, "custom_labels_abi_version") != NULL);
	for (size_t n = 0; n < LABEL_CASE_COUNT; n++)
		printf(" %.2f", ns[n]);
	reference_free(current);
	reference_free(full);
	return puts("") < 0;
}
