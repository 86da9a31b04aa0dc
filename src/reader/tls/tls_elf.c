/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a file reaches a thread-local variable of its own: the symbol, then the relocations that
 * the loader would apply. The best of them wins: one that gives the place straight from the
 * thread pointer before one that goes through the DTV, one that names the variable before one of
 * a neighbour's. Section headers serve for .symtab alone.
 */
#include "reader/tls/tls_place.h"

#include <errno.h>

#define RELOCATIONS_MAX (8u << 20)
#define BLOCK_RELOCATIONS 512
#define ALIGNMENT_MAX (UINT64_C(1) << 30)

static const struct tls_machine machines[] = {
	{EM_X86_64, R_X86_64_TPOFF64, R_X86_64_TLSDESC, R_X86_64_DTPMOD64},
	{EM_AARCH64, R_AARCH64_TLS_TPREL, R_AARCH64_TLSDESC, R_AARCH64_TLS_DTPMOD},
};

/* The slot that is best so far. */
struct choice {
	enum slot_kind kind;
	int is_named;
	uint64_t slot, before;
};

struct search {
	const struct elf_view *view;
	const struct tls_machine *machine;
	Elf64_Sym symbol;
	uint64_t index; /* in .dynsym; 0: it is not there */
	struct choice best;
};

const struct tls_machine *tls_machine_of(int id)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].id == id)
			return &machines[i];
	return NULL;
}

enum slot_kind tls_slot_kind(const struct tls_machine *m, uint64_t type)
{
	if (type == m->offset)
		return SLOT_OFFSET;
	if (type == m->descriptor)
		return SLOT_DESCRIPTOR;
	return type == m->module ? SLOT_MODULE : SLOT_NONE;
}

/*
 * The lower, the better: straight from the thread pointer before through the DTV; the variable's
 * own before a neighbour's, which knows nothing of a definition in another module that comes first.
 */
static int tls_elf_rank_of(const struct choice *c)
{
	switch (c->kind) {
	case SLOT_OFFSET:
		return c->is_named ? 0 : c->before == 0 ? 1 : 4;
	case SLOT_DESCRIPTOR:
		return c->is_named ? 2 : 3;
	case SLOT_MODULE:
		return c->is_named ? 5 : 6;
	case SLOT_NONE:
		break;
	}
	return 7;
}

static int is_better(const struct choice *a, const struct choice *b)
{
	int first = tls_elf_rank_of(a), second = tls_elf_rank_of(b);

	return first < second || (first == second && a->before < b->before);
}

static void tls_elf_consider(struct search *s, const Elf64_Rela *r)
{
	uint64_t symbol = ELF64_R_SYM(r->r_info), points_at = (uint64_t)r->r_addend;
	struct choice c = {.kind = tls_slot_kind(s->machine, ELF64_R_TYPE(r->r_info)),
			   .is_named = symbol && symbol == s->index,
			   .slot = r->r_offset};

	if (c.kind == SLOT_NONE || (symbol && !c.is_named))
		return;
	if (c.is_named)
		points_at += s->symbol.st_value;
	/* A module's number is the same for all of its variables. */
	c.before = c.kind == SLOT_MODULE ? 0 : s->symbol.st_value - points_at;
	if (!c.is_named && c.kind != SLOT_MODULE && points_at > s->symbol.st_value)
		return;
	if (is_better(&c, &s->best))
		s->best = c;
}

static int search_range(struct search *s, const struct elf_range *range)
{
	uint64_t count = range->bytes / sizeof(Elf64_Rela);
	Elf64_Rela block[BLOCK_RELOCATIONS];

	if (count > RELOCATIONS_MAX)
		return -ENOEXEC;
	for (uint64_t at = 0; at < count; at += BLOCK_RELOCATIONS) {
		uint64_t n = count - at < BLOCK_RELOCATIONS ? count - at : BLOCK_RELOCATIONS;
		int rc = elf_view_read(s->view, range->offset + at * sizeof(*block), block,
				       n * sizeof(*block));

		if (rc)
			return rc;
		for (uint64_t i = 0; i < n; i++)
			tls_elf_consider(s, &block[i]);
	}
	return 0;
}

int tls_view_segments(const struct elf_view *v, struct tls_symbol *out)
{
	const Elf64_Phdr *tls = elf_view_segment(v, PT_TLS), *load = elf_view_segment(v, PT_LOAD);

	if (!tls || !load)
		return -ENOEXEC;
	out->machine = v->header.e_machine;
	out->memory_bytes = tls->p_memsz;
	out->alignment = tls->p_align ? tls->p_align : 1;
	out->address = tls->p_vaddr;
	out->first_load = load->p_vaddr;
	out->first_offset = load->p_offset;
	if ((out->alignment & (out->alignment - 1)) || out->alignment > ALIGNMENT_MAX)
		return -ENOEXEC;
	return 0;
}

static int lies_inside(const struct tls_symbol *s)
{
	return s->value <= s->memory_bytes && s->size <= s->memory_bytes - s->value;
}

static enum tls_model model_of(const struct choice *c)
{
	switch (c->kind) {
	case SLOT_OFFSET:
		return TLS_INITIAL_EXEC;
	case SLOT_DESCRIPTOR:
		return TLS_DESCRIPTOR;
	case SLOT_MODULE:
		return c->is_named ? TLS_GENERAL_DYNAMIC : TLS_LOCAL_DYNAMIC;
	case SLOT_NONE:
		break;
	}
	return TLS_LOCAL_EXEC;
}

static int is_executable(const struct elf_view *v, int is_program)
{
	return is_program || v->header.e_type == ET_EXEC || (v->flags_1 & DF_1_PIE);
}

int tls_view_find(const struct elf_view *v, const char *name, int is_program,
		  struct tls_symbol *out)
{
	struct search s = {.view = v, .machine = tls_machine_of(v->header.e_machine)};
	struct tls_symbol found = {0};
	int rc;

	if (!s.machine)
		return -ENOTSUP;
	if (!elf_view_segment(v, PT_TLS))
		return -ENOENT;
	rc = elf_view_find(v, name, STT_TLS, &s.symbol, &s.index);
	if (rc)
		return rc;
	found.from_symtab = !s.index;
	found.value = s.symbol.st_value;
	found.size = s.symbol.st_size;
	rc = tls_view_segments(v, &found);
	if (rc == 0 && !lies_inside(&found))
		rc = -ENOEXEC;
	for (int i = 0; i < 2 && rc == 0; i++)
		rc = search_range(&s, &v->relocations[i]);
	if (rc == 0 && s.best.kind == SLOT_NONE && !is_executable(v, is_program))
		rc = -ENOTSUP;
	if (rc)
		return rc;
	found.model = model_of(&s.best);
	found.slot = s.best.slot;
	found.addend = s.best.before;
	found.is_named = s.best.is_named;
	*out = found;
	return 0;
}

int tls_elf_find(int fd, const char *name, int is_program, struct tls_symbol *out)
{
	struct elf_view view;
	int rc = elf_view_open(fd, &view);

	return rc ? rc : tls_view_find(&view, name, is_program, out);
}
