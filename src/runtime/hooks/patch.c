/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a library loaded late, by dlopen: in every loaded module, the call slots of functions that
 * have hooks are redirected from libc's to ours. A slot is changed only if it holds an address in
 * libc, or if it still holds one of its own module (not yet bound) and the name would be bound to
 * libc's: another interposer (a sanitizer, another profiler) stays. Our own object, libc and the
 * loader are never touched, nor are sanitizers' runtimes.
 *
 * Modules loaded later are patched after the dlopen that loads them. dlopen is called on behalf of
 * the program only if nothing depends on the caller; else it is jumped to, as if the program had
 * called it, and the new modules are looked for at the next dlsym, dlclose, dlopen or
 * pthread_create (`pending`). For that reason neither dlopen nor dlsym is interposed by name.
 */
#include "runtime/hooks/patch.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <string.h>
#include <sys/auxv.h>

#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"
#include "runtime/signals/signals.h"

#pragma weak sem_wait

#define ALWAYS 0

/* X(function, group): by name, some have no prototype in every libc */
/* clang-format off */
#define THREAD_HOOKS(X, g) \
	X(pthread_create, g) X(thrd_create, g) X(timer_create, g) X(mq_notify, g)
#define SIGNAL_HOOKS(X, g) \
	X(sigaction, g) X(__sigaction, g) X(signal, g) X(bsd_signal, g) X(ssignal, g) \
	X(sysv_signal, g) X(__sysv_signal, g) X(sigset, g) X(sigignore, g) X(siginterrupt, g) \
	X(pthread_sigmask, g) X(sigprocmask, g) X(sighold, g) X(sigrelse, g) X(sigaltstack, g) \
	X(__sigsetjmp, g) X(sigsetjmp, g) X(siglongjmp, g) X(longjmp, g) X(_longjmp, g) \
	X(__longjmp_chk, g) X(sigsuspend, g) X(sigtimedwait, g) X(sigwaitinfo, g) X(sigwait, g) \
	X(signalfd, g) X(ppoll, g) X(pselect, g) X(epoll_pwait, g) X(epoll_pwait2, g) \
	X(sigpause, g) X(__xpg_sigpause, g) X(__sigpause, g) X(moncontrol, g) X(profil, g) \
	X(sprofil, g)
#define EXEC_HOOKS(X, g) \
	X(execve, g) X(execvpe, g) X(fexecve, g) X(execv, g) X(execvp, g) X(execl, g) \
	X(execlp, g) X(execle, g) X(posix_spawn, g) X(posix_spawnp, g) X(system, g) X(popen, g) \
	X(_Fork, g) X(clone, g)
#define MODULE_HOOKS(X, g) \
	X(dlclose, g)
#define OTHER_HOOKS(X, g) \
	X(prctl, g) X(syscall, g) X(mlockall, g) X(munmap, g) X(mprotect, g) X(mmap, g) X(mmap64, g) \
	X(pthread_setname_np, g) X(_exit, g) X(_Exit, g)
#define HOOKS(X) \
	THREAD_HOOKS(X, WEFT_HOOK_THREADS) \
	SIGNAL_HOOKS(X, WEFT_HOOK_SIGNALS) \
	EXEC_HOOKS(X, WEFT_HOOK_EXEC) \
	MODULE_HOOKS(X, WEFT_HOOK_MODULES) \
	OTHER_HOOKS(X, ALWAYS)
/* clang-format on */

#define DECLARE(name, group) void hook_##name(void) __asm__(#name);
HOOKS(DECLARE)
#undef DECLARE

static void *open_hook(const char *file, int mode);
static void *symbol_hook(void *handle, const char *name);

struct hook {
	const char *name;
	const void *function;
	uint32_t group;
	int binds_to_libc; /* for slots that are not bound yet */
};

static struct hook hooks[] = {
#define ROW(name, group) {#name, (const void *)hook_##name, group, 0},
	HOOKS(ROW)
#undef ROW
		{"dlopen", (const void *)open_hook, WEFT_HOOK_MODULES, 0},
	{"dlsym", (const void *)symbol_hook, WEFT_HOOK_MODULES, 0},
};
#define HOOK_COUNT (sizeof(hooks) / sizeof(hooks[0]))

