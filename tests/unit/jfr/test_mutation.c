/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage of every small kind to a good recording: the reader must end with 0 or -EBADMSG,
 * with everything it gave readable, whatever bit is wrong. Run with sanitizers to be worth
 * most; without, a crash or a hang fails it.
 */
#include "fake.h"

#include <weft/jfr.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MOST_NODES 2000000

static char path[64];
static uint8_t *good;
static size_t good_bytes;
static uint64_t touched;

/* Reads every byte that a node leads to. */
static void touch(const struct weft_jfr_node *n, size_t *nodes)
{
	assert_true(++*nodes < MOST_NODES);
	switch (n->shape) {
	case WEFT_JFR_V_STRING:
		for (size_t i = 0; i < n->string.bytes; i++)
			touched += (unsigned char)n->string.data[i];
		return;
	case WEFT_JFR_V_STRUCT:
		assert_int_equal(n->many.count, weft_jfr_class_fields(n->type));
		break;
	case WEFT_JFR_V_ARRAY:
		break;
	default:
		touched += (uint64_t)n->number;
		return;
	}
	for (size_t i = 0; i < n->many.count; i++)
		touch(&n->many.item[i], nodes);
}

static void read_file(void)
{
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *r = weft_jfr_open(path);
	size_t nodes = 0;
	int rc;

	if (!r) {
		assert_true(errno == EBADMSG || errno == EPROTONOSUPPORT);
		return;
	}
	while ((rc = weft_jfr_next(r, &e)) == 1)
		for (size_t i = 0; i < e.field_count; i++)
			touch(&e.fields[i], &nodes);
	if (rc != 0) {
		assert_int_equal(rc, -EBADMSG);
		assert_int_not_equal(weft_jfr_error(r)[0], 0);
	}
	weft_jfr_reader_free(r);
}

static void write_recording(void)
{
	struct weft_jfr_options o = {.size = sizeof(o), .path = path, .start_mono_ns = 1000};
	struct weft_jfr_writer *w = weft_jfr_create(&o);
	struct weft_jfr_type *sample = weft_jfr_standard_type(w, WEFT_JFR_EXECUTION_SAMPLE);
	struct weft_jfr_type *setting = weft_jfr_standard_type(w, WEFT_JFR_ACTIVE_SETTING);
	struct weft_jfr_frame frames[2] = {{.line = 3, .type = WEFT_JFR_FRAME_NATIVE},
					   {.type = WEFT_JFR_FRAME_CPP}};
	char longer[100] = "x";

	frames[0].method = weft_jfr_method(w, "m", "f");
	frames[1].method = weft_jfr_method(w, "m", "g");
	for (int i = 0; i < 4; i++) {
		struct weft_jfr_value v[4] = {{.number = 2000 + i}};
		struct weft_jfr_value s[4] = {{.number = 2000 + i}, {.number = 1}};

		v[1].number = (int64_t)weft_jfr_thread(
			w, &(struct weft_jfr_thread){.os_id = i, .name = "t", .group = "g"}, 0);
		v[2].number = (int64_t)weft_jfr_stack(w, frames, 1 + (size_t)i % 2, 0);
		v[3].number = WEFT_JFR_STATE_RUNNABLE;
		assert_int_equal(weft_jfr_event(w, sample, v, 4), 0);
		s[2].string = (struct weft_jfr_string){longer, sizeof(longer)};
		assert_int_equal(weft_jfr_event(w, setting, s, 4), 0);
	}
	assert_int_equal(weft_jfr_close(w), 0);
}

static int set_up(void **state)
{
	FILE *in;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/weft-mutation-XXXXXX");
	close(mkstemp(path));
	write_recording();
	in = fopen(path, "rb");
	good = malloc(1 << 20);
	if (!in || !good)
		return -1;
	good_bytes = fread(good, 1, 1 << 20, in);
	fclose(in);
	return good_bytes > 1000 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(good);
	return unlink(path);
}

static void store(int fd, size_t at, const void *data, size_t bytes)
{
	assert_int_equal(pwrite(fd, data, bytes, (off_t)at), (ssize_t)bytes);
}

static void every_truncation_is_survived(void **state)
{
	(void)state;
	for (size_t left = good_bytes; left-- > 0;) {
		assert_int_equal(truncate(path, (off_t)left), 0);
		read_file();
	}
}

static void every_flipped_bit_is_survived(void **state)
{
	int fd = open(path, O_WRONLY);

	(void)state;
	assert_true(fd >= 0);
	for (size_t at = 0; at < good_bytes; at++) {
		for (int bit = 0; bit < 8; bit++) {
			uint8_t bad = (uint8_t)(good[at] ^ 1 << bit);

			store(fd, at, &bad, 1);
			read_file();
		}
		store(fd, at, &good[at], 1);
	}
	close(fd);
}

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Several bytes at once, with the values that length checks get wrong. */
static void random_bytes_are_survived(void **state)
{
	static const uint8_t nasty[] = {0x00, 0x01, 0x7F, 0x80, 0xFF, 0xFE};
	int fd = open(path, O_WRONLY);

	(void)state;
	assert_true(fd >= 0);
	for (int round = 0; round < 4000; round++) {
		store(fd, 0, good, good_bytes);
		for (uint64_t n = 1 + next_random() % 12; n; n--) {
			size_t at = next_random() % good_bytes;

			store(fd, at, &nasty[next_random() % sizeof(nasty)], 1);
		}
		read_file();
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_truncation_is_survived, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_flipped_bit_is_survived, set_up, tear_down),
		cmocka_unit_test_setup_teardown(random_bytes_are_survived, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
