/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes of the preload. This command is run once more with libweft.so before it; that
 * child starts a thread and looks at itself as a collector would: its session stands in a
 * memfd among its descriptors, and its header says which groups of hooks are on. Then it sends
 * the priming signal to a thread that no hook has seen.
 */
#include "cli/doctor/doctor.h"
#include "cli/frame/cli.h"
#include "cli/frame/locate.h"
#include "collector/run/program.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/abi/session.h>

#include "base/platform.h"

#define PRIMING_TRIES 5000
#define ANSWER_MS 30000

/* ---- the child */

static const struct group {
	uint32_t bit;
	const char *name;
	const char *function; /* one of the group */
} hook_groups[] = {
	{WEFT_HOOK_THREADS, "threads", "pthread_create"},
	{WEFT_HOOK_SIGNALS, "signals", "sigaction"},
	{WEFT_HOOK_EXEC, "exec", "execve"},
	{WEFT_HOOK_MODULES, "modules", "dlclose"},
};

static void *nothing(void *argument)
{
	return argument;
}

/* Is the function that a program would call by this name libweft's? */
static int is_hooked(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);
	Dl_info info;

	return function && dladdr(function, &info) && info.dli_fname &&
	       strstr(info.dli_fname, "libweft") != NULL;
}

static const struct weft_session_header *doctor_hooks_map_session(const char *fd_name)
{
	char path[PATH_MAX], target[64] = "";
	const struct weft_session_header *header;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%s", fd_name);
	if (readlink(path, target, sizeof(target) - 1) < 0 ||
	    strncmp(target, "/memfd:weft-", 12) != 0)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	header = mmap(NULL, WEFT_SESSION_HEADER_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return header != MAP_FAILED && header->magic == WEFT_SESSION_MAGIC ? header : NULL;
}

static const struct weft_session_header *find_session(void)
{
	const struct weft_session_header *header = NULL;
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!directory)
		return NULL;
	while (!header && (entry = readdir(directory)))
		header = doctor_hooks_map_session(entry->d_name);
	closedir(directory);
	return header;
}

/* ---- a thread that no hook sees, primed by the signal */

struct unseen {
	int32_t tid;
	int goes_on;
};

