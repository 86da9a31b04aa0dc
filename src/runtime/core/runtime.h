/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the target: the state of this process. Rooms, from the ground up, each with a header that
 * says what is in it:
 *
 *   core/     session, slots, rings, logs       otel/    OpenTelemetry's contexts
 *   context/  ids, tags, labels, publishing     stack/   a thread's stack, walked or copied
 *   event/    typed events                      coro/    coroutines' contexts and switches
 *   signals/  the program's signal actions      sample/  the cpu engine
 *   hooks/    interposed functions              start/   constructors, and what names all rooms
 *
 * libweft.so is all of it; libweft.a leaves out join, launch, timer, sampler, engine, priming,
 * stacks, tables, real and the hooks: it keeps context, and finds the libweft.so of the process if
 * there is one.
 *
 * Everything here is async-signal-safe unless its comment says otherwise: no allocation, no
 * lock, no errno. Shared fields are touched with an order that is named (base/atomic.h).
 */
#ifndef WEFT_RUNTIME_RUNTIME_H
#define WEFT_RUNTIME_RUNTIME_H

#include <signal.h>
#include <stdint.h>

#include <weft/context.h>

#include "base/session_layout.h"
#include "runtime/core/own.h"

#define WEFT_RUNTIME_VERSION 0x000100u /* 0.1.0 */

#define COLLECTOR_PATIENCE_NS INT64_C(5000000000) /* it drains ten times a second at least */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Of an array of zeros that takes pages of its own. The linker puts it behind all that is small
 * (--sort-section in meson.build), which then shares a page or two: each page that is touched costs
 * a program's start, and each that is written a fork, some microseconds. */
#define WEFT_LARGE __attribute__((section(".bss.large")))

enum weft_rt_state {
	WEFT_RT_NONE = 0,    /* no session (yet): nothing can be claimed */
	WEFT_RT_SESSION = 1, /* rt.base and all below it are valid */
	WEFT_RT_CHILD = 2,   /* forked child, whose own session has not begun yet */
};

struct weft_event_caller;
struct weft_event_row;
struct weft_part;

/* Set by the constructor, or when a forked child's session begins, and read-only from then on. */
struct weft_rt {
	uint32_t state;     /* enum weft_rt_state; stored with release, loaded with acquire */
	uint32_t beginning; /* of a forked child's session: 0 no, 1 being begun, 2 done or failed */
	uint8_t *base;
	struct weft_session_header *header; /* shared */
	uint64_t *states;
	uint64_t *free_bits;
	uint8_t *slots;
	uint64_t total_bytes;
	uint64_t events_offset; /* the layout's, as wide as the address that it is added to */
	int32_t pid;
	uint32_t cookie;
	int has_collector;
	uint32_t careful; /* 1: the program filters its system calls (hook_seccomp.c, filters.c) */
	int own_fd;       /* a runtime-made session's memfd; -1 = none */
	uint64_t own_fd_inode;
	/* Arms the timer and the clock of a thread that has just claimed its slot. Signals are
	 * blocked; @mask is the thread's mask without that. NULL: nothing samples. */
	void (*on_claim)(struct weft_slot *slot, uint64_t mask);
	/* Deletes them before the slot is released; NULL likewise. */
	void (*on_release)(struct weft_slot *slot);
	/* Begins the session of a forked child: 0 or -errno. */
	int (*begin_child)(void);
	/* In a parent, before fork. */
	void (*before_fork)(void);
	/* Handlers of SIGPROF and of the priming signal; NULL likewise. */
	void (*on_tick)(int signo, siginfo_t *info, void *ucontext);
	void (*on_order)(int signo, siginfo_t *info, void *ucontext);
	/* In a forked child: arms what will begin its session (sample/child.c). */
	void (*on_fork)(void);
	/* At _exit(), before the process ends; NULL: nobody waits for it. Async-signal-safe. */
	void (*last_words)(void);
	/* Before a label is set: a coroutine without a block gets one (coro/coro.h). */
	void (*own_block)(struct weft_slot *slot);
	const struct weft_part *const *parts; /* NULL: not begun */
	/* Walks a caller's stack for an event (event.h); NULL: nothing walks stacks. */
	uint32_t (*take_event_stack)(struct weft_slot *slot, const struct weft_event_caller *caller,
				     uint8_t *to, uint32_t room);
};

