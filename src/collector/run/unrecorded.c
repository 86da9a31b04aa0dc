/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that cannot be recorded, see unrecorded.h; and those that run on, see
 * collector_descendants(). */
#include "collector/run/unrecorded.h"
#include "collector/run/collector.h"

#include "base/map.h"
#include "collector/process/carrier.h"
#include "collector/process/filters.h"
#include "collector/run/program.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64
#define SEEN_MAX 65536    /* programs that are remembered */
#define LATE_NS 100000000 /* the first tick of a forked child begins its session */

/* Tells a program from the next that the same pid runs, after an exec, also of the same file. */
struct seen_key {
	uint64_t pid, device, inode, stack_start;
};

static const char *const unrecorded_reasons[PROGRAM_UNREADABLE + 1] = {
	[PROGRAM_STATIC] = "statically linked",
	[PROGRAM_SETUID] = "setuid or setgid",
	[PROGRAM_CAPABLE] = "file capabilities",
	[PROGRAM_32_BIT] = "a 32-bit program",
	[PROGRAM_MACHINE] = "a program for another machine",
	[PROGRAM_ASAN] = "needs libasan.so first",
};

static void read_command(pid_t pid, char *out, size_t room)
{
	if (proc_read_of(pid, "comm", out, room) < 0)
		memcpy(out, "?", 2);
	out[strcspn(out, "\n")] = 0;
}

static void unrecorded_note(struct unrecorded *u, pid_t pid, const char *why)
{
	struct unrecorded_program *p;

	if (u->count++ >= UNRECORDED_MAX)
		return;
	p = &u->program[u->count - 1];
	p->pid = pid;
	p->why = why;
	read_command(pid, p->command, sizeof(p->command));
}

static int unrecorded_key_of(struct seen_key *key, pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st))
		return 0;
	*key = (struct seen_key){(uint64_t)pid, st.st_dev, st.st_ino,
				 process_stat_number_of(pid, STAT_STACK_START)};
	return 1;
}

static int unrecorded_is_settled(const struct unrecorded *u, const struct seen_key *key)
{
	return u->seen && map_get(u->seen, key, sizeof(*key));
}

static void unrecorded_settle(struct unrecorded *u, const struct seen_key *key)
{
	int fresh;

	if (!u->seen)
		u->seen = map_new();
	if (u->seen && map_count(u->seen) >= SEEN_MAX)
		map_clear(u->seen); /* those that run still are looked at again */
	if (u->seen)
		map_put(u->seen, key, sizeof(*key), &fresh);
}

/* Preloaded libraries are mapped before libc: without ours by then it does not come any more. */
static int is_loaded_without(const char *maps)
{
	return !strstr(maps, "/libweft") && (strstr(maps, "/libc.so.6\n") ||
					     strstr(maps, "/libc-") || strstr(maps, "/ld-musl-"));
}

static int has_used(pid_t pid, uint64_t least_ns)
{
	uint64_t cpu_ns;

	return process_cpu_read(pid, &cpu_ns) == 0 && cpu_ns >= least_ns;
}

/* Is a program recorded that can be? 1 when the answer is final; @why is set when it is not. */
static int look_inside(pid_t pid, const char **why)
{
	struct carrier c;
	size_t bytes = 0;
	char *maps;
	int rc;

	maps = proc_read_all_of(pid, "maps", &bytes);
	if (maps && is_loaded_without(maps))
		*why = "begun without LD_PRELOAD";
	free(maps);
	if (!maps || *why)
		return *why != NULL;
	rc = carrier_look(&c, pid);
	/* It made a session of its own, for it could not reach ours; or could not make one either.
	 */
	if ((rc == 0 && carrier_state(&c) == CARRIER_IDLE) ||
	    (rc == -ENOENT && !c.address && c.fd < 0 && has_used(pid, LATE_NS)))
		*why = filters_are_strange(pid) ? "filters its system calls"
						: "could not reach the recording";
	else if (rc == 0 && carrier_state(&c) == CARRIER_FORKED && has_used(pid, LATE_NS))
		*why = filters_are_strange(pid) ? "filters its system calls"
						: "forked, and did not join it";
	return *why || (rc == 0 && carrier_state(&c) != CARRIER_FORKED);
}

static void unrecorded_look_at(struct unrecorded *u, pid_t pid)
{
	enum program_verdict verdict;
	char path[32], subject[PATH_MAX];
	struct seen_key key;
	const char *why;
	int settled = 1;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (!unrecorded_key_of(&key, pid) || unrecorded_is_settled(u, &key) ||
	    program_look(path, &verdict, subject))
		return;
	why = unrecorded_reasons[verdict];
	if (verdict == PROGRAM_FINE)
		settled = look_inside(pid, &why);
	if (settled)
		unrecorded_settle(u, &key);
	if (why)
		unrecorded_note(u, pid, why);
}

static void note_earlier(struct unrecorded *u, pid_t pid)
{
	struct seen_key key;

	if (!unrecorded_key_of(&key, pid) || unrecorded_is_settled(u, &key))
		return;
	unrecorded_settle(u, &key);
	unrecorded_note(u, pid, "began before the recording");
}

typedef void look_fn(struct unrecorded *u, pid_t pid);

static void look_below(struct unrecorded *u, pid_t pid, int depth, look_fn *look)
{
	char name[32], *text, *at, *end;
	size_t bytes = 0;

	if (depth == DEPTH_MAX)
		return;
	snprintf(name, sizeof(name), "task/%d/children", (int)pid);
	text = proc_read_all_of(pid, name, &bytes);
	for (at = text; at && *at; at = end) {
		pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			break;
		if (child <= 0)
			continue;
		look(u, child);
		look_below(u, child, depth + 1, look);
	}
	free(text);
}

void unrecorded_look(struct unrecorded *u, pid_t root)
{
	unrecorded_look_at(u, root);
	unrecorded_look_below(u, root);
}

void unrecorded_look_below(struct unrecorded *u, pid_t root)
{
	look_below(u, root, 0, unrecorded_look_at);
}

void unrecorded_begin(struct unrecorded *u, const pid_t *pids, size_t count)
{
	struct seen_key key;

	for (size_t i = 0; i < count; i++)
		if (unrecorded_key_of(&key, pids[i]))
			unrecorded_settle(u, &key);
	for (size_t i = 0; i < count; i++)
		look_below(u, pids[i], 0, note_earlier);
}

void unrecorded_free(struct unrecorded *u)
{
	map_free(u->seen);
	u->seen = NULL;
}

/* ---- those that run on */

/* Is WEFT_SOCKET=@socket in its environment? Zombies have none. */
static int is_descendant(pid_t pid, const char *socket)
{
	size_t bytes = 0;
	char *text = proc_read_all_of(pid, "environ", &bytes);
	const char *value = proc_variable(text, bytes, "WEFT_SOCKET");
	int found = value && strcmp(value, socket) == 0;

	free(text);
	return found;
}

struct descendants {
	const char *socket;
	struct collector_running *out;
	size_t room, count;
};

static int descendants_add(void *arg, pid_t pid)
{
	struct descendants *d = arg;

	if (pid == getpid() || !is_descendant(pid, d->socket))
		return 0;
	if (d->count < d->room) {
		d->out[d->count].pid = pid;
		read_command(pid, d->out[d->count].command, sizeof(d->out->command));
	}
	d->count++;
	return 0;
}

size_t collector_descendants(const struct collector *c, struct collector_running *out, size_t room)
{
	struct descendants d = {collector_socket(c), out, room, 0};

	proc_each(descendants_add, &d);
	return d.count;
}