static void *unseen_thread_run(void *argument)
{
	struct unseen *u = argument;

	__atomic_store_n(&u->tid, (int32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (__atomic_load_n(&u->goes_on, __ATOMIC_RELAXED))
		;
	return NULL;
}

static int start_unseen(pthread_t *thread, struct unseen *u)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	*(void **)(void *)&create = libc ? dlsym(libc, "pthread_create") : NULL;
	if (!create || create(thread, NULL, unseen_thread_run, u))
		return -ENOSYS;
	while (!__atomic_load_n(&u->tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	return 0;
}

/* The number of the signal that made the thread claim a slot, 0 if none is used, or -errno. */
static int prime_a_thread(const struct weft_session_header *header)
{
	struct unseen u = {.goes_on = 1};
	uint32_t used = header->slots_used;
	int signo = (int)header->prime_signal_used, err;
	pthread_t thread;

	if (!signo)
		return 0;
	/* it would come without its value, which nobody takes for ours */
	if (!doctor_signals_left())
		return -EAGAIN;
	err = start_unseen(&thread, &u);
	if (err)
		return err;
	err = platform_thread_signal(0, u.tid, signo,
				     WEFT_SIGVAL(header->cookie, 0, WEFT_ORDER_PRIME));
	for (int i = 0; !err && i < PRIMING_TRIES; i++) {
		if (__atomic_load_n(&header->slots_used, __ATOMIC_ACQUIRE) > used)
			break;
		usleep(1000);
	}
	if (!err && __atomic_load_n(&header->slots_used, __ATOMIC_ACQUIRE) == used)
		err = -ETIMEDOUT;
	__atomic_store_n(&u.goes_on, 0, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return err ? err : signo;
}

int doctor_list_hooks(void)
{
	const struct weft_session_header *header;
	pthread_t thread;

	if (!is_hooked("weft_runtime_v1"))
		return cli_error("libweft.so: not loaded by LD_PRELOAD");
	/* a program must be able to start threads under the hooks */
	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		return cli_error("libweft.so: a thread cannot be started under it");
	header = find_session();
	if (!header)
		return cli_error("libweft.so: it has made no session");
	for (size_t i = 0; i < sizeof(hook_groups) / sizeof(hook_groups[0]); i++)
		if ((header->hooks & hook_groups[i].bit) && is_hooked(hook_groups[i].function))
			printf("%s ", hook_groups[i].name);
	printf("(start hook called: %u)\n", header->hook_calls);
	printf("%d\n", prime_a_thread(header));
	doctor_list_formats(header);
	doctor_list_waits();
	return CLI_DONE;
}

/* ---- the parent */

/* Before exec: the environment as a recording changes it. */
static int preload(const char *library)
{
	char *libraries = program_preload(library);
	const char *filters = program_filters();

	return !libraries || putenv(libraries) || (filters && putenv((char *)(uintptr_t)filters));
}

/* A recording that leaves no tables in the cache. */
static int record_into(const char *file)
{
	return setenv("WEFT_RECORD", file, 1) || setenv("WEFT_CACHE", "/dev/null", 1);
}

/* @file: what it is to record itself into; NULL: it lists its hooks. */
static void become_preloaded(const char *self, const char *library, const char *file, int output)
{
	char *const hooks[] = {(char *)(uintptr_t) "weft", (char *)(uintptr_t) "doctor",
			       (char *)(uintptr_t) "--list-hooks", NULL};
	char *const version[] = {(char *)(uintptr_t) "weft", (char *)(uintptr_t) "version", NULL};

	/* weft doctor may itself be recorded: the child stays out of that recording */
	unsetenv("WEFT_SOCKET");
	unsetenv("WEFT_RECORD");
	unsetenv("WEFT_QUIET");
	if ((file && record_into(file)) || preload(library) || dup2(output, STDOUT_FILENO) < 0)
		_exit(126);
	dup2(output, STDERR_FILENO);
	execv(self, file ? version : hooks);
	_exit(127);
}

/* What is there; 0: nothing comes any more. Who holds the other end (WEFT_COMMAND) may hang. */
static ssize_t read_answer(int fd, char *text, size_t room)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (TEMP_FAILURE_RETRY(poll(&p, 1, ANSWER_MS)) <= 0)
		return 0;
	return TEMP_FAILURE_RETRY(read(fd, text, room));
}

int doctor_run_under(const char *libraries, const char *file, char *text, size_t room)
{
	char self[PATH_MAX];
	int ends[2], status, err = locate_self(self, sizeof(self));
	size_t used = 0;
	pid_t child;
	ssize_t n;

	if (err)
		return err;
	if (pipe(ends))
		return -errno;
	fflush(stdout);
	child = fork();
	if (child == 0)
		become_preloaded(self, libraries, file, ends[1]);
	close(ends[1]);
	while (child > 0 && used + 1 < room &&
	       (n = read_answer(ends[0], text + used, room - used - 1)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(ends[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Run once, for all who ask. */
int doctor_run_preloaded(char *text, size_t room)
{
	static char said[512];
	static int status, has_run;
	char library[PATH_MAX];

	if (locate_preload(library, sizeof(library)))
		return -ENOENT;
	if (!has_run)
		status = doctor_run_under(library, NULL, said, sizeof(said));
	has_run = 1;
	snprintf(text, room, "%s", said);
	return status;
}

static void judge_hooks(struct finding *out, const char *text)
{
	int primes = strstr(text, "threads") && !strstr(text, "called: 0)");

	finding_set(out, primes ? FINDING_OK : FINDING_LIMITED, "%s", text);
	finding_choose(out,
		       "groups of functions that libweft.so stands before in a recorded "
		       "program: WEFT_HOOKS=-signals switches one off%s",
		       primes ? ""
			      : "; without threads a thread is found by the watcher, and "
				"told by the priming signal");
}

void doctor_hooks(struct finding *out)
{
	char text[512] = "";
	int status = doctor_run_preloaded(text, sizeof(text));

	text[strcspn(text, "\n")] = '\0';
	if (status == -ENOENT)
		finding_set(out, FINDING_MISSING, "no libweft.so to preload");
	else if (status < 0)
		finding_refused(out, FINDING_MISSING, "running under it", -status);
	else if (status)
		finding_set(out, FINDING_MISSING, "a program under it ended with %d: %s", status,
			    text);
	else
		judge_hooks(out, text);
}

/* @text: what the child has printed; its second line is the signal. */
static void judge_priming(struct finding *out, const char *text, int watches)
{
	const char *line = strchr(text, '\n');
	int signo = line ? atoi(line + 1) : 0, hooked = !strstr(text, "called: 0)");
	char signal_name[32] = "SIGURG";

	if (signo != SIGURG)
		snprintf(signal_name, sizeof(signal_name), "real-time signal %d", signo);
	finding_set(out, signo > 0 && hooked && watches ? FINDING_OK : FINDING_LIMITED,
		    "start hook: %s; thread watcher: %s; signal: %s", hooked ? "works" : "off",
		    watches ? "works" : "no /proc to look at",
		    signo > 0    ? signal_name
		    : signo == 0 ? "none"
				 : strerror(-signo));
	if (signo > 0)
		finding_number(out, signo);
	finding_choose(out,
		       "a thread that no hook saw is told by the signal to take a slot when it "
		       "computes; one that blocks it gets its timer from a thread that takes it; "
		       "without a signal it is not sampled, and named at the end");
}

void doctor_priming(struct finding *out)
{
	char text[512] = "";

	if (doctor_run_preloaded(text, sizeof(text)))
		finding_set(out, FINDING_MISSING, "a program cannot be run under libweft.so");
	else
		judge_priming(out, text, platform_threads_count(getpid()) > 0);
}
