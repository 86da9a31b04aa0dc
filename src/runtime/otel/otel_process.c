/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context: a mapping of one page with the header (readers tell it by its size, too),
 * and elsewhere two halves for the payload, of which the header names one. A change fills the other
 * half, publishes it by plain stores, in the order of weft/abi/otel_process_context.h, and names
 * the mapping again, each time: by that system call listeners learn of it. A reader that is still
 * in the old half finds the time changed at its end.
 *
 * The bell is a lock of which nobody waits for the holder: a thread that wants something published
 * adds 1 to it. If it was 0, the thread holds it, publishes until nobody has added meanwhile, and
 * sets it back to 0; else the thread goes on at once (its key is in the map a moment later, and
 * readers look again for an index that they do not know). Only callers that may make system calls
 * wait: begin, stop, resource attributes. A thread that dies while it holds the bell takes the
 * process along; one that leaves by a longjmp loses it after a second to the next caller that may
 * make system calls.
 */
#include "runtime/otel/otel_private.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/sys.h"

#define HEADER_BYTES 4096
#define HALVES_BYTES (2 * WEFT_OTEL_PROCESS_PAYLOAD_MAX)
#define NAME WEFT_OTEL_PROCESS_SIGNATURE
#define SET_VMA 0x53564d41
#define MEMFD_NOEXEC_SEAL 0x8u
#define PATIENCE_NS UINT64_C(1000000000)

struct otel_options weft_otel_chosen = {
	.root_key = WEFT_OTEL_ROOT_KEY,
	.schema = WEFT_OTEL_SCHEMA_DEV,
};

static struct weft_otel_process_header *header;
static uint8_t *halves;
static uint32_t half; /* which one the header names */
static uint32_t bell;
static uint64_t bell_since_ns;
static uint32_t publisher;    /* enum weft_publisher */
static uint64_t foreign_at;   /* the mapping of the publisher that was there first */
static uint32_t keys_missed;  /* a key was asked for that another library's map lacks */
static int64_t boot_ahead_ns; /* CLOCK_BOOTTIME before CLOCK_MONOTONIC */

enum weft_publisher weft_otel_process_publisher(void)
{
	return load_relaxed(&publisher);
}

uint64_t weft_otel_process_at(void)
{
	return (uint64_t)(uintptr_t)header;
}

/* ---- the payload */

/* The start of a KeyValue; the caller appends its value, an AnyValue of @bytes. */
static uint8_t *put_attribute(uint8_t *to, const char *key, uint32_t bytes)
{
	uint32_t key_bytes = (uint32_t)strlen(key);

	to = otel_put_start(to, ATTRIBUTES, otel_field_bytes(key_bytes) + otel_field_bytes(bytes));
	to = otel_put_bytes(to, KEY, key, key_bytes);
	return otel_put_start(to, VALUE, bytes);
}

static uint8_t *put_schema(uint8_t *to)
{
	uint32_t bytes = (uint32_t)strlen(weft_otel_chosen.schema);

	to = put_attribute(to, WEFT_OTEL_SCHEMA_KEY, otel_field_bytes(bytes));
	return otel_put_bytes(to, TEXT, weft_otel_chosen.schema, bytes);
}

static uint8_t *put_key_map(uint8_t *to, uint32_t count)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += otel_field_bytes(otel_field_bytes(weft_otel_key_at(i)->bytes));
	to = put_attribute(to, WEFT_OTEL_KEY_MAP_KEY, otel_field_bytes(bytes));
	to = otel_put_start(to, ARRAY, bytes);
	for (uint32_t i = 0; i < count; i++) {
		const struct otel_key *k = weft_otel_key_at(i);

		to = otel_put_start(to, ARRAY_VALUES, otel_field_bytes(k->bytes));
		to = otel_put_bytes(to, TEXT, k->text, k->bytes);
	}
	return to;
}

