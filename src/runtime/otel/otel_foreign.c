/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another publisher of OpenTelemetry's contexts in this process: its mapping, found by name as
 * every reader finds it, the keys in its payload, and whether another object defines the thread's
 * symbol.
 *
 * Its payload may be freed at any moment. It is copied by process_vm_readv, as if from outside, and
 * is whole if the time in the header is the same before and after. Nothing in it is trusted: every
 * length is checked against what is left.
 */
#include "runtime/otel/otel_private.h"

#include <elf.h>
#include <string.h>
#include <sys/uio.h>

#include "base/wire/otel_mapping.h"
#include "base/wire/protobuf.h"
#include "runtime/core/loaded_object.h"
#include "runtime/core/sys.h"

#define TRIES 3

/* ---- the mapping */

/* By the system call for other processes' memory: an unmapped address is an error, not a fault. */
static int otel_foreign_copy(void *to, uint64_t from, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
	long n =
		sys_call6(SYS_process_vm_readv, sys_getpid(), (long)&local, 1, (long)&remote, 1, 0);

	return n == (long)bytes ? 0 : n < 0 ? (int)n : -EFAULT;
}

static int has_header(uint64_t at)
{
	struct weft_otel_process_header h = {0};

	return !otel_foreign_copy(&h, at, sizeof(h)) &&
	       !memcmp(h.signature, WEFT_OTEL_PROCESS_SIGNATURE, sizeof(h.signature));
}

struct search {
	uint64_t own, found;
};

static int is_publisher(void *arg, const struct weft_mapping *m)
{
	struct search *s = arg;

	if (m->low == s->own || !otel_mapping_is_named(m->name) || !has_header(m->low))
		return 0;
	s->found = m->low;
	return 1;
}

uint64_t weft_otel_foreign_find(const char *maps, uint64_t own)
{
	struct search s = {.own = own};

	weft_maps_each(maps, is_publisher, &s);
	return s.found;
}

/* ---- its payload */

/* The last field @number with a length; empty: there is none. */
static struct protobuf_message last_field(struct protobuf_message m, uint32_t number)
{
	struct protobuf_message found = {0};
	struct protobuf_field f;

	while (protobuf_next(&m, &f) > 0)
		if (f.number == number && f.wire == PROTOBUF_BYTES)
			found = protobuf_inside(&f);
	return found;
}

static size_t otel_foreign_bytes_of(struct protobuf_message m)
{
	return (size_t)(m.end - m.at);
}

/* The texts of an ArrayValue of AnyValues, in order; an element that is no text keeps its index. */
static int read_key_map(struct protobuf_message array)
{
	uint32_t index = 0;
	struct protobuf_field f;
	int failed = 0;

	while (!failed && index < WEFT_OTEL_PROCESS_KEYS_MAX && protobuf_next(&array, &f) > 0)
		if (f.number == ARRAY_VALUES && f.wire == PROTOBUF_BYTES) {
			struct protobuf_message text = last_field(protobuf_inside(&f), TEXT);

			failed = weft_otel_keys_add_at(index, (const char *)text.at,
						       otel_foreign_bytes_of(text));
			index += !failed;
		}
	store_release(&weft_otel_keys_usable, index);
	return failed;
}

int weft_otel_foreign_parse(const uint8_t *payload, size_t bytes)
{
	struct protobuf_message m = {payload, payload + bytes}, pair, key;
	struct protobuf_field f;

	while (protobuf_next(&m, &f) > 0) {
		if (f.number != ATTRIBUTES || f.wire != PROTOBUF_BYTES)
			continue;
		pair = protobuf_inside(&f);
		key = last_field(pair, KEY);
		if (otel_foreign_bytes_of(key) == strlen(WEFT_OTEL_KEY_MAP_KEY) &&
		    !memcmp(key.at, WEFT_OTEL_KEY_MAP_KEY, otel_foreign_bytes_of(key)))
			return read_key_map(last_field(last_field(pair, VALUE), ARRAY));
	}
	return -ENOENT;
}

static int copy_payload(uint64_t mapping, uint8_t *to, uint32_t *bytes)
{
	struct weft_otel_process_header h = {0}, after = {0};
	int failed = -EAGAIN;

	for (int i = 0; i < TRIES && failed; i++) {
		if (otel_foreign_copy(&h, mapping, sizeof(h)))
			return -EFAULT;
		if (h.version != WEFT_OTEL_PROCESS_VERSION ||
		    h.payload_bytes > WEFT_OTEL_PROCESS_PAYLOAD_MAX)
			return -EPROTO;
		failed = h.published_ns ? otel_foreign_copy(to, h.payload, h.payload_bytes)
					: -EAGAIN;
		if (otel_foreign_copy(&after, mapping, sizeof(after)))
			return -EFAULT;
		if (!failed && memcmp(&h, &after, sizeof(h)) != 0)
			failed = -EAGAIN;
	}
	*bytes = h.payload_bytes;
	return failed;
}

int weft_otel_foreign_keys(uint64_t mapping)
{
	long at = sys_map_memory(WEFT_OTEL_PROCESS_PAYLOAD_MAX);
	uint32_t bytes;
	int failed;

	if (sys_is_error(at))
		return (int)at;
	failed = copy_payload(mapping, (uint8_t *)at, &bytes);
	if (!failed)
		failed = weft_otel_foreign_parse((const uint8_t *)at, bytes);
	sys_call2(SYS_munmap, at, WEFT_OTEL_PROCESS_PAYLOAD_MAX);
	return failed;
}

/* ---- its symbol */

struct object {
	struct weft_object at;
	struct weft_symbols symbols;
};

/*
 * Is the variable of this object the one that readers find, that of this copy, or a guest's? In
 * libweft.a a program's own definition may have won over ours: then it lies elsewhere.
 */
static int is_weft(const struct object *o, const struct dl_phdr_info *info, size_t size,
		   const ElfW(Sym) * s)
{
	uint64_t here = (uint64_t)(uintptr_t)&weft_otel_chosen;
	int has_tls =
		size >= offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof(info->dlpi_tls_data);
	const char *tls = has_tls ? info->dlpi_tls_data : NULL;

	if (weft_symbol_find(&o->symbols, "weft_otel_variable_v1") ||
	    (tls && weft_otel_thread_is_ours(tls + s->st_value)))
		return 1;
	if (here >= o->at.low && here < o->at.high)
		return !tls;
	return weft_symbol_find(&o->symbols, "weft_runtime_v1") != NULL;
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Sym) * s;
	struct object o;

	(void)arg;
	weft_object_read(&o.at, info);
	if (!weft_object_symbols(&o.symbols, &o.at))
		return 0;
	s = weft_symbol_find(&o.symbols, WEFT_OTEL_THREAD_SYMBOL);
	return s && ELF64_ST_TYPE(s->st_info) == STT_TLS && !is_weft(&o, info, size, s);
}

int weft_otel_foreign_symbol(void)
{
	return dl_iterate_phdr(visit_object, NULL);
}
