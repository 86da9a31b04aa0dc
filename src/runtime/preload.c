/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own entry in LD_PRELOAD, and that of libweft-waits.so, left out of an environment where
 * the file cannot be found any more (after chroot, in another mount namespace): the loader of
 * every program begun there would complain about it on the program's stderr.
 *
 * Runs before exec, maybe in a vfork child: no allocation, nothing written but to the room
 * that the caller gives.
 */
#include "runtime/preload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "runtime/sys.h"

#define NAME "LD_PRELOAD="
#define NAME_BYTES (sizeof(NAME) - 1)
#define ROOM_MAX 65536 /* of a caller's stack */

enum { US, WAITS, OWN_COUNT };

static struct {
	char path[4096];
	size_t bytes; /* 0: not known, or no path */
} own[OWN_COUNT];

static void note(int which, const void *address)
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

void weft_preload_open(void)
{
	note(US, own);
	note(WAITS, (const void *)(uintptr_t)weft_waits_v1);
}

/* The loader takes both for the end of a name. */
static size_t word_bytes(const char *at)
{
	return strcspn(at, ": ");
}

static int is_own(const char *at, size_t bytes)
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

		if (is_own(at, bytes))
			return 1;
		at += bytes + (at[bytes] != 0);
	}
	return 0;
}

static int is_preload(const char *entry)
{
	return !strncmp(entry, NAME, NAME_BYTES) && names_us(entry + NAME_BYTES);
}

/* They lie side by side: one is gone, both are. */
static int file_is_gone(void)
{
	long found = sys_call3(SYS_faccessat, AT_FDCWD, own[US].path, 0);

	return found == -ENOENT || found == -ENOTDIR;
}

size_t weft_preload_room(char *const env[])
{
	size_t count = 0, bytes = 0, room;

	if (!own[US].bytes || !env)
		return 0;
	for (; env[count]; count++)
		if (is_preload(env[count]))
			bytes += strlen(env[count]) + 1;
	room = (count + 1) * sizeof(*env) + bytes;
	return bytes && room <= ROOM_MAX && file_is_gone() ? room : 0;
}

/* The entry without our word; returns what is behind its end. */
static char *copy_others(char *to, const char *entry)
{
	char *start = to + NAME_BYTES;
	const char *at = entry + NAME_BYTES;

	memcpy(to, entry, NAME_BYTES);
	to = start;
	while (*at) {
		size_t bytes = word_bytes(at);

		if (bytes && !is_own(at, bytes)) {
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

char **weft_preload_cut(char *const env[], void *room)
{
	char **out = room, **entry = out;
	char *text;
	size_t count = 0;

	while (env[count])
		count++;
	text = (char *)(out + count + 1);
	for (size_t i = 0; i < count; i++) {
		char *end;

		if (!is_preload(env[i])) {
			*entry++ = env[i];
			continue;
		}
		end = copy_others(text, env[i]);
		if (text[NAME_BYTES])
			*entry++ = text;
		text = end;
	}
	*entry = NULL;
	return out;
}
