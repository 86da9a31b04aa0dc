/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next functions of these names, behind our wrappers: one list, from which the pointers and
 * their lookup come. They are looked up in the constructor, or one by one if a wrapper is called
 * before it. A look-up may allocate, and a program's malloc may take locks and read: meanwhile a
 * lock is taken by trying, with the try functions that were bound when the library was loaded;
 * other functions are looked up by a nested look-up.
 *
 * The try functions are not wrapped. But the bound ones may be an interposer's that stands before
 * us and has called us (ThreadSanitizer's, as a part of the program): it would see two locks where
 * there is one. So those behind us are looked up, too.
 */
#ifndef WEFT_WAITS_REAL_H
#define WEFT_WAITS_REAL_H

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* names of functions here; musl's headers define them as macros for the same functions */
#undef pread64
#undef pwrite64
#undef preadv64
#undef pwritev64
#undef sendfile64

/* Not every libc declares these. */
int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
			       const struct timespec *until);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
			       const struct timespec *until);
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
			   const struct timespec *until);
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until);

/* X(name, where else to look, return type, parameters): locks first, as what all others need */
/* clang-format off */
#define WEFT_WAITS_REAL(X) \
	X(pthread_mutex_trylock, NULL, int, (pthread_mutex_t *)) \
	X(pthread_mutex_lock, NULL, int, (pthread_mutex_t *)) \
	X(pthread_mutex_timedlock, NULL, int, (pthread_mutex_t *, const struct timespec *)) \
	X(pthread_mutex_clocklock, NULL, int, (pthread_mutex_t *, clockid_t, const struct timespec *)) \
	X(pthread_rwlock_tryrdlock, NULL, int, (pthread_rwlock_t *)) \
	X(pthread_rwlock_trywrlock, NULL, int, (pthread_rwlock_t *)) \
	X(pthread_rwlock_rdlock, NULL, int, (pthread_rwlock_t *)) \
	X(pthread_rwlock_timedrdlock, NULL, int, (pthread_rwlock_t *, const struct timespec *)) \
	X(pthread_rwlock_clockrdlock, NULL, int, (pthread_rwlock_t *, clockid_t, const struct timespec *)) \
	X(pthread_rwlock_wrlock, NULL, int, (pthread_rwlock_t *)) \
	X(pthread_rwlock_timedwrlock, NULL, int, (pthread_rwlock_t *, const struct timespec *)) \
	X(pthread_rwlock_clockwrlock, NULL, int, (pthread_rwlock_t *, clockid_t, const struct timespec *)) \
	X(pthread_cond_wait, NULL, int, (pthread_cond_t *, pthread_mutex_t *)) \
	X(pthread_cond_timedwait, NULL, int, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *)) \
	X(pthread_cond_clockwait, NULL, int, (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *)) \
	X(sem_trywait, NULL, int, (sem_t *)) \
	X(sem_wait, NULL, int, (sem_t *)) \
	X(sem_timedwait, NULL, int, (sem_t *, const struct timespec *)) \
	X(sem_clockwait, NULL, int, (sem_t *, clockid_t, const struct timespec *)) \
	X(mtx_trylock, NULL, int, (mtx_t *)) \
	X(mtx_lock, NULL, int, (mtx_t *)) \
	X(mtx_timedlock, NULL, int, (mtx_t *, const struct timespec *)) \
	X(cnd_wait, NULL, int, (cnd_t *, mtx_t *)) \
	X(cnd_timedwait, NULL, int, (cnd_t *, mtx_t *, const struct timespec *)) \
	X(read, NULL, ssize_t, (int, void *, size_t)) \
	X(__read_chk, NULL, ssize_t, (int, void *, size_t, size_t)) \
	X(pread, NULL, ssize_t, (int, void *, size_t, off_t)) \
	X(pread64, "pread", ssize_t, (int, void *, size_t, off_t)) \
	X(__pread_chk, NULL, ssize_t, (int, void *, size_t, off_t, size_t)) \
	X(__pread64_chk, NULL, ssize_t, (int, void *, size_t, off_t, size_t)) \
	X(readv, NULL, ssize_t, (int, const struct iovec *, int)) \
	X(preadv, NULL, ssize_t, (int, const struct iovec *, int, off_t)) \
	X(preadv64, "preadv", ssize_t, (int, const struct iovec *, int, off_t)) \
	X(preadv2, NULL, ssize_t, (int, const struct iovec *, int, off_t, int)) \
	X(preadv64v2, "preadv2", ssize_t, (int, const struct iovec *, int, off_t, int)) \
	X(write, NULL, ssize_t, (int, const void *, size_t)) \
	X(pwrite, NULL, ssize_t, (int, const void *, size_t, off_t)) \
	X(pwrite64, "pwrite", ssize_t, (int, const void *, size_t, off_t)) \
	X(writev, NULL, ssize_t, (int, const struct iovec *, int)) \
	X(pwritev, NULL, ssize_t, (int, const struct iovec *, int, off_t)) \
	X(pwritev64, "pwritev", ssize_t, (int, const struct iovec *, int, off_t)) \
	X(pwritev2, NULL, ssize_t, (int, const struct iovec *, int, off_t, int)) \
	X(pwritev64v2, "pwritev2", ssize_t, (int, const struct iovec *, int, off_t, int)) \
	X(recv, NULL, ssize_t, (int, void *, size_t, int)) \
	X(__recv_chk, NULL, ssize_t, (int, void *, size_t, size_t, int)) \
	X(recvfrom, NULL, ssize_t, (int, void *, size_t, int, struct sockaddr *, socklen_t *)) \
	X(__recvfrom_chk, NULL, ssize_t, (int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *)) \
	X(recvmsg, NULL, ssize_t, (int, struct msghdr *, int)) \
	X(recvmmsg, NULL, int, (int, struct mmsghdr *, unsigned int, int, struct timespec *)) \
	X(send, NULL, ssize_t, (int, const void *, size_t, int)) \
	X(sendto, NULL, ssize_t, (int, const void *, size_t, int, const struct sockaddr *, socklen_t)) \
	X(sendmsg, NULL, ssize_t, (int, const struct msghdr *, int)) \
	X(sendmmsg, NULL, int, (int, struct mmsghdr *, unsigned int, int)) \
	X(sendfile, NULL, ssize_t, (int, int, off_t *, size_t)) \
	X(sendfile64, "sendfile", ssize_t, (int, int, off_t *, size_t)) \
	X(accept, NULL, int, (int, struct sockaddr *, socklen_t *)) \
	X(accept4, NULL, int, (int, struct sockaddr *, socklen_t *, int)) \
	X(connect, NULL, int, (int, const struct sockaddr *, socklen_t)) \
	X(fsync, NULL, int, (int)) \
	X(fdatasync, NULL, int, (int)) \
	X(poll, NULL, int, (struct pollfd *, nfds_t, int)) \
	X(__poll_chk, NULL, int, (struct pollfd *, nfds_t, int, size_t)) \
	X(ppoll, NULL, int, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)) \
	X(__ppoll_chk, NULL, int, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t)) \
	X(select, NULL, int, (int, fd_set *, fd_set *, fd_set *, struct timeval *)) \
	X(pselect, NULL, int, (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *)) \
	X(epoll_wait, NULL, int, (int, struct epoll_event *, int, int)) \
	X(epoll_pwait, NULL, int, (int, struct epoll_event *, int, int, const sigset_t *)) \
	X(epoll_pwait2, NULL, int, (int, struct epoll_event *, int, const struct timespec *, const sigset_t *)) \
	X(nanosleep, NULL, int, (const struct timespec *, struct timespec *)) \
	X(clock_nanosleep, NULL, int, (clockid_t, int, const struct timespec *, struct timespec *)) \
	X(sleep, NULL, unsigned int, (unsigned int)) \
	X(usleep, NULL, int, (useconds_t)) \
	X(thrd_sleep, NULL, int, (const struct timespec *, struct timespec *))