/* Always fits: OTEL_RESOURCE_BYTES and 256 keys of OTEL_KEY_BYTES are less than a half. */
static uint32_t encode(uint8_t *to)
{
	uint8_t *start = to;
	uint32_t bytes;
	const uint8_t *resource = weft_otel_resource_bytes(&bytes);

	to = otel_put_bytes(to, RESOURCE, resource, bytes);
	if (weft_otel_thread_publisher() == WEFT_PUBLISHER_WEFT) {
		to = put_schema(to);
		to = put_key_map(to, weft_otel_keys_count());
	}
	return (uint32_t)(to - start);
}

/* ---- the header */

/* Names the mapping, which also wakes those who listen for the name. May be forbidden. */
static long otel_process_set_name(void)
{
	if (weft_rt_is_careful())
		return -EPERM;
	return sys_call5(SYS_prctl, SET_VMA, 0, header, HEADER_BYTES, NAME);
}

static void read_clock_offset(void)
{
	struct timespec boot = {0};
	uint64_t now = clock_own_ns();

	if (!weft_time_read(CLOCK_BOOTTIME, &boot))
		boot_ahead_ns = (int64_t)((uint64_t)boot.tv_sec * 1000000000u +
					  (uint64_t)boot.tv_nsec - now);
}

static uint64_t time_now(void)
{
	return clock_own_ns() + (uint64_t)boot_ahead_ns;
}

/*
 * The protocol asks for a full fence after storing 0, for one before storing the time, and for the
 * name at the end. Returns what naming did.
 */
static long otel_process_publish_once(void)
{
	uint64_t before = header->published_ns, now;
	uint8_t *payload;
	uint32_t bytes;

	read_clock_offset();
	now = time_now();
	half ^= 1;
	payload = halves + half * WEFT_OTEL_PROCESS_PAYLOAD_MAX;
	bytes = encode(payload);
	store_seq_cst(&header->published_ns, 0);
	store_seq_cst(&header->payload, (uint64_t)(uintptr_t)payload);
	store_seq_cst(&header->payload_bytes, bytes);
	store_seq_cst(&header->published_ns, now > before ? now : before + 1);
	return otel_process_set_name();
}

/* Releases the bell, once everything is published that others wanted meanwhile. */
static void bell_release(int has_changed)
{
	uint32_t rung;

	do {
		rung = load_acquire(&bell);
		if (header && (has_changed || rung > 1))
			otel_process_publish_once();
		has_changed = 1;
	} while (!cas_release(&bell, &rung, 0));
}

void weft_otel_process_republish(void)
{
	if (__atomic_fetch_add(&bell, 1, __ATOMIC_ACQ_REL))
		return;
	store_relaxed(&bell_since_ns, clock_own_ns());
	bell_release(1);
}

void weft_otel_process_lock(void)
{
	uint32_t nobody = 0;

	while (!cas_acquire(&bell, &nobody, 1)) {
		uint64_t since_ns = load_relaxed(&bell_since_ns);

		if (clock_own_ns() - since_ns > PATIENCE_NS &&
		    cas_acquire(&bell_since_ns, &since_ns, clock_own_ns()))
			return;
		sys_call0(SYS_sched_yield);
		nobody = 0;
	}
	store_relaxed(&bell_since_ns, clock_own_ns());
}

void weft_otel_process_unlock(int has_changed)
{
	if (has_changed && header)
		otel_process_publish_once();
	bell_release(0);
}

/* ---- the mapping */

static int otel_process_make_file(void)
{
	int fd = weft_memfd_make(NAME, MEMFD_NOEXEC_SEAL, HEADER_BYTES);

	return fd == -EINVAL ? weft_memfd_make(NAME, 0, HEADER_BYTES) : fd;
}

static void unmap_own_area(void *at, size_t bytes)
{
	weft_area_gone(at);
	sys_call2(SYS_munmap, at, bytes);
}

