/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prctl, which sets filters of system calls (hook_seccomp.c) and names.
 *
 * Names of threads: pthread_setname_np, and prctl's PR_SET_NAME. A thread may have ended before the
 * collector reads its name in /proc, where a thread without a name of its own has its creator's: so
 * the name is stored in its slot, too (abi/session.h). Names given by raw system calls or by
 * writing to /proc are not seen here; the collector finds them in /proc if the slot has none.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include "runtime/core/copies.h"
#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/hooks/hooks.h"

#define NAME_BYTES 15 /* the kernel keeps no more */

_Static_assert(sizeof(((struct weft_slot *)0)->given_name) == NAME_BYTES + 1, "with its NUL");

static void hook_name_put(struct weft_slot *slot, const char *name)
{
	uint64_t words[2] = {0, 0};

	memcpy(words, name, strnlen(name, NAME_BYTES));
	/* Pairs: slot_name() (src/collector/session/session_rings.c). */
	store_release(&slot->given_name[0], 0);
	store_release(&slot->given_name[1], words[1]);
	store_release(&slot->given_name[0], words[0]);
}

static int hook_name_has_session(void)
{
	return weft_rt_has_session() && !weft_copies_master();
}

static void name_own(const char *name)
{
	if (hook_name_has_session() && weft_slot_mine() &&
	    (weft_rt_is_careful() || !weft_is_vfork_child()))
		hook_name_put(weft_slot_mine(), name);
}

/* The slot of another thread, which exists: the caller has its handle. It may have none (yet). */
static struct weft_slot *hook_name_slot_of(pthread_t thread)
{
	for (uint32_t i = 0; i < weft_rt_slots_high(); i++) {
		struct weft_slot *slot = weft_rt_live_slot(i);

		if (slot && slot->pthread_self == (uint64_t)(uintptr_t)thread)
			return slot;
	}
	return NULL;
}

static void name_other(pthread_t thread, const char *name)
{
	struct weft_slot *slot = hook_name_has_session() ? hook_name_slot_of(thread) : NULL;

	if (slot)
		hook_name_put(slot, name);
}

WEFT_API int pthread_setname_np(pthread_t thread, const char *name)
{
	int result = weft_real(pthread_setname_np) ? weft_real(pthread_setname_np)(thread, name)
						   : ENOSYS;

	if (result)
		return result;
	if (pthread_equal(thread, pthread_self()))
		name_own(name);
	else
		name_other(thread, name);
	return 0;
}

WEFT_API int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	int result;
	va_list list;

	va_start(list, option);
	a = va_arg(list, unsigned long);
	b = va_arg(list, unsigned long);
	c = va_arg(list, unsigned long);
	d = va_arg(list, unsigned long);
	va_end(list);
	weft_seccomp_before_prctl(option, a, b);
	/* As in hook_seccomp.c: allocators name their mappings, perhaps before our constructor. */
	result = weft_real_table.prctl
			 ? weft_real_table.prctl(option, a, b, c, d)
			 : (int)sys_result(sys_call_anyway(SYS_prctl, option, (long)a, (long)b,
							   (long)c, (long)d, 0));
	if (option == PR_SET_NAME && !result)
		name_own((const char *)(uintptr_t)a);
	return result;
}
