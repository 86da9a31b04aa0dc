/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro_open.h
 * How the probe opens the shared file, once in a process (not for direct use: weft/coro.h).
 * A file is taken only if it is a regular one with the right magic and version, and at least as
 * long as its header says; its count is read once and never again. Set-id programs open none.
 */
#ifndef WEFT_CORO_OPEN_H
#define WEFT_CORO_OPEN_H

#include <weft/coro_cut.h>

#ifdef __cplusplus
extern "C" {
#endif

static WEFT_PROBE_COLD const struct weft_coro_carry_v1 *weft_probe_find_carry(void)
{
	const struct weft_coro_carry_v1 *carry = &weft_coro_carry_v1;

	/* a static linker may have made the weak address 0 for good */
	if (!carry && weft_probe_dlsym)
		carry = (const struct weft_coro_carry_v1 *)weft_probe_dlsym(NULL,
									    "weft_coro_carry_v1");
	if (!carry || carry->version != WEFT_CORO_CARRY_VERSION || carry->size < sizeof(*carry))
		return NULL;
	return carry;
}

/* Does CTP_MAX_STATIONS, where it is set, say the same as the header? */
static WEFT_PROBE_COLD int weft_probe_agrees(uint32_t count)
{
	const char *text = getenv("CTP_MAX_STATIONS");
	uint64_t number = 0;

	if (!text || !*text)
		return 1;
	for (; *text >= '0' && *text <= '9' && number <= UINT32_MAX; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	return !*text && number == count;
}

static WEFT_PROBE_COLD int weft_probe_is_ours(const struct weft_ctp_header *header, uint64_t bytes)
{
	uint32_t count = header->max_stations;

	return header->magic == WEFT_CTP_MAGIC && header->version == WEFT_CTP_VERSION && count &&
	       WEFT_CTP_FILE_BYTES(count) <= bytes && weft_probe_agrees(count);
}

/* The size of a file that may be taken, else 0. Its header is read, not mapped, for it may be any
 * file, of any length. */
static WEFT_PROBE_COLD uint64_t weft_probe_file_bytes(int fd)
{
	struct weft_ctp_header header;
	struct stat st;

	if (fstat(fd, &st) || (st.st_mode & 0170000) != 0100000 /* S_ISREG */ ||
	    weft_probe_call(SYS_pread64, fd, (long)&header, (long)sizeof(header), 0, 0, 0) !=
		    (long)sizeof(header) ||
	    !weft_probe_is_ours(&header, (uint64_t)st.st_size))
		return 0;
	return WEFT_CTP_FILE_BYTES(header.max_stations);
}

static WEFT_PROBE_COLD void weft_probe_map(struct weft_probe_process *p, const char *path)
{
	long fd = weft_probe_call(SYS_openat, -100, (long)path, WEFT_PROBE_O_OPEN, 0, 0, 0), at;
	uint64_t bytes = fd < 0 ? 0 : weft_probe_file_bytes((int)fd);
	uint32_t shift;

	if (fd < 0)
		return;
	at = !bytes ? -1
		    : weft_probe_call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				      fd, 0);
	weft_probe_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (at < 0 && at > -4096)
		return;
	p->header = (struct weft_ctp_header *)at;
	p->stations = (struct weft_ctp_station *)(at + WEFT_CTP_HEADER_BYTES);
	p->count = (uint32_t)((bytes - WEFT_CTP_HEADER_BYTES) / WEFT_CTP_STATION_BYTES);
	p->is_extended = p->header->extension == WEFT_CTP_EXTENSION;
	shift = p->is_extended ? p->header->dirty_shift : 32;
	p->dirty_shift = shift < 32 && (p->count - 1) >> shift < WEFT_CTP_DIRTY_BITS ? shift : 32;
}

static WEFT_PROBE_COLD void weft_probe_open_engine(struct weft_probe_process *p)
{
	const char *path = getenv("CTP_SHM_PATH"), *sock = getenv("CTP_SOCK_PATH");

	p->socket = -1;
	if (getauxval(WEFT_PROBE_AT_SECURE) || !path || !*path)
		return;
	weft_probe_map(p, path);
	if (!p->header)
		return;
	weft_probe_guard_mapping(p);
	p->address.sun_family = 1; /* AF_UNIX */
	if (sock && strlen(sock) < sizeof(p->address.sun_path))
		memcpy(p->address.sun_path, sock, strlen(sock) + 1);
	weft_probe_connect(p);
}

static WEFT_PROBE_COLD void weft_probe_open_all(struct weft_probe_process *p)
{
	p->here = weft_probe_here;
	p->page_bytes = (uint32_t)getauxval(WEFT_PROBE_AT_PAGESZ);
	p->pid = (uint32_t)weft_probe_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	if (weft_probe_open_guard(p))
		return;
	p->carry = weft_probe_find_carry();
	weft_probe_open_engine(p);
	if (p->header || p->carry)
		__atomic_store_n(&p->is_on, 1, __ATOMIC_RELEASE);
}

/* One thread opens, others wait; a child of a process forked in the midst of it begins anew. */
static WEFT_PROBE_COLD void weft_probe_open_once(struct weft_probe_process *p)
{
	uint64_t mine = (uint64_t)weft_probe_call(SYS_getpid, 0, 0, 0, 0, 0, 0) << 1;
	uint64_t was = __atomic_load_n(&p->opening, __ATOMIC_ACQUIRE);
	int saved = errno;

	while (was != 1) {
		if (was != mine &&
		    __atomic_compare_exchange_n(&p->opening, &was, mine, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE)) {
			weft_probe_open_all(p);
			__atomic_store_n(&p->opening, 1, __ATOMIC_RELEASE);
			break;
		}
		weft_probe_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		was = __atomic_load_n(&p->opening, __ATOMIC_ACQUIRE);
	}
	errno = saved;
}

static inline struct weft_probe_process *weft_probe_open(void)
{
	if (WEFT_PROBE_UNLIKELY(__atomic_load_n(&weft_probe_process.opening, __ATOMIC_ACQUIRE) !=
				1))
		weft_probe_open_once(&weft_probe_process);
	return &weft_probe_process;
}

#ifdef __cplusplus
}
#endif
#endif
