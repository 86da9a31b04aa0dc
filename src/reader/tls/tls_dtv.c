/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a place to an address: by the thread pointer alone, or through the thread's DTV (dynamic
 * thread vector), whose first word glibc uses for a generation and musl for a length. glibc keeps
 * the length in the entry before it. A thread's DTV may be older than a module.
 */
#include "reader/tls/tls_place.h"

#include "reader/tls/glibc.h"

#include <errno.h>
#include <string.h>

#define UNALLOCATED UINT64_MAX
#define ENTRY_GLIBC 16
#define ENTRY_MUSL 8
#define MODULES_MAX (UINT64_C(1) << 24)

/* Where the pointer to the DTV stands, seen from the thread pointer. */
static int dtv_pointer_offset(const struct tls_place *p, int64_t *offset)
{
	if (p->libc == TLS_LIBC_UNKNOWN)
		return -ENOTSUP;
	if (p->machine == EM_X86_64)
		*offset = 8;
	else
		*offset = p->libc == TLS_LIBC_MUSL ? -8 : 0;
	return 0;
}

/* Whether the vector has an entry for the module at all. */
static int check_length(const struct target *t, const struct tls_place *p, uint64_t dtv)
{
	uint64_t generation, length;
	int rc = target_read_u64(t, dtv, &generation);

	if (rc)
		return rc;
	if (p->libc == TLS_LIBC_MUSL)
		return p->module > generation ? -ENODATA : 0;
	rc = target_read_u64(t, dtv - ENTRY_GLIBC, &length);
	if (rc)
		return rc;
	return p->module > length || generation < p->generation ? -ENODATA : 0;
}

static int block_of(const struct target *t, const struct tls_place *p, uint64_t pointer,
		    uint64_t *block)
{
	uint64_t entry = p->libc == TLS_LIBC_MUSL ? ENTRY_MUSL : ENTRY_GLIBC, dtv;
	int64_t at = 0;
	int rc = dtv_pointer_offset(p, &at);

	if (rc || (rc = target_read_u64(t, pointer + (uint64_t)at, &dtv)))
		return rc;
	if (p->module > MODULES_MAX)
		return -EFAULT;
	if (!dtv)
		return -ENODATA;
	rc = check_length(t, p, dtv);
	if (rc || (rc = target_read_u64(t, dtv + entry * p->module, block)))
		return rc;
	return *block == 0 || *block == UNALLOCATED ? -ENODATA : 0;
}

int tls_address(const struct target *t, const struct tls_place *p, uint64_t pointer,
		uint64_t *address)
{
	uint64_t block = pointer;
	int rc = p->is_dynamic ? block_of(t, p, pointer, &block) : 0;

	if (rc == 0)
		*address = block + (uint64_t)p->offset;
	return rc;
}

/* As glibc's and musl's own files are called; a path may go on behind, "(deleted)". */
static enum tls_libc libc_of_path(const char *path)
{
	static const struct {
		const char *part;
		enum tls_libc libc;
	} names[] = {
		{"/ld-musl-", TLS_LIBC_MUSL},    {"/libc.musl-", TLS_LIBC_MUSL},
		{"-linux-musl/", TLS_LIBC_MUSL}, {"/musl/", TLS_LIBC_MUSL},
		{"/libc.so.6", TLS_LIBC_GLIBC},  {"/libc-2.", TLS_LIBC_GLIBC},
		{"/ld-linux", TLS_LIBC_GLIBC},   {"/ld-2.", TLS_LIBC_GLIBC},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(path, names[i].part))
			return names[i].libc;
	return TLS_LIBC_UNKNOWN;
}

enum tls_libc tls_libc_of(const struct target *t)
{
	for (size_t i = 0; i < t->mapping_count; i++) {
		const struct proc_map *m = &t->mappings[i];
		enum tls_libc libc = m->inode ? libc_of_path(m->path) : TLS_LIBC_UNKNOWN;

		if (libc != TLS_LIBC_UNKNOWN)
			return libc;
	}
	return TLS_LIBC_UNKNOWN;
}

/* Without a generation the DTV is believed: most libraries stay loaded. */
uint64_t tls_module_generation(struct target *t, enum tls_libc libc, uint64_t module)
{
	uint64_t found = 0;

	return libc != TLS_LIBC_GLIBC || glibc_module_generation(t, module, &found) ? 0 : found;
}
