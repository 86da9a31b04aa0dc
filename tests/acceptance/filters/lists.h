/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that filters in the wild allow, and filters of this test's own: docker's default
 * profile (without capabilities; clone and personality unmasked), systemd's @system-service as far
 * as such a program comes to it, what filters.c calls itself.
 */
#ifndef FILTERS_LISTS_H
#define FILTERS_LISTS_H

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

struct list {
	const char *name;
	const int *number;
	size_t count;
};

/* clang-format off */
static const int lists_docker[] = {
	SYS_accept, SYS_accept4, SYS_adjtimex, SYS_bind, SYS_brk, SYS_capget, SYS_capset,
	SYS_chdir, SYS_clock_adjtime, SYS_clock_getres, SYS_clock_gettime, SYS_clock_nanosleep,
	SYS_clone, SYS_close, SYS_connect, SYS_copy_file_range, SYS_dup, SYS_dup3,
	SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_execve,
	SYS_execveat, SYS_exit, SYS_exit_group, SYS_faccessat, SYS_fadvise64, SYS_fallocate,
	SYS_fanotify_mark, SYS_fchdir, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat,
	SYS_fcntl, SYS_fdatasync, SYS_fgetxattr, SYS_flistxattr, SYS_flock, SYS_fremovexattr,
	SYS_fsetxattr, SYS_fstat, SYS_fstatfs, SYS_fsync, SYS_ftruncate, SYS_futex, SYS_getcpu,
	SYS_getcwd, SYS_getdents64, SYS_getegid, SYS_geteuid, SYS_getgid, SYS_getgroups,
	SYS_getitimer, SYS_getpeername, SYS_getpgid, SYS_getpid, SYS_getppid, SYS_getpriority,
	SYS_getrandom, SYS_getresgid, SYS_getresuid, SYS_getrlimit, SYS_get_robust_list,
	SYS_getrusage, SYS_getsid, SYS_getsockname, SYS_getsockopt, SYS_gettid, SYS_gettimeofday,
	SYS_getuid, SYS_getxattr, SYS_inotify_add_watch, SYS_inotify_init1, SYS_inotify_rm_watch,
	SYS_io_cancel, SYS_ioctl, SYS_io_destroy, SYS_io_getevents, SYS_ioprio_get,
	SYS_ioprio_set, SYS_io_setup, SYS_io_submit, SYS_kill, SYS_lgetxattr, SYS_linkat,
	SYS_listen, SYS_listxattr, SYS_llistxattr, SYS_lremovexattr, SYS_lseek, SYS_lsetxattr,
	SYS_madvise, SYS_membarrier, SYS_memfd_create, SYS_mincore, SYS_mkdirat, SYS_mknodat,
	SYS_mlock, SYS_mlock2, SYS_mlockall, SYS_mmap, SYS_mprotect, SYS_mq_getsetattr,
	SYS_mq_notify, SYS_mq_open, SYS_mq_timedreceive, SYS_mq_timedsend, SYS_mq_unlink,
	SYS_mremap, SYS_msgctl, SYS_msgget, SYS_msgrcv, SYS_msgsnd, SYS_msync, SYS_munlock,
	SYS_munlockall, SYS_munmap, SYS_name_to_handle_at, SYS_nanosleep, SYS_newfstatat,
	SYS_openat, SYS_personality, SYS_pipe2, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,
	SYS_ppoll, SYS_prctl, SYS_pread64, SYS_preadv, SYS_preadv2, SYS_prlimit64,
	SYS_process_vm_readv, SYS_process_vm_writev, SYS_pselect6, SYS_ptrace, SYS_pwrite64,
	SYS_pwritev, SYS_pwritev2, SYS_read, SYS_readahead, SYS_readlinkat, SYS_readv,
	SYS_recvfrom, SYS_recvmmsg, SYS_recvmsg, SYS_remap_file_pages, SYS_removexattr,
	SYS_renameat, SYS_renameat2, SYS_restart_syscall, SYS_rt_sigaction, SYS_rt_sigpending,
	SYS_rt_sigprocmask, SYS_rt_sigqueueinfo, SYS_rt_sigreturn, SYS_rt_sigsuspend,
	SYS_rt_sigtimedwait, SYS_rt_tgsigqueueinfo, SYS_sched_getaffinity, SYS_sched_getattr,
	SYS_sched_getparam, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
	SYS_sched_getscheduler, SYS_sched_rr_get_interval, SYS_sched_setaffinity,
	SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_yield,
	SYS_seccomp, SYS_semctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_sendfile,
	SYS_sendmmsg, SYS_sendmsg, SYS_sendto, SYS_setfsgid, SYS_setfsuid, SYS_setgid,
	SYS_setgroups, SYS_setitimer, SYS_setpgid, SYS_setpriority, SYS_setregid, SYS_setresgid,
	SYS_setresuid, SYS_setreuid, SYS_setrlimit, SYS_set_robust_list, SYS_setsid,
	SYS_setsockopt, SYS_set_tid_address, SYS_setuid, SYS_setxattr, SYS_shmat, SYS_shmctl,
	SYS_shmdt, SYS_shmget, SYS_shutdown, SYS_sigaltstack, SYS_signalfd4, SYS_socket,
	SYS_socketpair, SYS_splice, SYS_statfs, SYS_symlinkat, SYS_sync, SYS_sync_file_range,
	SYS_syncfs, SYS_sysinfo, SYS_tee, SYS_tgkill, SYS_timer_create, SYS_timer_delete,
	SYS_timer_getoverrun, SYS_timer_gettime, SYS_timer_settime, SYS_timerfd_create,
	SYS_timerfd_gettime, SYS_timerfd_settime, SYS_times, SYS_tkill, SYS_truncate, SYS_umask,
	SYS_uname, SYS_unlinkat, SYS_utimensat, SYS_vmsplice, SYS_wait4, SYS_waitid, SYS_write,
	SYS_writev,
#if defined(__x86_64__)
	SYS_access, SYS_alarm, SYS_arch_prctl, SYS_chmod, SYS_chown, SYS_creat, SYS_dup2,
	SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_fork, SYS_futimesat, SYS_getdents,
	SYS_getpgrp, SYS_get_thread_area, SYS_inotify_init, SYS_lchown, SYS_link, SYS_lstat,
	SYS_mkdir, SYS_mknod, SYS_modify_ldt, SYS_open, SYS_pause, SYS_pipe, SYS_poll,
	SYS_readlink, SYS_rename, SYS_rmdir, SYS_select, SYS_set_thread_area, SYS_signalfd,
	SYS_stat, SYS_symlink, SYS_time, SYS_unlink, SYS_utime, SYS_utimes, SYS_vfork,
#endif
#ifdef SYS_clone3
	SYS_clone3,
#endif
#ifdef SYS_close_range
	SYS_close_range,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
#ifdef SYS_openat2
	SYS_openat2,
#endif
#ifdef SYS_pidfd_open
	SYS_pidfd_open,
#endif
#ifdef SYS_pidfd_send_signal
	SYS_pidfd_send_signal,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_statx
	SYS_statx,
#endif
};

