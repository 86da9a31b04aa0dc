/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the environment of the programs that this one starts says about weft.
 *
 *   LD_PRELOAD   our own entry, and that of libweft-waits.so, are left out if the file cannot be
 *                found any more (after chroot, in another mount namespace): the loader of every
 *                program started there would complain about it on the program's stderr. And for a
 *                program that needs AddressSanitizer's runtime, which ends a program in which it is
 *                not the first library (elf_needs.c): that program runs unrecorded
 *   WEFT_SOCKET  the address of a collector that attached (header.tell_children) is not in the
 *                environment with which this program was started. So exec adds it, if there is
 *                none. system and popen start their programs inside libc, with environ: for them
 *                the constructor has put a string of ours there, which is empty unless a
 *                recording is attached (only if LD_PRELOAD names us: a program that is linked
 *                with us finds nothing in its environment that it did not put there)
 *
 * The address alone makes no program load us: LD_PRELOAD stays as it was set.
 *
 * This may run in a vfork child, before exec: it does not allocate, and writes only to that string
 * and to the room that the caller gives.
 */
#include "runtime/hooks/hooks.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/sys.h"

#define PRELOAD "LD_PRELOAD="
#define PRELOAD_BYTES (sizeof(PRELOAD) - 1)
#define SOCKET "WEFT_SOCKET="
#define SOCKET_BYTES (sizeof(SOCKET) - 1)
#define PATH_BYTES sizeof(((struct weft_session_header *)0)->socket_path)
#define ROOM_MAX 65536 /* of a caller's stack */

extern char **environ;

enum { US, WAITS, OWN_COUNT };

static WEFT_LARGE struct {
	char path[4096];
	size_t bytes; /* 0: not known, or no path */
} own[OWN_COUNT];

/* In environ, and so handed down, possibly by other threads at this moment. Its value begins with a
 * 0 byte while there is no collector; that byte is the last one written when there is. */
static char socket_entry[SOCKET_BYTES + PATH_BYTES] = SOCKET;

static void environment_note(int which, const void *address)
{
	Dl_info info;
	size_t bytes;

	if (!address || !dladdr(address, &info) || !info.dli_fname)
		return;
	bytes = strlen(info.dli_fname);
	if (info.dli_fname[0] != '/' || bytes >= sizeof(own[which].path))
		return;
	memcpy(own[which].path, info.dli_fname, bytes + 1);
	own[which].bytes = bytes;
}

void weft_environment_open(void)
{
	environment_note(US, own);
	environment_note(WAITS, (const void *)(uintptr_t)weft_waits_v1);
}

/* ---- LD_PRELOAD */

/* The loader accepts both as the end of a name. */
static size_t word_bytes(const char *at)
{
	return strcspn(at, ": ");
}

static int environment_is_own(const char *at, size_t bytes)
{
	for (int i = 0; bytes && i < OWN_COUNT; i++)
		if (bytes == own[i].bytes && !memcmp(at, own[i].path, bytes))
			return 1;
	return 0;
}

static int names_us(const char *at)
{
	while (*at) {
		size_t bytes = word_bytes(at);

		if (environment_is_own(at, bytes))
			return 1;
		at += bytes + (at[bytes] != 0);
	}
	return 0;
}

static int is_preload(const char *entry)
{
	return !strncmp(entry, PRELOAD, PRELOAD_BYTES) && names_us(entry + PRELOAD_BYTES);
}

/* Both files lie in one directory: if one is gone, both are. */
static int file_is_gone(void)
{
	long found = sys_call3(SYS_faccessat, AT_FDCWD, own[US].path, 0);

	return found == -ENOENT || found == -ENOTDIR;
}

/* Copies the entry without our word; returns its end. */
static char *copy_others(char *to, const char *entry)
{
	char *start = to + PRELOAD_BYTES;
	const char *at = entry + PRELOAD_BYTES;

	memcpy(to, entry, PRELOAD_BYTES);
	to = start;
	while (*at) {
		size_t bytes = word_bytes(at);

		if (bytes && !environment_is_own(at, bytes)) {
			if (to != start)
				*to++ = ':';
			memcpy(to, at, bytes);
			to += bytes;
		}
		at += bytes + (at[bytes] != 0);
	}
	*to++ = 0;
	return to;
}

