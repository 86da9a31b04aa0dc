/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at programs and starting them: see program.h. */
#include "collector/run/program.h"

#include "collector/process/carrier.h"
#include "elf/image/elf_open.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX 5   /* interpreters of interpreters that the kernel follows */
#define SCRIPT_LINE 256 /* bytes of a #! line that it reads */
#define FILES_WANTED 65536

/* Of rt_sigaction(2): the kernel's own first real-time signal, the words of its struct sigaction
 * (the handler first), and its set of signals. */
#define KERNEL_SIGRTMIN 32
#define KERNEL_ACTION_WORDS 4
#define KERNEL_SIGSET_BYTES 8

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

static int is_runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? -errno : 0;
}

/* As execvp(3): -EACCES does not end the search, but is returned when no other place has the
 * command. */
int program_find(const char *command, char *path, size_t bytes)
{
	const char *at = getenv("PATH");
	int rc = -ENOENT;

	if (strchr(command, '/')) {
		if (strlen(command) >= bytes)
			return -ENAMETOOLONG;
		memcpy(path, command, strlen(command) + 1);
		return is_runnable(path);
	}
	if (!command[0])
		return -ENOENT;
	for (at = at ? at : "/bin:/usr/bin"; at;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		int length = (int)strcspn(at, ":");
		int n = snprintf(path, bytes, "%.*s%s%s", length, at, length ? "/" : "./", command);
		int one = n < 0 || (size_t)n >= bytes ? -ENAMETOOLONG : is_runnable(path);

		if (one == 0)
			return 0;
		if (one == -EACCES)
			rc = -EACCES;
	}
	return rc;
}

/* The interpreter of a #! line: 1 and its path, 0 when it is no script. */
static int script_interpreter(int fd, char *interpreter)
{
	char line[SCRIPT_LINE + 1], *at, *end;
	ssize_t n = pread(fd, line, SCRIPT_LINE, 0);

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
	at = line + 2 + strspn(line + 2, " \t");
	end = at + strcspn(at, " \t");
	if (end == at)
		return 0;
	memcpy(interpreter, at, (size_t)(end - at));
	interpreter[end - at] = 0;
	return 1;
}

/* Will the loader run it in secure mode? Only where ids or capabilities really change. */
static enum program_verdict look_at_rights(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || getuid() != geteuid() || getgid() != getegid())
		return PROGRAM_SETUID;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return PROGRAM_SETUID;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return PROGRAM_SETUID;
	if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return PROGRAM_CAPABLE;
	return PROGRAM_FINE;
}

static int is_asan(const char *name)
{
	return strncmp(name, "libasan.so", 10) == 0 || strncmp(name, "libclang_rt.asan", 16) == 0;
}

/* The bytes up to the end of AddressSanitizer's runtime where the user preloads it as the first
 * library, which it must stay. */
static size_t sanitizer_bytes(const char *preload)
{
	size_t begin = strspn(preload, ": "), bytes = begin + strcspn(preload + begin, ": ");
	const char *name = preload + begin;

	for (size_t i = begin; i < bytes; i++)
		if (preload[i] == '/')
			name = preload + i + 1;
	return is_asan(name) ? bytes : 0;
}

/* Is it there before us already? So it is for the programs that are started with what we were. */
static int sanitizer_is_preloaded(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && sanitizer_bytes(preload);
}

