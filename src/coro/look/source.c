/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/look/source.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/text/hex.h"
#include "proc/proc_maps.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding */

/* The first mapping of a shared file of cTP ends the search; its path is kept. */
static int is_shared_file(void *arg, struct proc_map *map)
{
	char **found = arg;

	if (map->permissions[3] != 's' || map->offset != 0 || map->path[0] != '/' ||
	    !coro_shm_is(map->path))
		return 0;
	*found = map->path;
	map->path = NULL;
	return 1;
}

int coro_source_of_pid(pid_t pid, char **path)
{
	int rc;

	*path = NULL;
	rc = proc_maps_each(pid, is_shared_file, path);
	return *path ? 0 : rc < 0 ? rc : -ENODATA;
}

/* @arg: the first file that is in use by a process that may be looked at, and another one. */
static int add_file_in_use(void *arg, pid_t pid)
{
	char **found = arg, *file;

	if (coro_source_of_pid(pid, &file))
		return 0;
	if (found[0] && strcmp(file, found[0]) != 0)
		found[1] = file;
	else if (!found[0])
		found[0] = file;
	else
		free(file);
	return found[1] != NULL;
}

void coro_source_in_use(char *path[2])
{
	path[0] = path[1] = NULL;
	(void)proc_each(add_file_in_use, path);
}

/* ---- opening */

static int uses_file(void *arg, pid_t pid)
{
	const struct stat *wanted = arg;
	struct stat st;
	char *file;
	int uses;

	if (pid == getpid() || coro_source_of_pid(pid, &file))
		return 0;
	uses = stat(file, &st) == 0 && st.st_ino == wanted->st_ino && st.st_dev == wanted->st_dev;
	free(file);
	return uses;
}

/* Has another process the file mapped, be it the engine or a program that writes to it? */
static int is_in_use(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && proc_each(uses_file, &st) > 0;
}

int coro_source_open(struct coro_source *s, const char *path)
{
	int rc;

	*s = (struct coro_source){.shm.fd = -1, .path = strdup(path)};
	if (s->path)
		s->is_live = is_in_use(s->path);
	s->names = coro_names_new();
	s->pids = map_new();
	rc = s->path && s->names && s->pids ? coro_shm_open(&s->shm, s->path, 0) : -ENOMEM;
	if (rc)
		coro_source_close(s);
	return rc;
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

	for (size_t i = 0; i < count; i++)
		any |= bytes[i];
	used = (size_t)(hex_put(out + used, bytes, count) - out);
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