/* NULL: no memory, or a child would inherit it. @fd < 0: of no file. */
static void *map_own_area(long fd, size_t bytes)
{
	int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
	long at = sys_call6(SYS_mmap, 0, SYS_ARG(bytes), PROT_READ | PROT_WRITE, flags,
			    fd < 0 ? -1 : fd, 0);
	void *area = (void *)at;

	if (sys_is_error(at))
		return NULL;
	weft_area_add(area, bytes);
	if (sys_call3(SYS_madvise, at, bytes, MADV_DONTFORK)) {
		unmap_own_area(area, bytes);
		return NULL;
	}
	sys_call3(SYS_madvise, at, bytes, MADV_NOHUGEPAGE);
	return area;
}

static void otel_process_unmap(void)
{
	if (header)
		unmap_own_area(header, HEADER_BYTES);
	if (halves)
		unmap_own_area(halves, HALVES_BYTES);
	header = NULL;
	halves = NULL;
}

/* All fields but the time are stored before it. */
static long otel_process_fill_header(void)
{
	memcpy(header->signature, NAME, sizeof(header->signature));
	header->version = WEFT_OTEL_PROCESS_VERSION;
	return otel_process_publish_once();
}

/* The bell is held. Fails if there is neither a file nor a name: readers could not find it. */
static int otel_process_map(void)
{
	long fd = weft_rt_is_careful() ? -EPERM : otel_process_make_file();
	int failed = 0;

	halves = map_own_area(-1, HALVES_BYTES);
	header = map_own_area(fd, HEADER_BYTES);
	if (fd >= 0)
		sys_call1(SYS_close, fd);
	if (!header || !halves)
		failed = -ENOMEM;
	else if (otel_process_fill_header() < 0 && fd < 0)
		failed = -ENOTSUP;
	if (failed)
		otel_process_unmap();
	return failed;
}

/* ---- begin and end */

void weft_otel_publish_header(void)
{
	if (!weft_rt_is_ready())
		return;
	store_release(&weft_rt.header->otel_process, publisher);
	store_release(&weft_rt.header->otel_thread, weft_otel_thread_publisher());
}

static void otel_process_read_options(void)
{
	const char *key = secure_getenv("WEFT_OTEL_ROOT_KEY");
	const char *schema = secure_getenv("WEFT_OTEL_SCHEMA");
	struct otel_options given = weft_otel_chosen;

	if (key && !given.root_is_set)
		weft_otel_options_set(key, NULL);
	if (schema && !given.schema_is_set)
		weft_otel_options_set(NULL, schema);
	weft_otel_chosen.root_is_set = given.root_is_set;
	weft_otel_chosen.schema_is_set = given.schema_is_set;
}

static int find_usable(const char *key, size_t bytes)
{
	int index = weft_otel_keys_find(key, bytes);

	return index >= 0 && weft_otel_key_is_usable((uint32_t)index) ? index : -1;
}

/* The index of the root span's key, appended where the map is ours; -1 = none. */
static int32_t root_index(void)
{
	const char *key = weft_otel_chosen.root_key;
	size_t bytes = strlen(key);
	int is_new;

	if (!bytes)
		return -1;
	return publisher == WEFT_PUBLISHER_ANOTHER ? find_usable(key, bytes)
						   : weft_otel_keys_add(key, bytes, &is_new);
}

static int otel_process_begin(void)
{
	int failed = 0;

	foreign_at = weft_otel_foreign_find("/proc/self/maps", weft_otel_process_at());
	publisher = foreign_at ? WEFT_PUBLISHER_ANOTHER : WEFT_PUBLISHER_WEFT;
	weft_otel_keys_usable = foreign_at ? 0 : WEFT_OTEL_PROCESS_KEYS_MAX;
	if (foreign_at)
		weft_otel_foreign_keys(foreign_at);
	weft_otel_thread_begin(root_index());
	if (publisher == WEFT_PUBLISHER_ANOTHER)
		return weft_otel_thread_publisher() == WEFT_PUBLISHER_WEFT ? 0 : -EBUSY;
	weft_otel_resource_begin();
	failed = weft_otel_thread_publisher() == WEFT_PUBLISHER_FAILED ? -ENOENT
								       : otel_process_map();
	if (failed) {
		publisher = WEFT_PUBLISHER_FAILED;
		weft_otel_thread_stop();
	}
	return failed;
}