static int has_interpreter(Elf *elf)
{
	size_t count = 0;

	if (elf_getphdrnum(elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr program;

		if (gelf_getphdr(elf, (int)i, &program) && program.p_type == PT_INTERP)
			return 1;
	}
	return 0;
}

static enum program_verdict look_at_elf(Elf *elf)
{
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return PROGRAM_NOT_ELF;
	if (gelf_getclass(elf) == ELFCLASS32)
		return PROGRAM_32_BIT;
	if (header.e_machine != OWN_MACHINE)
		return PROGRAM_MACHINE;
	if (!has_interpreter(elf))
		return PROGRAM_STATIC;
	return carrier_elf_needs(elf, is_asan) && !sanitizer_is_preloaded() ? PROGRAM_ASAN
									    : PROGRAM_FINE;
}

static enum program_verdict look_at_file(int fd)
{
	Elf *elf = elf_open(fd);
	enum program_verdict verdict = elf ? look_at_elf(elf) : PROGRAM_NOT_ELF;

	elf_end(elf);
	return verdict == PROGRAM_FINE || verdict == PROGRAM_STATIC
		       ? (look_at_rights(fd) ? look_at_rights(fd) : verdict)
		       : verdict;
}

int program_look(const char *path, enum program_verdict *verdict, char *subject)
{
	snprintf(subject, PATH_MAX, "%s", path);
	for (int depth = 0; depth <= SCRIPTS_MAX; depth++) {
		char interpreter[SCRIPT_LINE + 1];
		int fd = open(subject, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0 && errno == EACCES) {
			*verdict = PROGRAM_UNREADABLE;
			return 0;
		}
		if (fd < 0)
			return -errno;
		if (!script_interpreter(fd, interpreter)) {
			*verdict = look_at_file(fd);
			close(fd);
			return 0;
		}
		close(fd);
		snprintf(subject, PATH_MAX, "%s", interpreter);
	}
	return -ELOOP;
}

const char *program_reason(enum program_verdict verdict)
{
	static const char *const reason[] = {
		[PROGRAM_FINE] = "",
		[PROGRAM_STATIC] =
			("statically linked, so that no library can be loaded into it; the "
			 "dynamic programs that it starts are recorded when a shell "
			 "starts it (sh -c)"),
		[PROGRAM_SETUID] = "setuid or setgid: the loader ignores LD_PRELOAD for it",
		[PROGRAM_CAPABLE] = "has file capabilities: the loader ignores LD_PRELOAD for it",
		[PROGRAM_32_BIT] = "a 32-bit program; only 64-bit ones can be recorded",
		[PROGRAM_MACHINE] = "a program for another machine",
		[PROGRAM_ASAN] =
			("needs libasan.so, ASan's runtime, which must be loaded first; link "
			 "it with -static-libasan (clang: -static-libsan) to record it, or "
			 "preload that runtime (LD_PRELOAD)"),
		[PROGRAM_NOT_ELF] = "neither an ELF program nor a script with a #! line",
		[PROGRAM_UNREADABLE] = "cannot be read",
	};

	return reason[verdict];
}

char *program_preload(const char *libraries)
{
	const char *own = getenv("LD_PRELOAD");
	size_t first;
	char *entry;

	own = own ? own : "";
	first = sanitizer_bytes(own);
	if (asprintf(&entry, "LD_PRELOAD=%.*s%s%s%s%s", (int)first, own, first ? ":" : "",
		     libraries, own[first] && !first ? ":" : "", own + first) < 0)
		return NULL;
	return entry;
}

const char *program_filters(void)
{
	static char text[32];
	const char *said = getenv("WEFT_FILTERS");
	int proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint32_t count = 0;

	if (proc_fd >= 0)
		thread_filters_read(proc_fd, (int32_t)getpid(), &count);
	if (proc_fd >= 0)
		close(proc_fd);
	if (!count || (said && strtoul(said, NULL, 10) >= count))
		return NULL;
	snprintf(text, sizeof(text), "WEFT_FILTERS=%" PRIu32, count);
	return text;
}

static int is_ours(const char *entry, const char *filters)
{
	return !strncmp(entry, "LD_PRELOAD=", 11) || !strncmp(entry, "WEFT_SOCKET=", 12) ||
	       (filters && !strncmp(entry, "WEFT_FILTERS=", 13));
}

/* The environment with our variables in it; the caller frees @preload and @rendezvous. */
static char **environment(const char *libraries, const char *socket, char **preload,
			  char **rendezvous)
{
	const char *filters = program_filters();
	size_t count = 0, n = 0;
	char **out;

	while (environ[count])
		count++;
	out = calloc(count + 4, sizeof(*out));
	*preload = program_preload(libraries);
	if (asprintf(rendezvous, "WEFT_SOCKET=%s", socket) < 0)
		*rendezvous = NULL;
	if (!out || !*preload || !*rendezvous)
		return out;
	for (size_t i = 0; i < count; i++)
		if (!is_ours(environ[i], filters))
			out[n++] = environ[i];
	out[n++] = *preload;
	out[n++] = *rendezvous;
	out[n] = (char *)(uintptr_t)filters;
	return out;
}

/* Of the signals that libc keeps to itself: sigaction(3) refuses them, and its first
 * pthread_create() takes one in whatever program begins a thread. */
static unsigned int ignored_libc_signals(void)
{
	unsigned int ignored = 0;

	for (int n = KERNEL_SIGRTMIN; n < SIGRTMIN; n++) {
		unsigned long action[KERNEL_ACTION_WORDS] = {0};

		if (syscall(SYS_rt_sigaction, n, NULL, action, KERNEL_SIGSET_BYTES) == 0 &&
		    action[0] == (uintptr_t)SIG_IGN)
			ignored |= 1u << (n - KERNEL_SIGRTMIN);
	}
	return ignored;
}

static void ignore_libc_signals(unsigned int ignored)
{
	const unsigned long action[KERNEL_ACTION_WORDS] = {(uintptr_t)SIG_IGN};

	for (int n = KERNEL_SIGRTMIN; n < SIGRTMIN; n++)
		if (ignored >> (n - KERNEL_SIGRTMIN) & 1)
			syscall(SYS_rt_sigaction, n, action, NULL, KERNEL_SIGSET_BYTES);
}

void program_prepare(struct program_life *life, const sigset_t *blocked)
{
	struct rlimit more;

	life->ignored = ignored_libc_signals();

	sigprocmask(SIG_BLOCK, blocked, &life->mask);
	getrlimit(RLIMIT_NOFILE, &life->files);
	more = life->files;
	more.rlim_cur = more.rlim_max < FILES_WANTED ? more.rlim_max : FILES_WANTED;
	if (more.rlim_cur > life->files.rlim_cur)
		setrlimit(RLIMIT_NOFILE, &more);
}

static void program_become(program_exec *exec, const char *path, char **argv, char **envp,
			   const struct program_life *life, int report)
{
	int error;

	setrlimit(RLIMIT_NOFILE, &life->files);
	sigprocmask(SIG_SETMASK, &life->mask, NULL);
	ignore_libc_signals(life->ignored);
	exec(path, argv, envp);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* The pipe closes at a successful exec; else it tells why there was none. */
int program_spawn(program_exec *exec, const char *path, char **argv, char **envp,
		  const struct program_life *life, pid_t *pid)
{
	int report[2], error = 0;
	ssize_t n;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (*pid == 0)
		program_become(exec, path, argv, envp, life, report[1]);
	error = errno;
	close(report[1]);
	if (*pid < 0) {
		close(report[0]);
		return -error;
	}
	do
		n = read(report[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	if (n != (ssize_t)sizeof(error))
		return 0;
	waitpid(*pid, NULL, 0);
	return -error;
}

int program_start(const char *path, char **argv, const char *libraries, const char *socket,
		  const struct program_life *life, pid_t *pid)
{
	char *preload = NULL, *rendezvous = NULL;
	char **envp = environment(libraries, socket, &preload, &rendezvous);
	int rc = envp && preload && rendezvous ? program_spawn(execve, path, argv, envp, life, pid)
					       : -ENOMEM;

	free(preload);
	free(rendezvous);
	free(envp);
	return rc;
}
