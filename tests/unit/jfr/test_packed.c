/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that are packed: whole, cut at any byte, changed at any byte, and bombs. */
#include "jfr/read/unpack.h"

#include "fake.h"
#include "pack.h"

#include <weft/jfr.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT ((uint64_t)1 << 20)

static char path[64];
static int fd;
static struct buf plain, packed;
static struct unpacked out;

static void put_event(struct fake *f, uint64_t text)
{
	struct buf b = {0};

	fake_int(f, &b, 7042, 8);
	for (int i = 0; i < 40; i++)
		fake_int(f, &b, (text + (uint64_t)i) * UINT64_C(0x9E3779B97F4A7C15) >> 40, 8);
	fake_event(f, 30, &b);
	buf_free(&b);
}

/* Two chunks of twenty events. */
static void build(void)
{
	static const struct fake_class classes[] = {
		{.id = 10, .name = "long"},
		{.id = 30,
		 .name = "test.Event",
		 .super = "jdk.jfr.Event",
		 .fields = {{"startTime", 10, 0, 0}}},
		{0},
	};
	struct fake f = {0};

	for (uint64_t chunk = 0; chunk < 2; chunk++) {
		fake_chunk(&f, 0);
		fake_metadata(&f, classes);
		for (uint64_t i = 0; i < 20; i++)
			put_event(&f, chunk * 1000 + i * 40);
		fake_end(&f);
	}
	plain = f.file;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/weft-packed-XXXXXX");
	fd = mkstemp(path);
	build();
	return fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	buf_free(&plain);
	buf_free(&packed);
	memset(&packed, 0, sizeof(packed));
	close(fd);
	return unlink(path);
}

static void save(const void *data, size_t bytes)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, data, bytes, 0), bytes);
}

static int unpack_it(const void *data, size_t bytes, uint64_t limit)
{
	memset(&out, 0, sizeof(out));
	save(data, bytes);
	return unpack(fd, bytes, limit, &out);
}

/* What came out is the first bytes of @expected, all of them when nothing is damaged. */
static void check(const struct buf *expected, const char *damage)
{
	uint8_t *data = malloc((size_t)out.bytes + 1);

	assert_non_null(data);
	assert_true(out.bytes <= expected->size);
	assert_int_equal(pread(out.fd, data, (size_t)out.bytes, 0), out.bytes);
	assert_memory_equal(data, expected->data, (size_t)out.bytes);
	assert_string_equal(out.damage, damage);
	if (!damage[0])
		assert_int_equal(out.bytes, expected->size);
	free(data);
	close(out.fd);
}

static int repack(enum packing how, const void *data, size_t bytes)
{
	buf_clear(&packed);
	return pack(&packed, how, data, bytes);
}

static void every_packing_gives_the_recording(void **state)
{
	(void)state;
	for (int how = 0; how < PACKINGS; how++) {
		if (!repack((enum packing)how, plain.data, plain.size))
			continue;
		assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), 0);
		check(&plain, "");
	}
}

static void members_and_frames_follow_one_another(void **state)
{
	static const enum packing several[] = {PACK_GZIP, PACK_LZ4, PACK_ZSTD};
	size_t half = plain.size / 2;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		if (!repack(several[i], plain.data, half))
			continue;
		pack(&packed, several[i], plain.data + half, plain.size - half);
		pack(&packed, several[i], "", 0);
		assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), 0);
		check(&plain, "");
	}
}

static void a_cut_archive_gives_what_came_before(void **state)
{
	(void)state;
	for (int how = 0; how < PACKINGS; how++) {
		uint64_t before = 0;
		char damage[40];

		if (!repack((enum packing)how, plain.data, plain.size))
			continue;
		snprintf(damage, sizeof(damage), "%.*s: cut short",
			 (int)strcspn(pack_names[how], " "), pack_names[how]);
		for (size_t left = 4; left < packed.size; left += 2) {
			int rc = unpack_it(packed.data, left, LIMIT);

			if (rc == -EBADMSG && !before)
				continue; /* nothing had come out yet */
			assert_int_equal(rc, 0);
			check(&plain, damage);
			assert_true(out.bytes >= before);
			before = out.bytes;
		}
		assert_true(before > plain.size / 2);
	}
}

static void changed_archives_are_survived(void **state)
{
	(void)state;
	for (int how = 0; how < PACKINGS; how++) {
		if (!repack((enum packing)how, plain.data, plain.size))
			continue;
		for (size_t at = 0; at < packed.size; at += 3) {
			uint8_t old = packed.data[at];
			int rc;

			packed.data[at] ^= (uint8_t)(1u << at % 8);
			rc = unpack_it(packed.data, packed.size, LIMIT);
			packed.data[at] = old;
			if (rc != 0) {
				assert_true(rc == -EBADMSG || rc == -EOPNOTSUPP || rc == -EFBIG);
				continue;
			}
			assert_true(out.bytes <= LIMIT);
			/* a checksum tells, but for what is not looked at */
			if (out.bytes != plain.size)
				assert_true(out.damage[0] != 0);
			close(out.fd);
		}
	}
}

