/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session's memory in the target: the whole range is reserved PROT_NONE and opened piece by
 * piece, so that mlockall and RLIMIT_AS do not pay for its sparse rest.
 *
 * A session that a collector hands over is validated like any foreign input; without one the
 * runtime makes its own, sealed alike, whose descriptor stays open at a high number.
 */
#include "runtime/core/runtime.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <weft/abi/events.h>

#include "runtime/core/decimal.h"
#include "runtime/core/sys.h"

#define SEALS_NEEDED (F_SEAL_GROW | F_SEAL_SHRINK)
#define OWN_FD_LOWEST 960 /* high, yet below the usual limit and cheap in the kernel's table */
#define OWN_FD_LIMIT 64   /* where a program may have fewer, each is its own */

struct weft_rt weft_rt = {.own_fd = -1};
WEFT_LARGE struct weft_session_header weft_layout; /* (only one thread begins a session) */

/*
 * The rows of settings (weft/abi/events.h) stay at one address for the process's life, because
 * event types keep pointers to them. The rows of a session that is mapped, or made with a file, are
 * mapped there a second time; else, and in a forked child until it has a session, zeros are: all
 * types are off. Called where a session begins or is dropped, never by two threads at a time.
 */
struct weft_event_row *weft_event_rows;

/* Replaces the mapping in one step; the first one lies at any address. @fd < 0: zeros. */
static long event_rows_map(int fd, uint64_t offset)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	long at = sys_call6(SYS_mmap, SYS_ARG(weft_event_rows), WEFT_EVENT_ROWS_BYTES,
			    PROT_READ | PROT_WRITE, flags | (weft_event_rows ? MAP_FIXED : 0), fd,
			    (long)offset);

	if (sys_is_error(at))
		return at;
	if (!weft_event_rows)
		weft_area_add((const void *)at, WEFT_EVENT_ROWS_BYTES);
	weft_event_rows = (struct weft_event_row *)at;
	return at;
}

/* Before a session is mapped: the rows then lie above it. */
static void event_rows_open(void)
{
	if (!weft_event_rows)
		event_rows_map(-1, 0);
}

static void event_rows_adopt(int fd, uint64_t offset)
{
	if (!weft_event_rows)
		return;
	if (sys_is_error(event_rows_map(fd, offset)))
		weft_event_rows_forget();
	else if (fd >= 0)
		sys_call3(SYS_madvise, weft_event_rows, WEFT_EVENT_ROWS_BYTES, MADV_DONTDUMP);
}

void weft_event_rows_forget(void)
{
	if (weft_event_rows)
		event_rows_map(-1, 0);
}

/* ---- a session */

static int open_area(uint8_t *base, uint64_t offset, uint64_t bytes, int protection)
{
	return (int)sys_call3(SYS_mprotect, base + offset, bytes, protection);
}

static void adopt_layout(uint8_t *base, int fd)
{
	struct weft_rt *rt = &weft_rt;

	rt->base = base;
	rt->header = (struct weft_session_header *)(void *)base;
	rt->states = weft_session_states(base, &weft_layout);
	rt->free_bits = weft_session_free_bits(base, &weft_layout);
	rt->slots = base + weft_layout.slots_offset;
	rt->total_bytes = weft_layout.total_bytes;
	rt->events_offset = weft_layout.events_offset;
	rt->pid = sys_getpid();
	rt->cookie = (uint32_t)(rt->header->cookie & 0xFFFFFF);
	store_relaxed(&rt->header->runtime_version, WEFT_RUNTIME_VERSION);
	weft_area_add(base, rt->total_bytes);
	weft_time_follow(rt->header);
	event_rows_adopt(fd, weft_layout.event_area_offset);
	store_release(&rt->state, WEFT_RT_SESSION);
	WEFT_CALL_PARTS(session_begins);
}

/* Header and logs become writable, the collector's module map and events area readable. */
static int open_header(uint8_t *base, const struct weft_session_header *h)
{
	int failed = open_area(base, 0, h->map_offset, PROT_READ | PROT_WRITE);

	return failed ? failed
		      : open_area(base, h->map_offset, h->slots_offset - h->map_offset, PROT_READ);
}

