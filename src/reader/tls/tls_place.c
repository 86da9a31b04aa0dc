/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread-local variable is in a process: for each module that defines it, what the loader
 * has written into the slot that its file names. A descriptor or an offset is believed before the
 * DTV: glibc gives a small dlopen'ed library a place in the static surplus, while the thread's DTV
 * still says that it has none.
 */
#include "reader/tls/tls_place.h"

#include "reader/tls/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_MAX 4096
#define RESOLVER_WORDS 4

/* aarch64, a static descriptor's resolver: [bti c | nop]... ldr x0, [x0, #8]; ret */
#define INSN_BTI_C UINT32_C(0xd503245f)
#define INSN_NOP UINT32_C(0xd503201f)
#define INSN_LDR_X0 UINT32_C(0xf9400400)
#define INSN_RET UINT32_C(0xd65f03c0)
/* Below every address that a process can map without privileges. */
#define LOWEST_POINTER UINT64_C(0x10000)

static uint64_t rounding(uint64_t at, uint64_t alignment)
{
	return at & (alignment - 1);
}

int64_t tls_local_exec_offset(const struct tls_symbol *s)
{
	uint64_t offset;

	if (s->machine == EM_AARCH64)
		offset = s->value + 16 + rounding(s->address - 16, s->alignment);
	else
		offset = s->value - s->memory_bytes -
			 rounding(-s->address - s->memory_bytes, s->alignment);
	return (int64_t)offset;
}

/* Before lazy binding the word leads to the relocation itself, in a read-only part of the file. */
static int is_lazy(const struct target *t, uint64_t argument)
{
	const struct proc_map *m = target_mapping_at(t, argument);

	return m && m->inode && m->permissions[1] != 'w';
}

static int resolver_is_static(const struct target *t, uint64_t resolver, uint64_t argument)
{
	uint32_t code[RESOLVER_WORDS];
	unsigned int at = 0;

	if (target_read(t, resolver, code, sizeof(code)))
		return argument < LOWEST_POINTER;
	while (at < RESOLVER_WORDS - 2 && (code[at] == INSN_BTI_C || code[at] == INSN_NOP))
		at++;
	return code[at] == INSN_LDR_X0 && code[at + 1] == INSN_RET;
}

static int place_descriptor(const struct target *t, const struct tls_symbol *s, uint64_t slot,
			    struct tls_place *p)
{
	uint64_t words[2], dynamic[2];
	int rc = target_read(t, slot, words, sizeof(words)), is_static;

	if (rc)
		return rc;
	if (!words[0])
		return -EAGAIN;
	is_static = s->machine == EM_AARCH64 ? resolver_is_static(t, words[0], words[1])
					     : (int64_t)words[1] < 0;
	if (is_static) {
		p->offset = (int64_t)(words[1] + s->addend);
		return 0;
	}
	if (is_lazy(t, words[1]))
		return -EAGAIN;
	rc = target_read(t, words[1], dynamic, sizeof(dynamic));
	if (rc)
		return rc;
	p->is_dynamic = 1;
	p->module = dynamic[0];
	p->offset = (int64_t)(dynamic[1] + s->addend);
	/* musl's has no third word */
	if (p->libc == TLS_LIBC_GLIBC)
		rc = target_read_u64(t, words[1] + sizeof(dynamic), &p->generation);
	return rc;
}

static int place_offset(const struct target *t, const struct tls_symbol *s, uint64_t slot,
			struct tls_place *p)
{
	uint64_t word;
	int rc = target_read_u64(t, slot, &word);

	if (rc)
		return rc;
	if (s->machine == EM_X86_64 ? (int64_t)word >= 0 : !word && p->libc != TLS_LIBC_MUSL)
		return -EAGAIN;
	p->offset = (int64_t)(word + s->addend);
	return 0;
}

static int place_module(struct target *t, const struct tls_symbol *s, uint64_t slot,
			struct tls_place *p)
{
	uint64_t words[2] = {0};
	int is_general = s->model == TLS_GENERAL_DYNAMIC;
	int rc = target_read(t, slot, words, is_general ? sizeof(words) : sizeof(words[0]));

	if (rc)
		return rc;
	if (!words[0])
		return -EAGAIN;
	p->is_dynamic = 1;
	p->module = words[0];
	p->offset = (int64_t)(is_general ? words[1] : s->value);
	p->generation = tls_module_generation(t, p->libc, p->module);
	return 0;
}

static void set_edge(const struct tls_symbol *s, struct tls_place *p)
{
	uint64_t block = (uint64_t)p->offset - s->value;

	if (s->machine == EM_AARCH64)
		block += s->memory_bytes;
	p->edge = p->is_dynamic ? 0 : (int64_t)block;
}

