/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind tables in the target (abi/module_map.h): the collector's table memfd, reserved
 * PROT_NONE and opened for reading up to what is in use, so that mlockall does not pay for holes
 * and RLIMIT_AS for little. What lies below tables_used never changes, and no opened byte is closed
 * again while handlers run.
 *
 * Any failure leaves the process without tables: its stacks are copied, not walked.
 */

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <weft/abi/module_map.h>

#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"
#include "runtime/stack/module_map.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define SEALS_NEEDED (F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE)
#define STEP_BYTES (UINT64_C(1) << 20)
#define PAGE UINT64_C(4096)

struct weft_tables weft_tables;

/* Which memfd is mapped: a forked child is handed the same one again. */
static uint64_t mapped_device, mapped_inode;

static uint64_t step_up(uint64_t bytes)
{
	return (bytes + STEP_BYTES - 1) & ~(STEP_BYTES - 1);
}

/* With the session at most an eighth of RLIMIT_AS: then only the first tables can be used. */
static uint64_t stack_tables_bytes_allowed(uint64_t bytes)
{
	uint64_t limit = sys_limit(RLIMIT_AS), room = limit / 8;

	if (limit == UINT64_MAX)
		return bytes;
	room = room > weft_rt.total_bytes ? room - weft_rt.total_bytes : 0;
	return (bytes < room ? bytes : room) & ~(PAGE - 1);
}

static int tables_check_file(int fd, uint64_t bytes, struct stat *st)
{
	long seals = sys_call3(SYS_fcntl, fd, F_GET_SEALS, 0);

	if (seals < 0 || (seals & SEALS_NEEDED) != SEALS_NEEDED)
		return -EPROTO;
	if (sys_call2(SYS_fstat, fd, st) || (uint64_t)st->st_size != bytes ||
	    bytes > WEFT_TABLES_BYTES || bytes < WEFT_TABLES_FIRST || bytes % PAGE)
		return -EPROTO;
	return 0;
}

static int tables_is_mapped(const struct stat *st)
{
	return weft_tables.base && mapped_device == st->st_dev && mapped_inode == st->st_ino;
}

int weft_tables_map(int fd, uint64_t bytes)
{
	uint64_t allowed = stack_tables_bytes_allowed(bytes), magic = 0;
	struct stat st = {0};
	int failed = tables_check_file(fd, bytes, &st);
	long at;

	if (failed || tables_is_mapped(&st))
		return failed;
	weft_tables_forget();
	if (allowed < STEP_BYTES)
		return -ENOMEM;
	at = sys_reserve(fd, allowed);
	if (sys_is_error(at))
		return -ENOMEM;
	weft_area_add((const void *)at, allowed);
	weft_tables.base = (const uint8_t *)at;
	weft_tables.bytes = allowed;
	mapped_device = st.st_dev;
	mapped_inode = st.st_ino;
	failed = weft_tables_open(WEFT_TABLES_FIRST);
	if (!failed)
		memcpy(&magic, weft_tables.base, sizeof(magic));
	if (magic == WEFT_TABLES_MAGIC)
		return 0;
	weft_tables_forget();
	return failed ? failed : -EPROTO;
}

int weft_tables_open(uint64_t bytes)
{
	uint64_t open = load_relaxed(&weft_tables.open);
	uint64_t used = load_acquire(&weft_rt.header->tables_used);
	uint64_t want = step_up(used);
	long failed;

	if (bytes <= open)
		return 0;
	if (weft_rt_is_careful())
		return -EPERM;
	if (bytes > weft_tables.bytes || (bytes > used && bytes > WEFT_TABLES_FIRST))
		return -ERANGE;
	if (want < bytes)
		want = step_up(bytes);
	if (want > weft_tables.bytes)
		want = weft_tables.bytes;
	failed = sys_call3(SYS_mprotect, weft_tables.base, want, PROT_READ);
	while (!failed && open < want && !cas_release(&weft_tables.open, &open, want))
		;
	weft_rt_count(WEFT_COUNTER_TABLES_OPENED, 1);
	return (int)failed;
}

void weft_tables_open_all(void)
{
	if (weft_tables.base)
		weft_tables_open(load_acquire(&weft_rt.header->tables_used));
}

/* Also empties the cache of rules, which holds offsets in this mapping. */
void weft_tables_forget(void)
{
	if (!weft_tables.base)
		return;
	weft_area_gone(weft_tables.base);
	sys_call2(SYS_munmap, weft_tables.base, weft_tables.bytes);
	memset(&weft_tables, 0, sizeof(weft_tables));
	weft_rules_forget();
}
