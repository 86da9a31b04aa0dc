/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlockall costs all address space that is mapped. That of the session and the tables, nearly all
 * of it only reserved, must not count for the program. So only the program's own mappings are
 * locked: if the kernel refuses mlockall by RLIMIT_MEMLOCK, but would not refuse those, they are
 * locked one by one; if it locks everything, ours are unlocked again, or they would use up the
 * limit of a program that gives up its privileges later.
 */
#include <link.h>
#include <sys/resource.h>

#include "runtime/core/loaded_object.h"
#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/hooks/hooks.h"
#include "runtime/stack/module_map.h"

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif
#define LOCK_ON_FAULT 1 /* MLOCK_ONFAULT */
#define PAGE UINT64_C(4096)
#define USER_TOP (UINT64_C(1) << 63) /* the vsyscall page above it is no mapping */

struct range {
	uint64_t low, high;
};
enum { SESSION, TABLES, LIBRARY, OURS };

extern const ElfW(Ehdr) library __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* Shared objects are linked at address 0. */
static struct range find_library(void)
{
	uint64_t low = (uint64_t)(uintptr_t)&library;
	const struct dl_phdr_info info = {.dlpi_addr = low,
					  .dlpi_phdr =
						  (const void *)(uintptr_t)(low + library.e_phoff),
					  .dlpi_phnum = library.e_phnum};
	struct weft_object o;

	weft_object_read(&o, &info);
	return (struct range){low, (o.high + PAGE - 1) & ~(PAGE - 1)};
}

static void find_ours(struct range ours[OURS])
{
	uint64_t session = (uint64_t)(uintptr_t)weft_rt.base;
	uint64_t tables = (uint64_t)(uintptr_t)weft_tables.base;

	ours[SESSION] = (struct range){session, session ? session + weft_rt.total_bytes : 0};
	ours[TABLES] = (struct range){tables, tables ? tables + weft_tables.bytes : 0};
	ours[LIBRARY] = find_library();
}

static int hook_mlock_is_ours(const struct range *ours, const struct weft_mapping *m)
{
	for (int i = 0; i < OURS; i++)
		if (m->low >= ours[i].low && m->high <= ours[i].high)
			return 1;
	return 0;
}

/* All of the program's mappings: their size, and @locks: each is locked. */
struct mappings {
	const struct range *ours;
	int locks;
	long how;
	uint64_t bytes;
};

static int visit_mapping(void *arg, const struct weft_mapping *m)
{
	struct mappings *all = arg;

	if (m->low >= USER_TOP || hook_mlock_is_ours(all->ours, m))
		return 0;
	all->bytes += m->high - m->low;
	/* the result is ignored: an area without access is locked all the same */
	if (all->locks)
		sys_call3(all->how ? SYS_mlock2 : SYS_mlock, m->low, m->high - m->low, all->how);
	return 0;
}

static int lock_own(const struct range ours[OURS], int flags)
{
	struct rlimit limit;
	struct mappings all = {.ours = ours, .how = flags & MCL_ONFAULT ? LOCK_ON_FAULT : 0};

	weft_maps_each("/proc/self/maps", visit_mapping, &all);
	if (!all.bytes || getrlimit(RLIMIT_MEMLOCK, &limit) || all.bytes > limit.rlim_cur)
		return -ENOMEM;
	if (flags & MCL_FUTURE) {
		if (sys_call1(SYS_mlockall, flags & ~MCL_CURRENT))
			return -ENOMEM;
	} else {
		sys_call0(SYS_munlockall); /* later mappings are no longer locked */
	}
	all.locks = 1;
	weft_maps_each("/proc/self/maps", visit_mapping, &all);
	return 0;
}

static void hook_mlock_let_go(const struct range ours[OURS])
{
	for (int i = 0; i < LIBRARY; i++)
		if (ours[i].high)
			sys_call2(SYS_munlock, ours[i].low, ours[i].high - ours[i].low);
}

WEFT_API int mlockall(int flags)
{
	struct range ours[OURS];
	int before = errno, result = weft_real(mlockall)(flags);

	if (!(flags & MCL_CURRENT) || !weft_rt.base || weft_rt_is_careful())
		return result;
	find_ours(ours);
	if (!result) {
		hook_mlock_let_go(ours);
	} else if (errno == ENOMEM && !lock_own(ours, flags)) {
		errno = before;
		result = 0;
	}
	return result;
}