static int place_by_model(struct target *t, const struct tls_symbol *s, uint64_t bias,
			  struct tls_place *p)
{
	p->model = s->model;
	p->machine = s->machine;
	switch (s->model) {
	case TLS_LOCAL_EXEC:
		p->offset = tls_local_exec_offset(s);
		return 0;
	case TLS_INITIAL_EXEC:
		return place_offset(t, s, bias + s->slot, p);
	case TLS_DESCRIPTOR:
		return place_descriptor(t, s, bias + s->slot, p);
	case TLS_GENERAL_DYNAMIC:
	case TLS_LOCAL_DYNAMIC:
		break;
	}
	return place_module(t, s, bias + s->slot, p);
}

int tls_symbol_place(struct target *t, const struct tls_symbol *s, uint64_t bias,
		     struct tls_place *p)
{
	int rc = place_by_model(t, s, bias, p);

	if (rc == 0)
		set_edge(s, p);
	return rc;
}

struct finding {
	struct target *t;
	const char *name;
	enum tls_libc libc;
	struct tls_symbol program;  /* its segments */
	int program_has_tls;        /* then it is the loader's module 1 */
	uint64_t biases[LINKS_MAX]; /* in the loader's order */
	int bias_count;
	struct tls_place *out;
	int *ranks; /* of @out: where in that order */
	int count, room;
	int missed; /* why a module gave none */
};

static void tls_place_miss(struct finding *f, int rc)
{
	if (rc != -ENOENT && (!f->missed || rc == -EAGAIN))
		f->missed = rc;
}

static int tls_place_rank_of(const struct finding *f, uint64_t bias)
{
	int rank = 0;

	while (rank < f->bias_count && f->biases[rank] != bias)
		rank++;
	return rank;
}

/* Two modules may lead to one variable: the one that came first defines it. */
static int tls_place_is_same(const struct tls_place *a, const struct tls_place *b)
{
	return a->is_dynamic == b->is_dynamic && a->offset == b->offset && a->module == b->module;
}

static void tls_place_add(struct finding *f, const struct tls_place *p, int rank)
{
	int at = f->count;

	for (int i = 0; i < f->count; i++)
		if (tls_place_is_same(&f->out[i], p) && f->ranks[i] <= rank)
			return;
	while (at > 0 && f->ranks[at - 1] > rank)
		at--;
	if (at == f->room)
		return;
	if (f->count == f->room)
		f->count--;
	memmove(&f->out[at + 1], &f->out[at], (size_t)(f->count - at) * sizeof(*f->out));
	memmove(&f->ranks[at + 1], &f->ranks[at], (size_t)(f->count - at) * sizeof(*f->ranks));
	f->out[at] = *p;
	f->ranks[at] = rank;
	f->count++;
}

static int look_for_program(void *arg, const struct target_module *m)
{
	struct finding *f = arg;
	int count;

	if (!m->is_program || !m->view->has_dynamic ||
	    !module_is_loaded(f->t, m, elf_view_segment(m->view, PT_DYNAMIC)->p_vaddr))
		return 0;
	f->program_has_tls = tls_view_segments(m->view, &f->program) == 0;
	count = link_map_read(f->t, m, f->biases, LINKS_MAX);
	f->bias_count = count > 0 ? count : 0;
	return 1;
}

/* The program's own block has a fixed place, in threads that never asked for it, too. */
static void fix_in_program(const struct finding *f, struct tls_place *p)
{
	struct tls_symbol s = f->program;

	if (!p->is_dynamic || p->module != 1 || !f->program_has_tls)
		return;
	s.value = (uint64_t)p->offset;
	p->offset = tls_local_exec_offset(&s);
	p->is_dynamic = 0;
	p->module = 0;
	set_edge(&s, p);
}

static int tls_place_look_into(void *arg, const struct target_module *m)
{
	struct finding *f = arg;
	struct tls_place p = {.libc = f->libc};
	struct tls_symbol s;
	int rc = tls_view_find(m->view, f->name, m->is_program, &s);

	if (rc == 0 && s.model != TLS_LOCAL_EXEC && !module_is_loaded(f->t, m, s.slot))
		return 0;
	if (rc == 0) {
		strncpy(p.path, m->first->path, sizeof(p.path) - 1);
		rc = tls_symbol_place(f->t, &s, m->bias, &p);
		fix_in_program(f, &p);
	}
	if (rc == 0)
		tls_place_add(f, &p, tls_place_rank_of(f, m->bias));
	else
		tls_place_miss(f, rc == -ENOEXEC ? -ENOENT : rc);
	return 0;
}

int tls_place_find(struct target *t, const char *name, struct tls_place *out, int room)
{
	struct finding *f = calloc(1, sizeof(*f));
	int missed, rc;

	if (!f)
		return -ENOMEM;
	*f = (struct finding){.t = t,
			      .name = name,
			      .libc = tls_libc_of(t),
			      .out = out,
			      .ranks = calloc((size_t)room + 1, sizeof(int)),
			      .room = room};
	rc = f->ranks ? 0 : -ENOMEM;
	if (rc == 0) {
		modules_each(t, look_for_program, f, &missed);
		modules_each(t, tls_place_look_into, f, &missed);
		tls_place_miss(f, missed);
		rc = f->count ? f->count : f->missed;
	}
	free(f->ranks);
	free(f);
	return rc;
}