int weft_session_map(int fd, uint64_t total_bytes)
{
	struct stat st = {0};
	long seals = sys_call3(SYS_fcntl, fd, F_GET_SEALS, 0), at;
	uint8_t *base;
	int failed;

	if (seals < 0 || (seals & SEALS_NEEDED) != SEALS_NEEDED)
		return -EPROTO;
	if (sys_call2(SYS_fstat, fd, &st) || (uint64_t)st.st_size != total_bytes ||
	    total_bytes < WEFT_SESSION_HEADER_BYTES)
		return -EPROTO;
	/* Not by the mapping, of which a piece would have to be opened for it. */
	if (sys_call4(SYS_pread64, fd, &weft_layout, sizeof(weft_layout), 0) != sizeof(weft_layout))
		return -EPROTO;
	failed = weft_session_validate(&weft_layout, total_bytes);
	if (failed)
		return failed;
	event_rows_open();
	at = sys_reserve(fd, total_bytes);
	if (sys_is_error(at))
		return -ENOMEM;
	base = (uint8_t *)at;
	failed = open_header(base, &weft_layout);
	if (failed) {
		sys_call2(SYS_munmap, base, total_bytes);
		return failed;
	}
	adopt_layout(base, fd);
	return 0;
}

/* The session is sparse, but RLIMIT_AS counts all of it: an eighth of the limit at most. */
static uint32_t own_slot_count(void)
{
	uint64_t limit = sys_limit(RLIMIT_AS);

	if (limit == UINT64_MAX)
		return WEFT_SESSION_SLOTS_MAX;
	return weft_session_slots_for(limit / 8 ? limit / 8 : 1, 0, 0);
}

int weft_memfd_make(const char *name, unsigned int flags, uint64_t bytes)
{
	uint64_t limit[2] = {0, 0};
	long fd;

	/* ftruncate past it would kill the program by SIGXFSZ; so might one that is not known */
	if (sys_call4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) || limit[0] < bytes)
		return -EFBIG;
	fd = sys_call2(SYS_memfd_create, name, flags | MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && sys_call2(SYS_ftruncate, fd, bytes)) {
		sys_call1(SYS_close, fd);
		return -EIO;
	}
	return (int)fd;
}

/* In the last quarter of what the program may have, where that is little. */
static uint64_t own_fd_lowest(uint64_t limit)
{
	return limit > OWN_FD_LOWEST ? OWN_FD_LOWEST : limit - limit / 4;
}

/* A sealed memfd at a high number, or -errno. */
static int session_make_file(uint64_t bytes)
{
	uint64_t limit = sys_limit(RLIMIT_NOFILE);
	int fd = limit < OWN_FD_LIMIT ? -EMFILE : weft_memfd_make("weft-session", 0, bytes);
	long high;

	if (fd < 0)
		return fd;
	if (sys_call3(SYS_fcntl, fd, F_ADD_SEALS, SEALS_NEEDED | F_SEAL_SEAL)) {
		sys_call1(SYS_close, fd);
		return -EIO;
	}
	high = sys_call3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, own_fd_lowest(limit));
	sys_call1(SYS_close, fd); /* low numbers are the program's */
	return (int)high;
}

/* The program may have closed our number and reused it for a file of its own. */
static void close_own_file(void)
{
	struct stat st = {0};

	if (weft_rt.own_fd >= 0 && !sys_call2(SYS_fstat, weft_rt.own_fd, &st) &&
	    st.st_ino == weft_rt.own_fd_inode)
		sys_call1(SYS_close, weft_rt.own_fd);
	weft_rt.own_fd = -1;
}

static void keep_own_file(int fd)
{
	struct stat st = {0};

	weft_rt.own_fd = fd;
	weft_rt.own_fd_inode = fd >= 0 && !sys_call2(SYS_fstat, fd, &st) ? st.st_ino : 0;
}