static int is_late;
static uint32_t pending;

/* [low, high) of the modules of libc, of the loader, and of our own. */
struct range {
	uint64_t low, high;
};
enum { LIBC, LIBDL, LIBPTHREAD, LIBRT, LIBC_PARTS, LOADER = LIBC_PARTS, OURS, RANGES };
static struct range ranges[RANGES];

static int patch_holds(const struct range *range, uint64_t address)
{
	return address >= range->low && address < range->high;
}

static int is_libc(uint64_t address)
{
	for (int i = 0; i < LIBC_PARTS; i++)
		if (patch_holds(&ranges[i], address))
			return 1;
	return 0;
}

/* A symbol of each range by which it is recognised; 0 = there is none. */
static void find_marks(uint64_t marks[RANGES])
{
	marks[LIBC] = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "getauxval");
	marks[LIBDL] = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "dladdr");
	marks[LIBPTHREAD] = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "sem_wait");
	marks[LIBRT] = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "timer_settime");
	marks[LOADER] = getauxval(AT_BASE);
	marks[OURS] = (uint64_t)(uintptr_t)&is_late;
	dlerror(); /* a dlsym that failed must not show in the program's dlerror */
}

struct places {
	uint64_t marks[RANGES];
	int order[RANGES];
	int count;
};

static int place_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct places *p = arg;
	struct patch_module m;

	(void)size;
	weft_patch_read(&m, info);
	p->count++;
	for (int i = 0; i < RANGES; i++) {
		if (!p->marks[i] || p->marks[i] < m.object.low || p->marks[i] >= m.object.high)
			continue;
		ranges[i] = (struct range){m.object.low, m.object.high};
		p->order[i] = p->count;
	}
	return 0;
}

/* Only functions that libc itself defines: if another object interposes one, slots bind to that. */
static void find_bindings(void)
{
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		void *bound = dlsym(RTLD_DEFAULT, hooks[i].name);

		hooks[i].binds_to_libc = is_libc((uint64_t)(uintptr_t)bound);
	}
	dlerror();
}

static int patch_find_places(void)
{
	struct places p = {{0}, {0}, 0};

	find_marks(p.marks);
	dl_iterate_phdr(place_one, &p);
	find_bindings();
	return p.order[OURS] > p.order[LIBC];
}

static const struct hook *hook_of(const char *name)
{
	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (name[0] == hooks[i].name[0] && !strcmp(name, hooks[i].name))
			return &hooks[i];
	return NULL;
}

static int patch_is_wanted(const struct hook *hook)
{
	return hook && (hook->group == ALWAYS || weft_hook_is_on(hook->group)) &&
	       patch_holds(&ranges[OURS], (uint64_t)(uintptr_t)hook->function);
}

static int may_change(const struct patch_module *m, const struct hook *hook, uint64_t now)
{
	return is_libc(now) ||
	       (hook->binds_to_libc && now >= m->object.low && now < m->object.high);
}

static void patch_table(const struct patch_module *m, const ElfW(Rela) * r, uint64_t count)
{
	for (; count; count--, r++) {
		const char *name = weft_patch_name(m, r);
		const struct hook *hook = name ? hook_of(name) : NULL;
		uint64_t *slot = (uint64_t *)(uintptr_t)(m->object.base + r->r_offset);

		if (!patch_is_wanted(hook) || !may_change(m, hook, *slot) ||
		    !weft_patch_store(m, slot, hook->function))
			continue;
		weft_rt_count(WEFT_COUNTER_CALLS_PATCHED, 1);
		weft_patch_groups |= hook->group;
	}
}

static int is_sanitizer(const char *path)
{
	static const char *const names[] = {"libasan.",  "libtsan.",   "liblsan.",
					    "libubsan.", "libhwasan.", "libclang_rt."};
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return 1;
	return 0;
}