/* clang-format on */

#pragma GCC visibility push(hidden)

struct weft_waits_real {
#define WEFT_WAITS_FIELD(name, also, type, parameters) type(*name) parameters;
	WEFT_WAITS_REAL(WEFT_WAITS_FIELD)
#undef WEFT_WAITS_FIELD
};

extern struct weft_waits_real weft_waits_real_table;

void weft_waits_resolve(void); /* all of them */

/* Looks one up; 0 = this libc has none, or too many look-ups are nested. */
int weft_waits_find(const char *name, const char *also, void **place);

/* weft_waits_find() for the pointer of a name. */
#define WEFT_WAITS_FINDER(name, also, type, parameters)                                            \
	static inline int weft_waits_have_##name(void)                                             \
	{                                                                                          \
		return __builtin_expect(weft_waits_real_table.name != NULL, 1) ||                  \
		       weft_waits_find(#name, also, (void **)(void *)&weft_waits_real_table.name); \
	}
WEFT_WAITS_REAL(WEFT_WAITS_FINDER)
#undef WEFT_WAITS_FINDER

#pragma GCC visibility pop

/* Not wrapped; absent where a libc's threads are in another library. */
#pragma weak pthread_mutex_trylock
#pragma weak pthread_rwlock_tryrdlock
#pragma weak pthread_rwlock_trywrlock
#pragma weak pthread_testcancel

#endif