static void bombs_are_refused(void **state)
{
	size_t bytes = (size_t)8 << 20;
	uint8_t *zeros = calloc(bytes, 1);

	(void)state;
	assert_non_null(zeros);
	for (int how = 0; how < PACKINGS; how++) {
		memset(zeros, 0, 4);
		if (!repack((enum packing)how, zeros, bytes))
			continue;
		assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), -EBADMSG);
		memcpy(zeros, "FLR", 4);
		repack((enum packing)how, zeros, bytes);
		assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), -EFBIG);
		assert_int_equal(unpack_it(packed.data, packed.size, bytes), 0);
		assert_int_equal(out.bytes, bytes);
		close(out.fd);
	}
	free(zeros);
}

static void limits_follow_the_size(void **state)
{
	(void)state;
	assert_int_equal(unpack_limit(1), 64 << 20);
	assert_int_equal(unpack_limit(1 << 20), 200 << 20);
	assert_int_equal(unpack_limit(UINT64_C(1) << 40), UINT64_C(8) << 30);
	assert_int_equal(unpack_limit(UINT64_MAX), UINT64_C(8) << 30);
}

#ifdef WEFT_HAVE_ZLIB

static void behind_a_member_only_zeros_or_another(void **state)
{
	(void)state;
	repack(PACK_GZIP, plain.data, plain.size);
	for (int i = 0; i < 700; i++)
		buf_put_u8(&packed, 0);
	assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), 0);
	check(&plain, "");
	buf_put(&packed, "else", 4);
	assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), 0);
	check(&plain, "gzip: something else follows");
}

static void the_entry_of_an_archive(void **state)
{
	struct zip_entry entries[] = {
		{.name = "dir/", .data = "", .bytes = 0},
		{.name = "notes.txt", .data = "hello", .bytes = 5, .deflated = 1},
		{.name = "dir/one.JFR", .data = plain.data, .bytes = plain.size, .deflated = 1},
		{.name = "two.jfr", .data = "FLR", .bytes = 4},
	};

	(void)state;
	buf_clear(&packed);
	pack_zip(&packed, entries, 4);
	assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), 0);
	check(&plain, "");
	entries[2].name = "dir/recording"; /* none is named so: the first */
	buf_clear(&packed);
	pack_zip(&packed, entries + 2, 1);
	assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), 0);
	check(&plain, "");
	buf_clear(&packed);
	pack_zip(&packed, entries, 2);
	assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), -EBADMSG);
	buf_clear(&packed);
	pack_zip(&packed, entries, 0);
	assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), -EBADMSG);
}

static void entries_before_it_are_passed_over_in_a_cut_archive(void **state)
{
	struct zip_entry entries[] = {
		{.name = "notes.txt", .data = "hello", .bytes = 5, .deflated = 1},
		{.name = "a.jfr", .data = plain.data, .bytes = plain.size, .deflated = 1},
	};

	(void)state;
	buf_clear(&packed);
	pack_zip(&packed, entries, 2);
	assert_int_equal(unpack_it(packed.data, packed.size - 1, LIMIT), 0);
	assert_int_equal(out.bytes, plain.size); /* only the directory is missing */
	check(&plain, "zip: cut short");
}

static void entries_that_cannot_be_read(void **state)
{
	struct zip_entry e = {.name = "a.jfr", .data = plain.data, .bytes = plain.size, .flags = 1};

	(void)state;
	buf_clear(&packed);
	pack_zip(&packed, &e, 1);
	assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), -EOPNOTSUPP);
	e.flags = 0;
	e.spoil = 1;
	e.deflated = 1;
	buf_clear(&packed);
	pack_zip(&packed, &e, 1);
	assert_int_equal(unpack_it(packed.data, packed.size, LIMIT), 0);
	check(&plain, "zip: its checksum is another");
}

static void a_reader_gives_what_is_whole(void **state)
{
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *r;
	int events = 0, rc;

	(void)state;
	repack(PACK_GZIP, plain.data, plain.size);
	save(packed.data, packed.size);
	r = weft_jfr_open(path);
	assert_non_null(r);
	while ((rc = weft_jfr_next(r, &e)) == 1)
		events++;
	assert_int_equal(rc, 0);
	assert_int_equal(events, 40);
	weft_jfr_reader_free(r);
	save(packed.data, packed.size * 3 / 4);
	r = weft_jfr_open(path);
	assert_non_null(r);
	for (events = 0; (rc = weft_jfr_next(r, &e)) == 1; events++)
		;
	assert_int_equal(rc, -EBADMSG);
	assert_int_equal(events, 20);
	assert_non_null(strstr(weft_jfr_error(r), "chunk is cut short; gzip: cut short"));
	weft_jfr_reader_free(r);
}

#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_packing_gives_the_recording),
		TEST(members_and_frames_follow_one_another),
		TEST(a_cut_archive_gives_what_came_before),
		TEST(changed_archives_are_survived),
		TEST(bombs_are_refused),
		TEST(limits_follow_the_size),
#ifdef WEFT_HAVE_ZLIB
		TEST(behind_a_member_only_zeros_or_another),
		TEST(the_entry_of_an_archive),
		TEST(entries_before_it_are_passed_over_in_a_cut_archive),
		TEST(entries_that_cannot_be_read),
		TEST(a_reader_gives_what_is_whole),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