static int is_spared(const struct patch_module *m, const char *path)
{
	for (int i = 0; i < RANGES; i++)
		if (ranges[i].low == m->object.low && ranges[i].high)
			return 1;
	return is_sanitizer(path);
}

/* The loader's list, by its counters and its length. */
struct modules {
	unsigned long long added, removed;
	int count;
};

struct patching {
	struct modules now;
	int from;
};

static int patch_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct patching *p = arg;
	struct patch_module m;

	(void)size;
	if (p->now.count++ < p->from)
		return 0;
	weft_patch_read(&m, info);
	if (is_spared(&m, info->dlpi_name))
		return 0;
	for (int i = 0; i < 2; i++)
		patch_table(&m, m.tables[i], m.counts[i]);
	return 0;
}

static void patch_all(int from)
{
	struct patching p = {.from = from};

	if (!weft_rt_has_session())
		return;
	dl_iterate_phdr(patch_one, &p);
	weft_hooks_publish();
}

static int patch_count_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct modules *modules = arg;

	(void)size;
	modules->added = info->dlpi_adds;
	modules->removed = info->dlpi_subs;
	modules->count++;
	return 0;
}

static struct modules modules_now(void)
{
	struct modules modules = {0};

	dl_iterate_phdr(patch_count_one, &modules);
	return modules;
}

/* For other names dlopen depends on its caller: on its search paths, and its directory. */
struct caller {
	uint64_t address;
	int is_found, has_paths, others_have;
};

static int look_at_paths(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct caller *caller = arg;
	struct patch_module m;

	(void)size;
	weft_patch_read(&m, info);
	caller->others_have |= m.has_rpath;
	if (caller->address >= m.object.low && caller->address < m.object.high) {
		caller->is_found = 1;
		caller->has_paths = m.has_rpath || m.has_runpath;
	}
	return 0;
}

static int depends_on_caller(const char *file, const void *address)
{
	struct caller caller = {.address = (uint64_t)(uintptr_t)address};

	if (!file || (strchr(file, '/') && !strchr(file, '$')))
		return 0;
	if (strchr(file, '$'))
		return 1;
	dl_iterate_phdr(look_at_paths, &caller);
	return !caller.is_found || caller.has_paths || caller.others_have;
}

static __attribute__((noinline)) void *open_and_patch(const char *file, int mode)
{
	struct modules before = modules_now(), after;
	void *handle = weft_real(dlopen)(file, mode);

	if (!handle)
		return NULL;
	after = modules_now();
	if (after.added != before.added)
		patch_all(after.removed == before.removed ? before.count : 0);
	return handle;
}

static void *open_hook(const char *file, int mode)
{
	weft_patch_catch_up();
	if (!depends_on_caller(file, __builtin_return_address(0)))
		return open_and_patch(file, mode);
	store_release(&pending, 1);
	return weft_real(dlopen)(file, mode); /* a jump: the loader sees who called us */
}

static void *symbol_hook(void *handle, const char *name)
{
	weft_patch_catch_up();
	return dlsym(handle, name); /* a jump likewise */
}

void weft_patch_catch_up(void)
{
	if (load_relaxed(&pending) && __atomic_exchange_n(&pending, 0, __ATOMIC_ACQ_REL))
		patch_all(0);
}

/* So that a copy loaded later finds this one (copies.c). */
static void show_symbols(void)
{
	Dl_info info;

	if (dladdr(&is_late, &info) && info.dli_fname)
		weft_real(dlopen)(info.dli_fname, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
	dlerror();
}

/* The alternate stacks of other threads stay unknown. */
static void note_own_stack(void)
{
	stack_t stack;

	if (weft_hook_is_on(WEFT_HOOK_SIGNALS) && !weft_real(sigaltstack)(NULL, &stack))
		weft_altstack_register(&stack);
}

void weft_patch_open(void)
{
	is_late = patch_find_places();
	if (!is_late)
		return;
	show_symbols();
	note_own_stack();
	patch_all(0);
}