#pragma GCC visibility push(hidden) /* no detour by the global offset table */
extern struct weft_rt weft_rt;
/* The session's header as it was validated: others may change the shared one. */
extern struct weft_session_header weft_layout;
#pragma GCC visibility pop

/* In the constructor's file: code that claims slots refers to it, and so links the constructor. */
extern const char weft_rt_begins;

static inline int weft_rt_is_ready(void)
{
	return load_acquire(&weft_rt.state) == WEFT_RT_SESSION;
}

/* A forked child whose session has not begun: weft_rt.header is still its parent's. */
static inline int weft_rt_is_unbegun_child(void)
{
	return load_acquire(&weft_rt.state) == WEFT_RT_CHILD;
}

static inline struct weft_slot *weft_rt_slot(uint32_t index)
{
	return (struct weft_slot *)(void *)(weft_rt.slots + index * weft_layout.slot_stride);
}

static inline uint32_t weft_rt_index(const struct weft_slot *slot)
{
	return (uint32_t)((uint64_t)((const uint8_t *)slot - weft_rt.slots) /
			  weft_layout.slot_stride);
}

/* Slots that were ever in use lie below it. */
static inline uint32_t weft_rt_slots_high(void)
{
	uint32_t high = load_acquire(&weft_rt.header->slots_high);

	return high < weft_layout.slot_count ? high : weft_layout.slot_count;
}

/* One of these, if it is a thread's now; NULL. */
static inline struct weft_slot *weft_rt_live_slot(uint32_t index)
{
	uint64_t word = load_acquire(&weft_rt.states[index]);

	return WEFT_STATE_OF(word) == WEFT_SLOT_LIVE ? weft_rt_slot(index) : NULL;
}

/*
 * Marks a slot that has something for the collector. Usually the bit is set already, and this is a
 * load. If the collector clears the bit at this very moment, the mark is lost; then it looks at the
 * slot within two seconds anyway.
 */