static const int lists_system[] = {
	SYS_accept, SYS_accept4, SYS_bind, SYS_brk, SYS_capget, SYS_capset, SYS_chdir,
	SYS_clock_getres, SYS_clock_gettime, SYS_clock_nanosleep, SYS_clone, SYS_close,
	SYS_connect, SYS_copy_file_range, SYS_dup, SYS_dup3, SYS_epoll_create1, SYS_epoll_ctl,
	SYS_epoll_pwait, SYS_eventfd2, SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group,
	SYS_faccessat, SYS_fadvise64, SYS_fallocate, SYS_fchdir, SYS_fchmod, SYS_fchmodat,
	SYS_fchown, SYS_fchownat, SYS_fcntl, SYS_fdatasync, SYS_fgetxattr, SYS_flistxattr,
	SYS_flock, SYS_fremovexattr, SYS_fsetxattr, SYS_fstat, SYS_fstatfs, SYS_fsync,
	SYS_ftruncate, SYS_futex, SYS_getcpu, SYS_getcwd, SYS_getdents64, SYS_getegid,
	SYS_geteuid, SYS_getgid, SYS_getgroups, SYS_getitimer, SYS_getpeername, SYS_getpgid,
	SYS_getpid, SYS_getppid, SYS_getpriority, SYS_getrandom, SYS_getresgid, SYS_getresuid,
	SYS_getrlimit, SYS_get_robust_list, SYS_getrusage, SYS_getsid, SYS_getsockname,
	SYS_getsockopt, SYS_gettid, SYS_gettimeofday, SYS_getuid, SYS_getxattr,
	SYS_inotify_add_watch, SYS_inotify_init1, SYS_inotify_rm_watch, SYS_io_cancel, SYS_ioctl,
	SYS_io_destroy, SYS_io_getevents, SYS_ioprio_get, SYS_ioprio_set, SYS_io_setup,
	SYS_io_submit, SYS_kill, SYS_lgetxattr, SYS_linkat, SYS_listen, SYS_listxattr,
	SYS_llistxattr, SYS_lremovexattr, SYS_lseek, SYS_lsetxattr, SYS_madvise, SYS_membarrier,
	SYS_memfd_create, SYS_mincore, SYS_mkdirat, SYS_mlock, SYS_mlock2, SYS_mlockall,
	SYS_mmap, SYS_mprotect, SYS_mq_getsetattr, SYS_mq_notify, SYS_mq_open,
	SYS_mq_timedreceive, SYS_mq_timedsend, SYS_mq_unlink, SYS_mremap, SYS_msgctl, SYS_msgget,
	SYS_msgrcv, SYS_msgsnd, SYS_msync, SYS_munlock, SYS_munlockall, SYS_munmap,
	SYS_nanosleep, SYS_newfstatat, SYS_openat, SYS_personality, SYS_pipe2, SYS_pkey_alloc,
	SYS_pkey_free, SYS_pkey_mprotect, SYS_ppoll, SYS_prctl, SYS_pread64, SYS_preadv,
	SYS_preadv2, SYS_prlimit64, SYS_pselect6, SYS_pwrite64, SYS_pwritev, SYS_pwritev2,
	SYS_read, SYS_readahead, SYS_readlinkat, SYS_readv, SYS_recvfrom, SYS_recvmmsg,
	SYS_recvmsg, SYS_remap_file_pages, SYS_removexattr, SYS_renameat, SYS_renameat2,
	SYS_restart_syscall, SYS_rt_sigaction, SYS_rt_sigpending, SYS_rt_sigprocmask,
	SYS_rt_sigqueueinfo, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
	SYS_rt_tgsigqueueinfo, SYS_sched_getaffinity, SYS_sched_getattr, SYS_sched_getparam,
	SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_getscheduler,
	SYS_sched_rr_get_interval, SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam,
	SYS_sched_setscheduler, SYS_sched_yield, SYS_seccomp, SYS_semctl, SYS_semget, SYS_semop,
	SYS_semtimedop, SYS_sendfile, SYS_sendmmsg, SYS_sendmsg, SYS_sendto, SYS_setfsgid,
	SYS_setfsuid, SYS_setgid, SYS_setgroups, SYS_setitimer, SYS_setpgid, SYS_setpriority,
	SYS_setregid, SYS_setresgid, SYS_setresuid, SYS_setreuid, SYS_setrlimit,
	SYS_set_robust_list, SYS_setsid, SYS_setsockopt, SYS_set_tid_address, SYS_setuid,
	SYS_setxattr, SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_shmget, SYS_shutdown,
	SYS_sigaltstack, SYS_signalfd4, SYS_socket, SYS_socketpair, SYS_splice, SYS_statfs,
	SYS_symlinkat, SYS_sync, SYS_sync_file_range, SYS_syncfs, SYS_sysinfo, SYS_tee,
	SYS_tgkill, SYS_timer_create, SYS_timer_delete, SYS_timer_getoverrun, SYS_timer_gettime,
	SYS_timer_settime, SYS_timerfd_create, SYS_timerfd_gettime, SYS_timerfd_settime,
	SYS_times, SYS_tkill, SYS_truncate, SYS_umask, SYS_uname, SYS_unlinkat, SYS_utimensat,
	SYS_vmsplice, SYS_wait4, SYS_waitid, SYS_write, SYS_writev,
#if defined(__x86_64__)
	SYS_access, SYS_alarm, SYS_arch_prctl, SYS_chmod, SYS_chown, SYS_creat, SYS_dup2,
	SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_fork, SYS_futimesat, SYS_getdents,
	SYS_getpgrp, SYS_inotify_init, SYS_lchown, SYS_link, SYS_lstat, SYS_mkdir, SYS_open,
	SYS_pause, SYS_pipe, SYS_poll, SYS_readlink, SYS_rename, SYS_rmdir, SYS_select,
	SYS_signalfd, SYS_stat, SYS_symlink, SYS_time, SYS_unlink, SYS_utime, SYS_utimes,
	SYS_vfork,
#endif
#ifdef SYS_clone3
	SYS_clone3,
#endif
#ifdef SYS_close_range
	SYS_close_range,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
#ifdef SYS_openat2
	SYS_openat2,
#endif
#ifdef SYS_pidfd_open
	SYS_pidfd_open,
#endif
#ifdef SYS_pidfd_send_signal
	SYS_pidfd_send_signal,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_statx
	SYS_statx,
#endif
};

