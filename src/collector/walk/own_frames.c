/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of a program reads as it would without weft. Frames of weft's libraries between
 * frames of the program (the start of a thread, the delivery of a signal, a call that is
 * wrapped) are hidden. What weft itself uses stays to be seen: where the innermost frame is
 * weft's, it stays, alone of the weft frames around it; and where weft called nothing but libc,
 * the innermost of weft's does.
 *
 * A runtime that is linked into the program (libweft.a) is not told apart from it.
 */
#include "collector/walk/walking.h"

#include <string.h>

enum owner { OTHERS, LIBC, RUNTIME, WAITS };

static enum owner owner_of(const struct walked_frame *f)
{
	static const struct {
		const char *prefix;
		enum owner owner;
	} owners[] = {
		{"libweft.so", RUNTIME}, {"libweft-late.so", RUNTIME}, {"libweft-waits.so", WAITS},
		{"libc.so", LIBC},       {"libc.musl", LIBC},          {"libc-2.", LIBC},
		{"libpthread", LIBC},    {"ld-linux", LIBC},           {"ld-musl", LIBC},
		{"[vdso]", LIBC},
	};
	const char *name = f->code && f->code != &walked_jit_code ? f->code->name : NULL;

	for (size_t i = 0; name && i < sizeof(owners) / sizeof(owners[0]); i++)
		if (strncmp(name, owners[i].prefix, strlen(owners[i].prefix)) == 0)
			return owners[i].owner;
	return OTHERS;
}

static int own_frames_is_own(enum owner owner)
{
	return owner == RUNTIME || owner == WAITS;
}

size_t own_frames_hide(const struct walked_stack *stack, size_t first, uint8_t *hidden)
{
	int is_inner = 1; /* so far there is nothing, or libc alone */
	enum owner before = OTHERS;
	size_t count = 0;

	for (size_t i = first; i < stack->frame_count; i++) {
		enum owner owner = owner_of(&walked_frames(stack)[i]);

		hidden[i] = own_frames_is_own(owner) && i > first &&
			    (own_frames_is_own(before) || !is_inner || owner == WAITS);
		count += hidden[i];
		is_inner &= owner == LIBC || own_frames_is_own(owner);
		before = owner;
	}
	return count;
}