/* ---- WEFT_SOCKET */

static int is_socket(const char *entry)
{
	return !strncmp(entry, SOCKET, SOCKET_BYTES);
}

static int follows(void)
{
	return load_acquire(&socket_entry[SOCKET_BYTES]) != 0;
}

/* The collector may be writing it: a torn address is no socket, or not yet one. */
static int socket_to_tell(char socket[PATH_BYTES])
{
	const struct weft_session_header *h = weft_rt.header;
	uint32_t number;

	if (!weft_rt.base || !load_relaxed(&h->tell_children))
		return 0;
	number = load_acquire(&h->attach_number);
	if (weft_rt_run_state() != WEFT_RUN_RECORDING)
		return 0;
	memcpy(socket, h->socket_path, PATH_BYTES);
	socket[PATH_BYTES - 1] = 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return socket[0] && weft_rt_run_state() == WEFT_RUN_RECORDING &&
	       load_relaxed(&h->attach_number) == number;
}

/* Two threads at once write the same. */
void weft_environment_refresh(void)
{
	char socket[PATH_BYTES], *value = socket_entry + SOCKET_BYTES;
	size_t size;

	if (!socket_to_tell(socket)) {
		store_release(value, 0);
		return;
	}
	if (!strcmp(value, socket))
		return;
	size = strlen(socket) + 1;
	store_release(value, 0);
	memcpy(value + 1, socket + 1, size - 1);
	store_release(value, socket[0]);
}

void weft_environment_keep_room(int is_stale)
{
	const char *preload = secure_getenv("LD_PRELOAD");
	char **entry = environ;

	if (!preload || !names_us(preload))
		return;
	while (entry && *entry && !is_socket(*entry))
		entry++;
	if (!entry || !*entry)
		putenv(socket_entry);
	else if (is_stale || !(*entry)[SOCKET_BYTES])
		*entry = socket_entry;
}

/* ---- what exec hands down */

struct survey {
	size_t count;
	int sanitizer_first;  /* before us, as it must be */
	size_t preload_bytes; /* of those that name us */
	int has_socket;
};

static int begins_with_sanitizer(const char *at)
{
	at += strspn(at, ": ");
	return weft_elf_is_sanitizer(at, word_bytes(at));
}

static void environment_survey(struct survey *s, char *const env[])
{
	*s = (struct survey){0};
	for (; env[s->count]; s->count++) {
		const char *entry = env[s->count];

		if (is_preload(entry)) {
			s->preload_bytes += strlen(entry) + 1;
			s->sanitizer_first |= begins_with_sanitizer(entry + PRELOAD_BYTES);
		}
		s->has_socket |= is_socket(entry) && entry[SOCKET_BYTES];
	}
}

struct weft_environment_change weft_environment_plan(char *const env[],
						     const struct weft_begun *program)
{
	struct weft_environment_change change = {0, 0};
	struct survey s;
	size_t room;

	weft_environment_refresh();
	if (!env)
		return change;
	environment_survey(&s, env);
	room = (s.count + 2) * sizeof(*env) + s.preload_bytes;
	if (room > ROOM_MAX)
		return change;
	change.leaves_us_out =
		s.preload_bytes &&
		(file_is_gone() || (!s.sanitizer_first && weft_elf_needs_sanitizer(program)));
	if (change.leaves_us_out || (follows() && !s.has_socket))
		change.room = room;
	return change;
}

/* Without us, or with the socket. */
char **weft_environment_pass(char *const env[], const struct weft_environment_change *change,
			     void *room)
{
	int leaves_us_out = change->leaves_us_out;
	char **out = room, *text;
	struct survey s;

	environment_survey(&s, env);
	text = (char *)(out + s.count + 2);
	for (; s.count && *env; env++, s.count--) { /* others may add to it meanwhile */
		char *end;

		if (!(leaves_us_out ? is_preload(*env) : is_socket(*env))) {
			*out++ = *env;
		} else if (leaves_us_out) {
			end = copy_others(text, *env);
			if (text[PRELOAD_BYTES])
				*out++ = text;
			text = end;
		}
	}
	if (!leaves_us_out)
		*out++ = socket_entry;
	*out = NULL;
	return room;
}
