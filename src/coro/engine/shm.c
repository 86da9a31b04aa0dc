/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/shm.h"

#include "base/atomic.h"
#include "proc/proc_maps.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- a mapping */

/* As many stations as both the header and the file know. NULL: errno says why. */
static struct weft_ctp_header *shm_map(struct coro_shm *shm, uint32_t count, int writable)
{
	void *at;

	shm->bytes = WEFT_CTP_FILE_BYTES(count);
	at = mmap(NULL, shm->bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, shm->fd,
		  0);
	if (at == MAP_FAILED)
		return NULL;
	shm->header = at;
	shm->stations = (struct weft_ctp_station *)(void *)((uint8_t *)at + WEFT_CTP_HEADER_BYTES);
	shm->count = count;
	shm->is_writable = writable;
	return shm->header;
}

void coro_shm_close(struct coro_shm *shm)
{
	if (!shm)
		return;
	if (shm->header)
		munmap(shm->header, shm->bytes);
	if (shm->fd >= 0)
		close(shm->fd);
	shm->header = NULL;
	shm->fd = -1;
}

uint32_t coro_shm_allocated(const struct coro_shm *shm)
{
	uint32_t count = load_acquire(&shm->header->allocated_count);

	return count < shm->count ? count : shm->count;
}

/* ---- making */

static uint32_t dirty_shift_for(uint32_t count)
{
	uint32_t shift = WEFT_CTP_DIRTY_SHIFT_LEAST;

	while ((count - 1) >> shift >= WEFT_CTP_DIRTY_BITS)
		shift++;
	return shift;
}

/* The header is whole before its magic is there. */
static void shm_fill_header(struct weft_ctp_header *h, uint32_t count)
{
	h->version = WEFT_CTP_VERSION;
	h->max_stations = count;
	h->extension = WEFT_CTP_EXTENSION;
	h->clock_id = CLOCK_MONOTONIC;
	h->dirty_shift = dirty_shift_for(count);
	store_release(&h->magic, WEFT_CTP_MAGIC);
}

static int shm_stat(struct coro_shm *shm, struct stat *st)
{
	if (fstat(shm->fd, st))
		return -errno;
	shm->device = st->st_dev;
	shm->inode = st->st_ino;
	return 0;
}

/* The header's page is had now: a full disk is told here, not by a signal later. */
static int shm_make(struct coro_shm *shm, uint32_t count)
{
	struct stat st;
	int rc = shm_stat(shm, &st);

	if (rc)
		return rc;
	if (flock(shm->fd, LOCK_EX | LOCK_NB) ||
	    ftruncate(shm->fd, (off_t)WEFT_CTP_FILE_BYTES(count)))
		return -errno;
	rc = posix_fallocate(shm->fd, 0, WEFT_CTP_HEADER_BYTES);
	if (rc && rc != EOPNOTSUPP && rc != EINVAL)
		return -rc;
	if (!shm_map(shm, count, 1))
		return -errno;
	shm_fill_header(shm->header, count);
	shm->is_extended = 1;
	return 0;
}

/* ---- what is left over */

struct user_search {
	const struct coro_shm *shm;
	int (*each)(void *arg, pid_t pid);
	void *arg;
};

static int is_map_of(void *arg, struct proc_map *m)
{
	const struct coro_shm *shm = arg;

	return proc_map_is_of(m, shm->device, shm->inode);
}

static int shm_try_user(void *arg, pid_t pid)
{
	const struct user_search *s = arg;

	return proc_maps_each(pid, is_map_of, (void *)(uintptr_t)s->shm) > 0 ? s->each(s->arg, pid)
									     : 0;
}

int coro_shm_each_user(const struct coro_shm *shm, int (*each)(void *arg, pid_t pid), void *arg)
{
	struct user_search s = {shm, each, arg};

	return proc_each(shm_try_user, &s);
}

static int is_one(void *arg, pid_t pid)
{
	(void)arg, (void)pid;
	return 1;
}

/* Removes a cTP file that is in the way, if no engine and no process uses it. */
static int shm_remove_left_over(const char *path)
{
	struct weft_ctp_header header;
	struct coro_shm old = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
	struct stat st = {0};
	int rc = old.fd < 0 ? -errno : shm_stat(&old, &st);

	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
			pread(old.fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
			header.magic != WEFT_CTP_MAGIC))
		rc = -EEXIST;
	if (rc == 0 && flock(old.fd, LOCK_EX | LOCK_NB))
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (rc == 0 && coro_shm_each_user(&old, is_one, NULL))
		rc = -EBUSY;
	if (rc == 0 && unlink(path))
		rc = -errno;
	if (old.fd >= 0)
		close(old.fd);
	return rc;
}