int weft_otel_begin(void)
{
	int failed;

	if (publisher == WEFT_PUBLISHER_WEFT || publisher == WEFT_PUBLISHER_ANOTHER)
		return 0;
	otel_process_read_options();
	weft_otel_process_lock();
	failed = otel_process_begin();
	weft_otel_publish_header();
	weft_otel_process_unlock(0);
	return failed;
}

void weft_otel_stop(void)
{
	weft_otel_process_lock();
	otel_process_unmap();
	publisher = WEFT_PUBLISHER_NONE;
	weft_otel_thread_stop();
	weft_otel_publish_header();
	weft_otel_process_unlock(0);
}

void weft_otel_join(int64_t distance)
{
	if (!distance)
		return;
	weft_otel_thread_join(distance);
	if (weft_otel_thread_publisher() != WEFT_PUBLISHER_ANOTHER)
		return;
	weft_otel_process_lock();
	weft_otel_thread_begin(root_index());
	weft_otel_publish_header();
	weft_otel_process_unlock(1);
}

/* Another library's mapping is gone in a child, too; to map it again is that library's business. */
void weft_otel_after_fork(void)
{
	store_relaxed(&bell, 0);
	if (header)
		weft_area_gone(header);
	if (halves)
		weft_area_gone(halves);
	header = NULL;
	halves = NULL;
	weft_otel_process_lock();
	weft_otel_resource_after_fork();
	if (publisher == WEFT_PUBLISHER_WEFT && otel_process_map())
		publisher = WEFT_PUBLISHER_FAILED;
	weft_otel_process_unlock(0);
	weft_otel_thread_after_fork();
}

/* ---- keys, as labels use them */

int weft_otel_key(const char *key, size_t bytes)
{
	int index, is_new = 0;

	if (weft_otel_process_publisher() == WEFT_PUBLISHER_ANOTHER)
		index = find_usable(key, bytes);
	else
		index = weft_otel_keys_add(key, bytes, &is_new);
	if (index < 0)
		store_relaxed(&keys_missed, 1);
	if (is_new)
		weft_otel_process_republish();
	return index;
}

int weft_otel_key_has_no_room(const char *key, size_t bytes)
{
	return weft_otel_process_publisher() == WEFT_PUBLISHER_WEFT &&
	       weft_otel_keys_count() == WEFT_OTEL_PROCESS_KEYS_MAX &&
	       weft_otel_is_utf8(key, bytes) && weft_otel_keys_find(key, bytes) < 0;
}

/* Reads the other library's keys again, whose mapping may have moved in a child. */
static void reread_foreign_keys(void)
{
	store_relaxed(&keys_missed, 0);
	if (weft_otel_foreign_keys(foreign_at)) {
		foreign_at = weft_otel_foreign_find("/proc/self/maps", 0);
		if (!foreign_at || weft_otel_foreign_keys(foreign_at))
			return;
	}
	weft_otel_thread_set_root(root_index());
}

/* Not done if the bell is held, but at the next call: a thread may claim its slot in a handler. */
void weft_otel_look_again(void)
{
	uint32_t nobody = 0;

	if (weft_otel_process_publisher() != WEFT_PUBLISHER_ANOTHER ||
	    !load_relaxed(&keys_missed) || weft_rt_is_careful() || !cas_acquire(&bell, &nobody, 1))
		return;
	store_relaxed(&bell_since_ns, clock_own_ns());
	reread_foreign_keys();
	bell_release(0);
}