static const int lists_tight[] = {
	SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_futex, SYS_rt_sigreturn, SYS_brk,
	SYS_clock_gettime, SYS_newfstatat, SYS_fstat, SYS_restart_syscall, SYS_getrandom,
	SYS_ioctl, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_clone,
	SYS_set_robust_list, SYS_rt_sigprocmask, SYS_rt_sigaction,
#ifdef SYS_clone3
	SYS_clone3,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
};

static const int lists_bare[] = {
	SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_futex, SYS_brk, SYS_clock_gettime,
	SYS_newfstatat, SYS_fstat, SYS_restart_syscall, SYS_getrandom, SYS_ioctl, SYS_mmap,
	SYS_munmap, SYS_mprotect, SYS_madvise, SYS_clone, SYS_set_robust_list,
	SYS_rt_sigprocmask, SYS_rt_sigaction,
#ifdef SYS_clone3
	SYS_clone3,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
};

/* clang-format on */

static const struct list *lists_find(const char *name)
{
#define LIST(called, list)                                                                         \
	{                                                                                          \
		called, lists_##list, sizeof(lists_##list) / sizeof(int)                           \
	}
	static const struct list all[] = {
		LIST("docker", docker), LIST("refuse", docker), LIST("system", system),
		LIST("tight", tight),   LIST("bare", bare),
	};
#undef LIST

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

#endif
