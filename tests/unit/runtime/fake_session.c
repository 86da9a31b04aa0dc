/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_session.h. */
#include "fake_session.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/core/runtime.h"
#include "runtime/stack/module_map.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct fake_session fake;
uint8_t *fake_tables;
uint64_t fake_used;

static struct weft_rt own;
static struct weft_session_header own_layout;

int fake_tables_file(enum fake_flaw flaw, uint8_t **mapping)
{
	const uint64_t magic = flaw == FAKE_NO_MAGIC ? 1 : WEFT_TABLES_MAGIC;
	uint64_t bytes = flaw == FAKE_SHORT ? FAKE_TABLES_BYTES - 4096 : FAKE_TABLES_BYTES;
	int seals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE;
	int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		abort();
	*mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (*mapping == MAP_FAILED)
		abort();
	memcpy(*mapping, &magic, sizeof(magic));
	if (flaw == FAKE_UNSEALED)
		return fd;
	if (flaw == FAKE_WRITABLE)
		seals &= ~F_SEAL_FUTURE_WRITE;
	if (fcntl(fd, F_ADD_SEALS, seals))
		abort();
	return fd;
}

void fake_begin(void)
{
	int fd;

	own = weft_rt;
	own_layout = weft_layout;
	memset(&fake, 0, sizeof(fake));
	weft_rt.base = (uint8_t *)&fake;
	weft_rt.header = &fake.header;
	weft_layout.map_offset = (uint64_t)(fake.map - (uint8_t *)&fake);
	weft_layout.map_bytes = sizeof(fake.map);
	weft_rt.total_bytes = sizeof(fake);
	weft_layout.session_id = UINT64_C(0x1234567890ABCDEF);
	fake_used = WEFT_TABLES_FIRST;
	fake.header.tables_used = fake_used;
	fd = fake_tables_file(FAKE_SOUND, &fake_tables);
	if (weft_tables_map(fd, FAKE_TABLES_BYTES))
		abort();
	close(fd);
}

void fake_end(void)
{
	weft_tables_forget();
	munmap(fake_tables, FAKE_TABLES_BYTES);
	weft_rt = own;
	weft_layout = own_layout;
}

uint64_t fake_put_table(const struct unwind_table *table)
{
	uint64_t at = fake_used;

	memcpy(fake_tables + at, table, table->bytes);
	fake_used = (at + table->bytes + WEFT_TABLE_ALIGN - 1) & ~(uint64_t)(WEFT_TABLE_ALIGN - 1);
	__atomic_store_n(&fake.header.tables_used, fake_used, __ATOMIC_RELEASE);
	return at;
}

/* Word by word, as a reader on another thread may see it. */
static void store_modules(struct weft_map_module *to, const struct weft_map_module *from,
			  uint32_t count)
{
	const uint64_t *in = (const uint64_t *)(const void *)from;
	uint64_t *out = (uint64_t *)(void *)to;

	for (uint64_t i = 0; i < count * sizeof(*to) / 8; i++)
		__atomic_store_n(&out[i], in[i], __ATOMIC_RELAXED);
}

void fake_publish(uint64_t place, uint32_t number, const struct weft_map_module *modules,
		  uint32_t count)
{
	struct weft_map_snapshot *to = (void *)(fake.map + place);

	__atomic_store_n(&to->number, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_modules((void *)(to + 1), modules, count);
	__atomic_store_n(&to->count, count, __ATOMIC_RELAXED);
	__atomic_store_n(&to->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&fake.header.map_number, number, __ATOMIC_RELAXED);
	__atomic_store_n(&fake.header.map_current, weft_layout.map_offset + place,
			 __ATOMIC_RELEASE);
}