static inline void weft_rt_mark(uint32_t index)
{
	uint32_t block = index / WEFT_SESSION_BLOCK_SLOTS;
	uint64_t *word = &weft_rt.header->fresh[block / 64 % WEFT_SESSION_FRESH_WORDS];
	uint64_t bit = UINT64_C(1) << block % 64;

	if (!(load_relaxed(word) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
}

/* The program filters its system calls: one that it does not expect could kill it. A hook has seen
 * that, or the collector, from outside. */
static inline int weft_rt_is_careful(void)
{
	const struct weft_session_header *h = load_relaxed(&weft_rt.header);

	return load_relaxed(&weft_rt.careful) ||
	       (h && load_relaxed(&h->features) & WEFT_FEATURE_CAREFUL);
}

/* Counts in the header what happens without a slot; any thread may call it. */
static inline void weft_rt_count(enum weft_counter counter, uint64_t by)
{
	__atomic_fetch_add(&weft_rt.header->counters[counter], by, __ATOMIC_RELAXED);
}

/*
 * Only the owning thread and its handlers write, and a handler runs to its end before the thread
 * goes on. A reader who sees a count also sees what was counted before it: a sample is attempted
 * before it is lost. Pairs: the acquire fence in read_books()
 * (src/collector/session/session_books.c).
 */
static inline void weft_slot_count(struct weft_slot *slot, enum weft_counter counter, uint64_t by)
{
	store_release(&slot->counters[counter], load_relaxed(&slot->counters[counter]) + by);
}

static inline uint32_t weft_rt_run_state(void)
{
	return load_acquire(&weft_rt.header->run_state);
}

/* guard.c */
int weft_guard_open(void);   /* maps the page; 0 or -errno; not in a handler */
void weft_guard_renew(void); /* this process owns its threads' slots again */
/* The bit in the guard's word that tells the inline writes to publish. */
void weft_guard_publishes(int on);
static inline int weft_guard_holds(void)
{
	return *(const volatile uint32_t *)weft_fork_guard != 0;
}

/* The session in memory is this process's own, and not that of a parent. */
static inline int weft_rt_has_session(void)
{
	return weft_rt_is_ready() && weft_guard_holds();
}

/* time_source.c */
enum { WEFT_TIME_BY_VDSO = 1, WEFT_TIME_BY_CALL = 2 }; /* header.time_source */
void weft_time_open(void); /* finds the vDSO's clock; not in a handler */
/* The session begins, or a collector has attached: times are told by that one's clock. */
void weft_time_follow(struct weft_session_header *h);

/* session.c */
int weft_session_map(int fd, uint64_t total_bytes); /* fills weft_rt; @fd stays open */
int weft_session_make(int keeps_file);              /* runtime-made, no collector */
int weft_session_open_block(uint32_t block);
/* A file of @bytes that can be sealed; @flags: more of memfd_create's. Its number, or -errno. */
int weft_memfd_make(const char *name, unsigned int flags, uint64_t bytes);
void weft_session_forget(void); /* in a forked child: unmaps its parent's */

/* The settings of typed events, at one address for the process's life */
extern struct weft_event_row *weft_event_rows; /* NULL: they could not be mapped */
void weft_event_rows_forget(void);

/* slot.c */
struct weft_birth {
	enum weft_counter how; /* WEFT_COUNTER_PRIMED_* */
	uint64_t stack_low, stack_high;
	int has_timer; /* on_claim is not called */
};
struct weft_slot *weft_slot_claim(const struct weft_birth *birth); /* and sets TLS; or NULL */
void weft_slot_release(void);              /* the calling thread's; TLS becomes NULL */
struct weft_slot *weft_slot_private(void); /* the dummy of a forked child */
void weft_thread_stack_main(struct weft_birth *birth);
/* 1: @a and @b lie on the thread's own stack, or on that of the coroutine that it runs. 0: they do
 * not, or its bounds are not known. */
int weft_stack_has_both(const struct weft_slot *slot, uint64_t a, uint64_t b);

/* account.c: last readings of CPU clocks, while a recording is on */
void weft_account_thread(struct weft_slot *slot); /* of the calling thread, which was the owner */
void weft_account_process(void); /* before the process ends or execs; of its threads, too */

/* log.c */
enum weft_log { WEFT_LOG_DICT = 0, WEFT_LOG_MODULES = 1 };
int weft_log_append(enum weft_log log, struct weft_log_record *record, const void *first,
		    uint32_t first_bytes, const void *second, uint32_t second_bytes);
/* The data of the record just appended, in the log's mirror; valid for ever. */
const char *weft_log_last_data(enum weft_log log, const struct weft_log_record *record);
void weft_log_replay(void);                     /* all that was logged, into a new session */
void weft_log_lock(void);                       /* not in a handler */
int weft_log_lock_within(uint64_t patience_ns); /* 0: another thread kept it */
void weft_log_unlock(void); /* also in a forked child, whatever its parent's threads did */

/* modules.c: not in a handler */
void weft_modules_log(void);
/* Logs the modules loaded and unloaded since the last call. 1: one was unloaded. */
int weft_modules_update(void);
/* Adds to the session's modules_epoch, and to the one that a forked child's session begins with. */
void weft_modules_epoch_add(uint64_t amount);
void weft_modules_epoch_replay(void);

/* maps.c: calls @visit for each mapping in the file at @path, until it returns another value than
 * 0, which is returned; -errno: the file cannot be opened. */
struct weft_mapping {
	uint64_t low, high;
	const char *name; /* "": none */
};
int weft_maps_each(const char *path, int (*visit)(void *arg, const struct weft_mapping *m),
		   void *arg);
/* Mappings of ours that must stay, whatever the program unmaps. */
void weft_area_add(const void *low, uint64_t bytes);
void weft_area_gone(const void *low); /* before it is unmapped */
/* The lowest of them that has a byte in [@low, @high), without its name; 0: there is none. */
int weft_area_in(uint64_t low, uint64_t high, struct weft_mapping *found);

/* fork.c */
int weft_fork_open(void);                  /* registers with pthread_atfork or its like */
struct weft_slot *weft_fork_noticed(void); /* in a child: its private slot */
/* A vfork child runs in its parent's memory, but with a signal mask and actions of its own. */
int weft_is_vfork_child(void);

/* A forked child may come to something other than a context write first. What would change the
 * parent's session then calls this before. */
static inline void weft_fork_check(void)
{
	if (UNLIKELY(!weft_guard_holds()))
		weft_fork_noticed();
}

/* filters.c */
int weft_filters_are_strange(void); /* in the constructor: may a filter kill us? */
int32_t weft_thread_number(void);   /* the calling thread's, without a system call; 0: not known */

/* hook_groups.c */
extern uint32_t weft_hooks_on; /* enum weft_hook */
extern uint32_t
	weft_patch_groups; /* those whose functions were patched into the program's objects */
static inline int weft_hook_is_on(enum weft_hook hook)
{
	return (weft_hooks_on & (uint32_t)hook) != 0;
}
void weft_hooks_parse(const char *setting); /* NULL: all on */
void weft_hooks_publish(void);              /* both, into the session's header */

/* coro_blocks.c */
struct weft_label_store;
#pragma GCC visibility push(hidden)
/* A store without labels; NULL: no memory. Not in handlers: it may make a system call. */
struct weft_label_store *weft_block_alloc(void);
void weft_block_free(struct weft_label_store *store);
/* The memory of one, which is never given back; NULL: none. Not in handlers, likewise. */
uint8_t *weft_block_take(uint64_t *bytes);
/* The block that @address lies in; 0: none. In handlers, too. */
uint64_t weft_block_of(uint64_t address);
#pragma GCC visibility pop

/* copies.c */
void weft_copies_store(struct weft_slot *slot); /* this thread's, in every copy */
void weft_copies_show(struct weft_slot *slot);  /* likewise; not in a handler */
int weft_copies_swap(struct weft_slot *expected, struct weft_slot *slot);

/* context.c */
struct weft_slot *weft_context_slow(void);
int weft_context_is_busy(const struct weft_slot *slot);
void weft_context_copy(struct weft_slot *to, const struct weft_slot *from);
/* Parts of a larger write. They leave seq odd, and the caller makes it even at the end. */
void weft_context_put(struct weft_slot *slot, const struct weft_context *c);
void weft_context_put_back(struct weft_slot *slot, const struct weft_scope *scope);
/* A thread's ids, trace id and tags, word by word, as a scope saves them. */
struct weft_context_words {
	uint64_t record[8];    /* the v1 record */
	uint64_t extension[5]; /* seq, v1_checksum, trace id, flags */
};
void weft_context_save(const struct weft_slot *slot, struct weft_context_words *to);
void weft_context_load(struct weft_slot *slot, const struct weft_context_words *from);
uint32_t weft_tag_intern_own(const char *string);
int weft_tag_name_own(unsigned int n, const char *name);

/* What a write has changed, for whoever makes the other formats of it. */
enum weft_changed {
	WEFT_CHANGED_IDS = 1 << 0,
	WEFT_CHANGED_LABELS = 1 << 1,
	WEFT_CHANGED_ALL = 3,
	WEFT_CHANGED_STORE = 1 << 2, /* another store is shown, with its record (otel.h) */
	WEFT_CHANGED_FLAGS = 1 << 3, /* the trace flags of the ids that are shown */
};

/* key.c: releases a thread's slot when the thread ends. weft_key_arm() returns 0 without a key. */
void weft_key_open(void);
int weft_key_arm(void);
int weft_key_has_ended(void);   /* the thread has given its slot back for good */
void weft_key_begin_anew(void); /* it has not: libc runs another function of the program in it */

/*
 * What a part of the runtime does when a slot or a process begins or ends. The core (slot.c,
 * session.c, fork.c) calls all parts in the order of the table in start/parts.c, and knows none of
 * them by name. A part leaves out the calls that do not concern it. Everything here is
 * async-signal-safe.
 */
struct weft_part {
	/* A session has begun, the first or a forked child's; its header is still empty. */
	void (*session_begins)(void);
	/* The calling thread has its slot, or has just lost it; signals are blocked. */
	void (*slot_changed)(void);
	/* The thread is about to lose @slot: no pointer that others see may lead there any more. */
	void (*slot_ends)(struct weft_slot *slot);
	/* Before a fork: copies what the child begins with into its private slot. */
	void (*copy)(struct weft_slot *to, const struct weft_slot *from);
	/* In a child whose fork ran no handlers: @slot may hold another thread's state. */
	void (*forget)(struct weft_slot *slot);
	/* In a forked child, whose thread has its private slot now, if it had a slot. */
	void (*after_fork)(void);
};

/* WEFT_CALL_PARTS(slot_ends, slot) calls slot_ends() of each part that has one, in order. */
/* clang-format off */
#define WEFT_CALL_PARTS(what, ...) \
	do { \
		for (const struct weft_part *const *part = weft_rt.parts; part && *part; part++) \
			if ((*part)->what) \
				(*part)->what(__VA_ARGS__); \
	} while (0)
/* clang-format on */

#endif
