/* SPDX-License-Identifier: Apache-2.0 */
/* What one process may see of another: tried on a child that sleeps in pause(). */
#include "cli/doctor/doctor.h"

#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char secret[] = "what a reader of memory must find";

/* A sleeping child; it ends with us, whatever happens. Its pid or -errno. */
static pid_t start_sleeper(void)
{
	pid_t parent = getpid();
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		pause();
	_exit(0);
}

static void end_sleeper(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Copies the secret out of a process of the same memory layout. 0 or -errno. */
static int read_secret(pid_t pid)
{
	char copy[sizeof(secret)] = "";
	struct iovec to = {copy, sizeof(copy)};
	struct iovec from = {(void *)(uintptr_t)secret, sizeof(secret)};

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(copy))
		return -errno;
	return memcmp(copy, secret, sizeof(copy)) ? -EIO : 0;
}

static void tell_read(struct finding *out, const char *what, int err)
{
	if (err)
		finding_refused(out, FINDING_LIMITED, what, -err);
	else
		finding_set(out, FINDING_OK, "%s works", what);
}

static void probe_self_read(struct finding *out)
{
	int err = read_secret(getpid());

	tell_read(out, "process_vm_readv of oneself", err);
	finding_choose(out, err ? "a sample on a stack of unknown bounds gives its pc alone"
				: "stacks of unknown bounds are read by it, and counted");
}

static void probe_child_read(struct finding *out)
{
	pid_t child = start_sleeper();
	int err = child < 0 ? (int)child : read_secret(child);

	if (child > 0)
		end_sleeper(child);
	tell_read(out, "process_vm_readv of a child", err);
	if (err)
		finding_choose(out, "the cpu engine does not need it: samples bring their stack");
}

static void probe_yama(struct finding *out)
{
	static const char *const meaning[] = {"any process of one's own", "one's descendants",
					      "only with CAP_SYS_PTRACE", "nobody"};
	char text[32];
	int err = doctor_read_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));

	if (err == -ENOENT) {
		finding_set(out, FINDING_INFO, "no Yama: %s", meaning[0]);
	} else if (err) {
		finding_refused(out, FINDING_INFO, "ptrace_scope", -err);
	} else {
		unsigned int scope = (unsigned int)(text[0] - '0') & 3;

		finding_number(out, scope);
		finding_set(out, FINDING_INFO, "ptrace_scope %s: %s", text, meaning[scope]);
	}
	finding_choose(out, "programs that weft starts are its descendants; with WEFT_RECORD they "
			    "name their collector by PR_SET_PTRACER");
}

static int doctor_access_look_into(pid_t child, const char **which)
{
	static const char *const names[] = {"maps", "stat", "status", "schedstat", "syscall"};
	char text[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ssize_t n = proc_read_of(child, names[i], text, sizeof(text));

		*which = names[i];
		if (n <= 0)
			return n ? (int)n : -ENODATA;
	}
	return 0;
}

static void probe_proc(struct finding *out)
{
	const char *which = "fork";
	pid_t child = start_sleeper();
	int err = child < 0 ? (int)child : doctor_access_look_into(child, &which);

	if (child > 0)
		end_sleeper(child);
	if (!err) {
		finding_set(out, FINDING_OK, "maps, stat, status, schedstat, syscall readable");
		return;
	}
	/* only the wall engine reads a thread's system call and run count */
	finding_set(out, FINDING_LIMITED, "/proc/PID/%s of a child: %s", which, strerror(-err));
	finding_choose(out, "modules are taken from the program's own list");
}

static const char *container_hint(void)
{
	char text[256];

	if (!access("/.dockerenv", F_OK))
		return "docker (/.dockerenv)";
	if (!access("/run/.containerenv", F_OK))
		return "podman (/run/.containerenv)";
	if (!doctor_read_line("/run/systemd/container", text, sizeof(text)))
		return "systemd-nspawn or alike (/run/systemd/container)";
	if (!doctor_read_status("NSpid", text, sizeof(text)) && strpbrk(text, " \t"))
		return "a PID namespace below the first (NSpid)";
	return NULL;
}

static void probe_container(struct finding *out)
{
	const char *hint = container_hint();

	finding_set(out, FINDING_INFO, "%s", hint ? hint : "no sign of one");
	if (getpid() == 1 || getppid() == 1)
		finding_choose(out, "when PID 1 of a container ends the kernel kills the rest: a "
				    "recorded program waits up to 2 s for its file");
}

static void probe_seccomp(struct finding *out)
{
	static const char *const modes[] = {"off", "strict", "filter"};
	char text[32];
	int err = doctor_read_status("Seccomp", text, sizeof(text));

	if (err) {
		finding_refused(out, FINDING_INFO, "/proc/self/status", -err);
		return;
	}
	finding_number(out, text[0] - '0');
	finding_set(out, FINDING_INFO, "%s, no_new_privs %d",
		    text[0] >= '0' && text[0] <= '2' ? modes[text[0] - '0'] : text,
		    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	if (text[0] == '2')
		finding_choose(out, "a filter may refuse calls: the other lines here say which; "
				    "programs begun under more of them than this command run "
				    "unrecorded, for those may kill (WEFT_FILTERS)");
}

const struct probe doctor_access[] = {
	{"self_read", "own memory", NULL, 0, probe_self_read},
	{"child_read", "a child's memory", NULL, 0, probe_child_read},
	{"yama", "ptrace", NULL, 0, probe_yama},
	{"proc", "/proc of a child", NULL, 0, probe_proc},
	{"container", "container", NULL, 0, probe_container},
	{"seccomp", "seccomp", NULL, 0, probe_seccomp},
	{NULL, NULL, NULL, 0, NULL},
};