int coro_shm_create(struct coro_shm *shm, const char *path, uint32_t count,
		    enum coro_shm_replace replace)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct coro_shm made = {.fd = -1};
	int rc;

	if (count == 0)
		return -EINVAL;
	made.fd = open(path, flags, 0600);
	if (made.fd < 0 && errno == EEXIST && replace == CORO_SHM_LEFT_OVER) {
		rc = shm_remove_left_over(path);
		if (rc)
			return rc;
		made.fd = open(path, flags, 0600);
	}
	if (made.fd < 0)
		return -errno;
	rc = shm_make(&made, count);
	if (rc) {
		coro_shm_close(&made);
		unlink(path);
		return rc;
	}
	*shm = made;
	return 0;
}

/* ---- opening */

int coro_shm_is(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	uint64_t magic = 0;
	int is = fd >= 0 && pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		 magic == WEFT_CTP_MAGIC;

	if (fd >= 0)
		close(fd);
	return is;
}

/* Sets *count to the stations that header and file both have. */
static int shm_look(struct coro_shm *shm, uint32_t *count)
{
	struct weft_ctp_header h;
	struct stat st;
	uint64_t fits;

	if (shm_stat(shm, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || pread(shm->fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    h.magic != WEFT_CTP_MAGIC || h.version != WEFT_CTP_VERSION || h.max_stations == 0)
		return -EBADMSG;
	fits = ((uint64_t)st.st_size - WEFT_CTP_HEADER_BYTES) / WEFT_CTP_STATION_BYTES;
	*count = fits < h.max_stations ? (uint32_t)fits : h.max_stations;
	shm->is_extended = h.extension == WEFT_CTP_EXTENSION;
	return 0;
}

int coro_shm_open(struct coro_shm *shm, const char *path, int writable)
{
	struct coro_shm opened = {.fd = -1};
	uint32_t count = 0;
	int rc;

	opened.fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (opened.fd < 0)
		return -errno;
	rc = shm_look(&opened, &count);
	if (rc == 0 && writable && flock(opened.fd, LOCK_EX | LOCK_NB))
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (rc == 0 && !shm_map(&opened, count, writable))
		rc = -errno;
	if (rc) {
		coro_shm_close(&opened);
		return rc;
	}
	*shm = opened;
	return 0;
}

/* ---- SIGBUS */

struct guard {
	sigjmp_buf out;
	const struct coro_shm *shm;
	struct guard *outer;
};

static __thread struct guard *volatile guarded;
static struct sigaction before_us;
static uintptr_t page_bytes = 4096;

static int shm_is_in(uintptr_t at, const void *begin, uint64_t bytes)
{
	return at - (uintptr_t)begin < bytes;
}

/* Maps zeros over what is gone: a page when the disk is full, all behind the file's end when it was
 * cut short. */
static int map_over(uintptr_t at, const struct coro_shm *shm)
{
	uintptr_t page = at & ~(page_bytes - 1), begin = (uintptr_t)shm->header;
	uint64_t bytes = page_bytes;
	struct stat st;

	if (shm_is_in(at, shm->header, shm->bytes) && fstat(shm->fd, &st) == 0 &&
	    (uint64_t)st.st_size <= page - begin)
		bytes = begin + shm->bytes - page;
	return mmap((void *)page, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED;
}

static void take_bus(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	struct guard *g = guarded;

	while (g && !shm_is_in(at, g->shm->header, g->shm->bytes) &&
	       !shm_is_in(at, g->shm->beside, g->shm->beside_bytes))
		g = g->outer;
	if (g && shm_is_in(at, g->shm->beside, g->shm->beside_bytes) && !map_over(at, g->shm))
		return;
	if (g) {
		map_over(at, g->shm);
		guarded = g;
		siglongjmp(g->out, 1);
	}
	if (before_us.sa_flags & SA_SIGINFO && before_us.sa_sigaction) {
		before_us.sa_sigaction(number, info, context);
		return;
	}
	signal(SIGBUS, SIG_DFL); /* comes again, and ends us */
}

/* Looked at each time: others (a test's frame, a library) may have put theirs there since. */
static void install_handler(void)
{
	struct sigaction now,
		ours = {.sa_sigaction = take_bus, .sa_flags = SA_SIGINFO | SA_NODEFER};

	if (sigaction(SIGBUS, NULL, &now) || now.sa_sigaction == take_bus)
		return;
	before_us = now;
	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&ours.sa_mask);
	sigaction(SIGBUS, &ours, NULL);
}

int coro_shm_guard(const struct coro_shm *shm, int (*work)(void *arg), void *arg)
{
	struct guard g = {.shm = shm, .outer = guarded};
	int rc;

	install_handler();
	if (sigsetjmp(g.out, 1)) {
		guarded = guarded->outer;
		return -EIO;
	}
	guarded = &g;
	rc = work(arg);
	guarded = g.outer;
	return rc;
}
