/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_source.h"

#include "base/map.h"
#include "cli/frame/cli.h"
#include "coro/engine/anchor.h"
#include "proc/proc_maps.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding */

static int is_ctp(const char *path)
{
	uint64_t magic = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int is = fd >= 0 && pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
		 magic == WEFT_CTP_MAGIC;

	if (fd >= 0)
		close(fd);
	return is;
}

/* Keeps the path of a shared file of cTP, and ends there. */
static int is_shared_file(void *arg, struct proc_map *map)
{
	char **found = arg;

	if (map->permissions[3] != 's' || map->offset != 0 || map->path[0] != '/' ||
	    !is_ctp(map->path))
		return 0;
	*found = map->path;
	map->path = NULL;
	return 1;
}

/* The errno of a process that cannot be looked at stays; 0: it writes to none. */
static char *coro_source_file_of(pid_t pid)
{
	char *found = NULL;
	int rc = proc_maps_each(pid, is_shared_file, &found);

	errno = rc < 0 ? -rc : 0;
	return found;
}

struct in_use {
	char *found, *more;
};

static int add_file_in_use(void *arg, pid_t pid)
{
	struct in_use *u = arg;
	char *file = coro_source_file_of(pid);

	if (file && u->found && strcmp(file, u->found) != 0)
		u->more = file;
	else if (file && !u->found)
		u->found = file;
	else
		free(file);
	return u->more != NULL;
}

/* The file that is in use by any process that may be looked at; *more: another one. */
static char *file_in_use(char **more)
{
	struct in_use u = {0};

	proc_each(add_file_in_use, &u);
	*more = u.more;
	return u.found;
}

int coro_source_is_pid(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && access(text, F_OK);
}

static int no_file_of(const char *pid)
{
	if (errno == EACCES || errno == EPERM)
		return cli_error("%s: its mappings cannot be read: %s (name the shared file)", pid,
				 strerror(errno));
	return cli_error("%s: %s", pid,
			 errno ? "no such process" : "a process that writes no coroutines");
}

static int coro_source_find(const char *text, char **path)
{
	char *more;
	pid_t pid;

	if (text && !coro_source_is_pid(text)) {
		*path = strdup(text);
		return *path ? CLI_DONE : cli_error("%s", strerror(ENOMEM));
	}
	if (text) {
		int is_none = cli_pid(text, &pid) != 0;

		*path = is_none ? NULL : coro_source_file_of(pid);
		if (is_none)
			errno = ENOENT;
		return *path ? CLI_DONE : no_file_of(text);
	}
	*path = file_in_use(&more);
	if (!*path)
		return cli_error("no engine runs here (start one with weft coro run, or name "
				 "a shared file or a pid)");
	if (more) {
		cli_usage("several shared files are in use, %s and %s: name one, or a pid", *path,
			  more);
		free(*path);
		free(more);
		*path = NULL;
		return CLI_USAGE;
	}
	return CLI_DONE;
}

/* ---- opening */

static const char *coro_source_why(int rc)
{
	return rc == -EBADMSG ? "not a shared file of cTP" : strerror(-rc);
}

static int uses_file(void *arg, pid_t pid)
{
	const struct stat *wanted = arg;
	char *file = pid == getpid() ? NULL : coro_source_file_of(pid);
	struct stat st;
	int uses = file && stat(file, &st) == 0 && st.st_ino == wanted->st_ino &&
		   st.st_dev == wanted->st_dev;

	free(file);
	return uses;
}

/* An engine that is there, or a process of those that wrote to it. */
static int is_in_use(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && proc_each(uses_file, &st) > 0;
}

int coro_source_open(struct coro_source *s, const char *text)
{
	int status, rc;

	memset(s, 0, sizeof(*s));
	s->shm.fd = -1;
	status = coro_source_find(text, &s->path);
	if (status)
		return status;
	s->is_live = is_in_use(s->path);
	s->names = coro_names_new();
	s->pids = map_new();
	rc = s->names && s->pids ? coro_shm_open(&s->shm, s->path, 0) : -ENOMEM;
	if (rc) {
		s->shm.fd = -1;
		status = cli_error("%s: %s", s->path, coro_source_why(rc));
		coro_source_close(s);
		return status;
	}
	return CLI_DONE;
}

