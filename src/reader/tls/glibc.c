/* SPDX-License-Identifier: Apache-2.0 */
/* What glibc keeps for debuggers: see glibc.h. */
#include "reader/tls/glibc.h"

#include "reader/tls/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTINFO_LISTS_MAX 1024
#define OFFSET_MAX 65536

static const char *const names[GLIBC_NAMES] = {
	[GLIBC_STACK_USED] = "_thread_db_rtld_global__dl_stack_used",
	[GLIBC_STACK_USER] = "_thread_db_rtld_global__dl_stack_user",
	[GLIBC_SLOTINFO_LIST] = "_thread_db_rtld_global__dl_tls_dtv_slotinfo_list",
	[GLIBC_LIST_NEXT] = "_thread_db_list_t_next",
	[GLIBC_PTHREAD_LIST] = "_thread_db_pthread_list",
	[GLIBC_PTHREAD_TID] = "_thread_db_pthread_tid",
	[GLIBC_SLOTINFO_LEN] = "_thread_db_dtv_slotinfo_list_len",
	[GLIBC_SLOTINFO_NEXT] = "_thread_db_dtv_slotinfo_list_next",
	[GLIBC_SLOTINFO_ITEMS] = "_thread_db_dtv_slotinfo_list_slotinfo",
	[GLIBC_SLOTINFO_GENERATION] = "_thread_db_dtv_slotinfo_gen",
};

struct search {
	const struct target *t;
	struct glibc *glibc;
	int has_fields;
};

static int read_fields(struct search *s, const struct target_module *m)
{
	uint64_t at;
	int rc = module_symbol(m, "_thread_db_sizeof_pthread", &at);

	rc = rc ? rc
		: target_read(s->t, at, &s->glibc->pthread_bytes, sizeof(s->glibc->pthread_bytes));
	for (int i = 0; i < GLIBC_NAMES && rc == 0; i++) {
		struct glibc_field *field = &s->glibc->fields[i];

		rc = module_symbol(m, names[i], &at);
		rc = rc ? rc : target_read(s->t, at, field, sizeof(*field));
		if (rc == 0 && field->offset > OFFSET_MAX)
			rc = -ENOTSUP;
	}
	return rc;
}

static int glibc_look_into(void *arg, const struct target_module *m)
{
	struct search *s = arg;

	/* Their names tell them from all others at less cost than their symbols. */
	if (!s->glibc->rtld_global && strstr(m->first->path, "/ld"))
		module_symbol(m, "_rtld_global", &s->glibc->rtld_global);
	if (!s->has_fields && strstr(m->first->path, "/libc"))
		s->has_fields = read_fields(s, m) == 0;
	return s->has_fields && s->glibc->rtld_global;
}

int glibc_find(struct target *t, const struct glibc **out)
{
	struct search s = {.t = t};
	int missed;

	if (!t->glibc) {
		s.glibc = calloc(1, sizeof(*s.glibc));
		if (!s.glibc)
			return -ENOMEM;
		modules_each(t, glibc_look_into, &s, &missed);
		if (!s.has_fields)
			s.glibc->rtld_global = 0;
		t->glibc = s.glibc;
	}
	*out = t->glibc;
	return t->glibc->rtld_global ? 0 : -ENOTSUP;
}

int glibc_word(const struct target *t, const struct glibc *g, enum glibc_name name, uint64_t base,
	       uint64_t *out)
{
	return target_read_u64(t, base + g->fields[name].offset, out);
}

/* The table of modules is a list of arrays, one behind the other. */
int glibc_module_generation(struct target *t, uint64_t module, uint64_t *generation)
{
	const struct glibc *g;
	uint64_t list, length;
	int rc = glibc_find(t, &g);

	rc = rc ? rc : glibc_word(t, g, GLIBC_SLOTINFO_LIST, g->rtld_global, &list);
	for (int i = 0; i < SLOTINFO_LISTS_MAX && rc == 0 && list; i++) {
		uint64_t item = g->fields[GLIBC_SLOTINFO_ITEMS].bits / 8;

		rc = glibc_word(t, g, GLIBC_SLOTINFO_LEN, list, &length);
		if (rc)
			return rc;
		if (module < length)
			return glibc_word(t, g, GLIBC_SLOTINFO_GENERATION,
					  list + g->fields[GLIBC_SLOTINFO_ITEMS].offset +
						  module * item,
					  generation);
		module -= length;
		rc = glibc_word(t, g, GLIBC_SLOTINFO_NEXT, list, &list);
	}
	return rc ? rc : -ENOENT;
}