/* Field 22 of our stat; the command in field 2 may contain anything. 0: unreadable. */
static uint64_t own_start_time(void)
{
	char text[1024];
	long bytes = sys_read_file("/proc/self/stat", text, sizeof(text));
	long at = bytes > 0 ? bytes : 0;
	const char *value;

	while (at > 0 && text[at - 1] != ')')
		at--;
	for (int field = 2; at < bytes && field < 22; at++)
		field += text[at] == ' ';
	value = text + at;
	return number_parse(&value, 10);
}

static void fill_own_header(struct weft_session_header *shared)
{
	weft_layout.pid = sys_getpid();
	weft_layout.parent_pid = (int32_t)sys_call0(SYS_getppid);
	weft_layout.pid_start = own_start_time();
	weft_layout.features = WEFT_FEATURE_RUNTIME_MADE;
	weft_layout.run_state = WEFT_RUN_IDLE;
	weft_layout.mono_anchor_ns = clock_monotonic_ns();
	if (sys_call3(SYS_getrandom, &weft_layout.session_id, sizeof(weft_layout.session_id), 1) !=
	    sizeof(weft_layout.session_id))
		weft_layout.session_id = weft_layout.mono_anchor_ns;
	weft_layout.session_id |= 1;
	weft_layout.cookie =
		(weft_layout.session_id >> 16 & 0xFFFFFF) | 1; /* 0 would tell nobody */
	memcpy(shared, &weft_layout, sizeof(weft_layout));
}

/* Without a file nobody can attach later. */
int weft_session_make(int keeps_file)
{
	uint8_t *base;
	int fd = -1;
	long at;

	memset(&weft_layout, 0, sizeof(weft_layout));
	weft_session_layout(&weft_layout, own_slot_count(), 0, 0);
	weft_time_follow(&weft_layout); /* nobody's but its own, whatever a parent's was */
	if (keeps_file)
		fd = session_make_file(weft_layout.total_bytes);
	event_rows_open();
	at = sys_reserve(fd, weft_layout.total_bytes);
	base = (uint8_t *)at;
	if (sys_is_error(at) || open_header(base, &weft_layout)) {
		if (!sys_is_error(at))
			sys_call2(SYS_munmap, base, weft_layout.total_bytes);
		if (fd >= 0)
			sys_call1(SYS_close, fd);
		return -ENOMEM;
	}
	keep_own_file(fd >= 0 ? fd : -1);
	fill_own_header((struct weft_session_header *)(void *)base);
	weft_rt.has_collector = 0;
	adopt_layout(base, fd);
	return 0;
}

/* Idempotent: two threads may open the same block at once. */
int weft_session_open_block(uint32_t block)
{
	uint64_t bytes = weft_layout.slot_stride * WEFT_SESSION_BLOCK_SLOTS;
	uint64_t offset = (uint64_t)(weft_rt.slots - weft_rt.base) + block * bytes;
	int failed = open_area(weft_rt.base, offset, bytes, PROT_READ | PROT_WRITE);
	uint32_t expected = block;

	if (failed)
		return failed;
	/* Hints only: bits that claimers have cleared since a faster opener do no harm. */
	store_release(&weft_rt.free_bits[block], ~UINT64_C(0));
	if (cas_acq_rel(&weft_rt.header->blocks_open, &expected, block + 1))
		weft_rt_count(WEFT_COUNTER_BLOCKS_OPENED, 1);
	return 0;
}

/* Each system call asks the header whether it may be made, and another thread may be about to make
 * one: zeros stay in its place. */
static void unmap_but_header(uint8_t *base)
{
	long at = sys_call6(SYS_mmap, SYS_ARG(base), WEFT_SESSION_HEADER_BYTES, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	uint64_t kept = sys_is_error(at) ? 0 : WEFT_SESSION_HEADER_BYTES;

	sys_call2(SYS_munmap, base + kept, weft_rt.total_bytes - kept);
}

void weft_session_forget(void)
{
	uint8_t *base = weft_rt.base;

	weft_event_rows_forget();
	weft_rt.base = NULL;
	store_release(&weft_rt.header, NULL);
	if (base) {
		weft_area_gone(base);
		unmap_but_header(base);
	}
	close_own_file();
}