void coro_source_close(struct coro_source *s)
{
	if (s->shm.fd >= 0)
		coro_shm_close(&s->shm);
	coro_names_free(s->names);
	map_free(s->pids);
	free(s->path);
	memset(s, 0, sizeof(*s));
	s->shm.fd = -1;
}

static int newest(void *arg, const struct coro_state *state)
{
	uint64_t *ns = arg;

	if (state->since_ns > *ns)
		*ns = state->since_ns;
	return 0;
}

uint64_t coro_source_now_ns(const struct coro_source *s)
{
	uint64_t ns = 0;

	if (s->is_live)
		return coro_clock_ns(CLOCK_MONOTONIC);
	coro_snapshot(&s->shm, newest, &ns);
	return ns;
}

struct refused {
	const struct weft_ctp_header *header;
	uint64_t count;
};

static int read_refused(void *arg)
{
	struct refused *r = arg;

	r->count = __atomic_load_n(&r->header->refused, __ATOMIC_RELAXED);
	return 0;
}

uint64_t coro_source_refused(const struct coro_source *s)
{
	struct refused r = {.header = s->shm.header};

	if (!s->shm.is_extended || coro_shm_guard(&s->shm, read_refused, &r))
		return 0;
	return r.count;
}

/* ---- telling */

const char *coro_source_name(struct coro_source *s, uint32_t pid, uint64_t address,
			     char out[CORO_NAME_BYTES])
{
	int fresh = 0;

	if (pid && map_put(s->pids, &pid, sizeof(pid), &fresh) && fresh)
		(void)coro_names_process(s->names, pid, s->shm.device, s->shm.inode);
	return coro_names_text(s->names, pid, address, out);
}

const char *coro_state_text(uint8_t state)
{
	static const char *const texts[] = {
		[WEFT_CTP_UNUSED] = "unused",   [WEFT_CTP_CREATED] = "created",
		[WEFT_CTP_RUNNING] = "running", [WEFT_CTP_SUSPENDED] = "suspended",
		[WEFT_CTP_READY] = "ready",     [WEFT_CTP_DEAD] = "dead",
		[WEFT_CTP_LISTED] = "dead",
	};

	return state < sizeof(texts) / sizeof(*texts) ? texts[state] : "unknown";
}

/* "trace=0123..."; nothing of zeros. The length. */
static size_t coro_source_put_id(const char *name, const uint8_t *bytes, size_t count, char *out)
{
	size_t used = (size_t)sprintf(out, "%s=", name);
	int any = 0;

	for (size_t i = 0; i < count; i++) {
		any |= bytes[i];
		used += (size_t)sprintf(out + used, "%02x", bytes[i]);
	}
	out[any ? used : 0] = '\0';
	return any ? used : 0;
}

static size_t coro_source_put_labels(const struct weft_ctp_context *c, char *out, size_t used)
{
	size_t at = 0;

	while (at + 2 <= c->label_bytes &&
	       at + 2 + c->labels[at] + c->labels[at + 1] <= c->label_bytes) {
		const uint8_t *l = &c->labels[at];
		int n = snprintf(out + used, CORO_CONTEXT_BYTES - used, "%s%.*s=%.*s",
				 used ? " " : "", (int)l[0], (const char *)l + 2, (int)l[1],
				 (const char *)l + 2 + l[0]);

		if (n < 0 || (size_t)n >= CORO_CONTEXT_BYTES - used)
			break;
		used += (size_t)n;
		at += 2 + (size_t)l[0] + l[1];
	}
	return used;
}

const char *coro_context_text(const struct weft_ctp_context_prefix *prefix,
			      const struct weft_ctp_context *labels, char out[CORO_CONTEXT_BYTES])
{
	size_t used = coro_source_put_id("trace", prefix->trace_id, sizeof(prefix->trace_id), out);

	used += coro_source_put_id(used ? " span" : "span", prefix->span_id,
				   sizeof(prefix->span_id), out + used);
	if (labels)
		coro_source_put_labels(labels, out, used);
	return out;
}
