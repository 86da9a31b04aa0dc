/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of libweft-waits.so: looks up libweft.so's event functions, reads WEFT_WAITS, registers
 * the two types; and writes a wait's event. A forked child inherits all of it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <weft/context.h>

#include "waits/real.h"
#include "waits/waits.h"

/* The event functions, by name. */
/* clang-format off */
#define FUNCTIONS(X) \
	X(weft_event_type_enrol) X(weft_event_begin_on) X(weft_event_should_commit_on) \
	X(weft_event_put) X(weft_tag_intern)
/* clang-format on */

static struct {
#define FIELD(name) __typeof__(name)(*name);
	FUNCTIONS(FIELD)
#undef FIELD
} weft;

#define FIELD(field, text, type, ...)                                                              \
	{                                                                                          \
		.name = field, .label = text, .kind = type, __VA_ARGS__                            \
	}
#define TYPE(type, text, told, ...)                                                                \
	{                                                                                          \
		.name = type, .label = text, .category = "Weft|Waits", .description = told,        \
		.flags = WEFT_EVENT_STACK, .threshold = "1 ms", WEFT_EVENT_FIELDS(__VA_ARGS__),    \
	}

static struct weft_event_type types[WEFT_WAITS_GROUPS] = {
	[WEFT_WAITS_LOCKS] =
		TYPE("weft.LockWait", "Lock Wait",
		     "A thread waited for a lock, a condition or a semaphore",
		     FIELD("address", "Address", WEFT_EVENT_LONG, .content = WEFT_EVENT_ADDRESS),
		     FIELD("kind", "Kind", WEFT_EVENT_STRING_POOLED),
		     FIELD("holder", "Holder", WEFT_EVENT_THREAD,
			   .description = "Who had it when the wait began"),
		     FIELD("timedOut", "Timed Out", WEFT_EVENT_BOOLEAN)),
	[WEFT_WAITS_IO] = TYPE(
		"weft.IOWait", "I/O Wait", "A thread was in a call that may wait",
		FIELD("operation", "Operation", WEFT_EVENT_STRING_POOLED),
		FIELD("fd", "Descriptor", WEFT_EVENT_INT, .description = "-1: none, or several"),
		FIELD("bytes", "Bytes", WEFT_EVENT_LONG, .content = WEFT_EVENT_BYTES),
		FIELD("error", "Error Number", WEFT_EVENT_INT, .description = "0: none")),
};

static const char *const kinds[WEFT_WAITS_KINDS] = {
	[WEFT_WAITS_MUTEX] = "mutex",
	[WEFT_WAITS_RWLOCK_READ] = "rwlock-read",
	[WEFT_WAITS_RWLOCK_WRITE] = "rwlock-write",
	[WEFT_WAITS_CONDITION] = "condition",
	[WEFT_WAITS_SEMAPHORE] = "semaphore",
};

static const char *const operations[WEFT_WAITS_OPERATION_COUNT] = {
#define ROW(name) [WEFT_WAITS_##name] = #name,
	WEFT_WAITS_OPERATIONS(ROW)
#undef ROW
};

static uint32_t kind_ids[WEFT_WAITS_KINDS], operation_ids[WEFT_WAITS_OPERATION_COUNT];

static const struct weft_event_row off;
const struct weft_event_row *weft_waits_rows[WEFT_WAITS_GROUPS] = {&off, &off};

/* ---- at start */

static int begin_find_functions(void)
{
	int have_all = 1;

#define FIND(name)                                                                                 \
	*(void **)(void *)&weft.name = dlsym(RTLD_DEFAULT, #name);                                 \
	have_all &= weft.name != NULL;
	FUNCTIONS(FIND)
#undef FIND
	if (!have_all)
		(void)dlerror();
	return have_all;
}

/* Is the group asked for? Unknown words are ignored, as in WEFT_HOOKS. */
static int begin_is_wanted(const char *setting, const char *group)
{
	size_t bytes = strlen(group);

	if (!setting || !*setting)
		return 1;
	while (*setting) {
		size_t word = strcspn(setting, ", ");

		if (word == bytes && !memcmp(setting, group, bytes))
			return 1;
		setting += word + (setting[word] != 0);
	}
	return 0;
}

/* 0: the libc has locks in a library that is not loaded; without threads nothing waits. */
static int can_try(void)
{
	const struct weft_waits_real *real = &weft_waits_real_table;

	return real->pthread_mutex_trylock && real->pthread_rwlock_tryrdlock &&
	       real->pthread_rwlock_trywrlock && real->sem_trywait && pthread_testcancel;
}

static void intern(uint32_t *ids, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ids[i] = weft.weft_tag_intern(texts[i]);
}

/* Before libweft.so has begun it returns a row that stays off, not the type's own. */
static void enrol(enum weft_waits_group group)
{
	const struct weft_event_row *row = weft.weft_event_type_enrol(&types[group]);

	if (types[group].row)
		store_release(&weft_waits_rows[group], row);
}

static void begin_types(void)
{
	const char *setting = secure_getenv("WEFT_WAITS");

	if (!types[WEFT_WAITS_LOCKS].row && begin_is_wanted(setting, "locks") && can_try()) {
		intern(kind_ids, kinds, WEFT_WAITS_KINDS);
		enrol(WEFT_WAITS_LOCKS);
	}
	if (!types[WEFT_WAITS_IO].row && begin_is_wanted(setting, "io")) {
		intern(operation_ids, operations, WEFT_WAITS_OPERATION_COUNT);
		enrol(WEFT_WAITS_IO);
	}
}

__attribute__((constructor)) static void begin_begin(void)
{
	weft_waits_resolve();
	weft_waits_holder_open();
	if (begin_find_functions())
		begin_types();
}

/*
 * libweft.so calls this when it has begun, because the loader may start either of the two preloads
 * first. Nothing begins here before this library's functions are resolved.
 */
WEFT_API void weft_waits_v1(void);

WEFT_API void weft_waits_v1(void)
{
	if (weft.weft_event_type_enrol)
		begin_types();
}

/* ---- events */

void weft_waits_start(struct weft_event *event, enum weft_waits_group group)
{
	weft.weft_event_begin_on(event, &types[group]);
}

static int begin_is_kept(struct weft_event *event)
{
	return event->type && weft.weft_event_should_commit_on(event);
}

void weft_waits_lock_done(struct weft_event *event, enum weft_waits_kind kind, const void *lock,
			  int32_t holder, int is_timed_out)
{
	const struct weft_event_value values[] = {WEFT_LONG((intptr_t)lock),
						  WEFT_LONG(kind_ids[kind]), WEFT_LONG(holder),
						  WEFT_LONG(is_timed_out)};

	if (begin_is_kept(event))
		(void)weft.weft_event_put(event, values, sizeof(values) / sizeof(values[0]));
}

void weft_waits_io_done(struct weft_event *event, enum weft_waits_operation operation, int fd,
			int64_t bytes, int error)
{
	const struct weft_event_value values[] = {WEFT_LONG(operation_ids[operation]),
						  WEFT_LONG(fd), WEFT_LONG(bytes),
						  WEFT_LONG(error)};

	if (begin_is_kept(event))
		(void)weft.weft_event_put(event, values, sizeof(values) / sizeof(values[0]));
}
