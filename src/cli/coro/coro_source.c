/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_source.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/map.h"
#include "cli/frame/cli.h"
#include "cli/frame/recording_args.h"
#include "proc/proc_maps.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding */

static int is_ctp(const char *path)
{
	uint64_t magic = 0;

	return recording_start(path, &magic, sizeof(magic)) == sizeof(magic) &&
	       magic == WEFT_CTP_MAGIC;
}

/* The first mapping of a shared file of cTP ends the search; its path is kept. */
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

/* The shared file that a process writes to, or NULL: then errno tells why it cannot be looked at,
 * or is 0 when it writes to none. */
static char *coro_source_file_of(pid_t pid)
{
	char *found = NULL;
	int rc = proc_maps_each(pid, is_shared_file, &found);

	errno = rc < 0 ? -rc : 0;
	return found;
}

/* @arg: the first file that is in use by a process that may be looked at, and another one. */
static int add_file_in_use(void *arg, pid_t pid)
{
	char **found = arg, *file = coro_source_file_of(pid);

	if (file && found[0] && strcmp(file, found[0]) != 0)
		found[1] = file;
	else if (file && !found[0])
		found[0] = file;
	else
		free(file);
	return found[1] != NULL;
}

int coro_source_is_pid(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && access(text, F_OK);
}

static int no_file_of(const char *pid)
{
	if (errno == EACCES || errno == EPERM)
		cli_error("%s: its mappings cannot be read: %s (name the shared file)", pid,
			  strerror(errno));
	else
		cli_error("%s: %s", pid,
			  errno ? "no such process" : "a process that writes no coroutines");
	return CLI_FAILED;
}

static int coro_source_find(const char *text, char **path)
{
	char *found[2] = {NULL, NULL};
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
	proc_each(add_file_in_use, found);
	if (!found[0])
		return cli_error("no engine runs here (start one with weft coro run, or name "
				 "a shared file or a pid)");
	*path = found[0];
	if (!found[1])
		return CLI_DONE;
	cli_usage("several shared files are in use, %s and %s: name one, or a pid", found[0],
		  found[1]);
	free(found[1]);
	return CLI_USAGE;
}

/* ---- opening */

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

/* Has another process the file mapped, be it the engine or a program that writes to it? */
static int is_in_use(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && proc_each(uses_file, &st) > 0;
}

int coro_source_open(struct coro_source *s, const char *text)
{
	int status, rc;

	*s = (struct coro_source){.shm.fd = -1};
	status = coro_source_find(text, &s->path);
	if (status) {
		free(s->path);
		return status;
	}
	s->is_live = is_in_use(s->path);
	s->names = coro_names_new();
	s->pids = map_new();
	rc = s->names && s->pids ? coro_shm_open(&s->shm, s->path, 0) : -ENOMEM;
	if (!rc)
		return CLI_DONE;
	status = cli_error("%s: %s", s->path,
			   rc == -EBADMSG ? "not a shared file of cTP" : strerror(-rc));
	coro_source_close(s);
	return status;
}

void coro_source_close(struct coro_source *s)
{
	coro_shm_close(&s->shm);
	coro_names_free(s->names);
	map_free(s->pids);
	free(s->path);
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
		return clock_mono_ns();
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

	r->count = load_relaxed(&r->header->refused);
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

/* "trace=0123...", "" of an id that is zero. Returns the length. */
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
