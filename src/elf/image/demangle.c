/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ and Rust names as people write them, by libiberty.
 *
 * Mangled names can be bombs: substitutions that double with every few characters. Output
 * comes through a callback, which leaves the demangler by longjmp when it gets too long;
 * the callback interfaces hold no memory that this could leak.
 */
#include "base/buf.h"
#include "elf/image/internal.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define MANGLED_MAX 16384
#define SHOWN_MAX 65536

struct output {
	struct buf text;
	jmp_buf too_long;
};

static void demangle_put(const char *text, size_t bytes, void *arg)
{
	struct output *out = arg;

	if (bytes > SHOWN_MAX - out->text.size || out->text.failed)
		longjmp(out->too_long, 1);
	buf_put(&out->text, text, bytes);
}

static int demangle_into(struct output *out, const char *mangled)
{
	int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(out->too_long) != 0)
		return 0;
	if (rust_demangle_callback(mangled, options, demangle_put, out))
		return 1;
	buf_clear(&out->text);
	return cplus_demangle_v3_callback(mangled, options, demangle_put, out);
}

char *elf_demangle(const char *mangled)
{
	struct output *out;
	char *text = NULL;

	if (mangled[0] != '_' || strnlen(mangled, MANGLED_MAX) == MANGLED_MAX)
		return NULL;
	out = calloc(1, sizeof(*out));
	if (out && demangle_into(out, mangled) && out->text.size > 0 && !out->text.failed)
		text = strndup((const char *)out->text.data, out->text.size);
	if (out)
		buf_free(&out->text);
	free(out);
	return text;
}
