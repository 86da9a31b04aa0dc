/* SPDX-License-Identifier: Apache-2.0 */
#include "report/annotate/annotate.h"

#include "base/text/hex.h"
#include "elf/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>
#endif

#define CODE_MAX ((uint64_t)4 << 20) /* of one function */
#define CANDIDATES_MAX 64

void disassembly_free(struct disassembly *d)
{
	if (!d)
		return;
	names_free(&d->texts);
	elf_module_free(d->module);
	free(d->path);
	free(d->item);
	free(d->places);
	free(d);
}

/* ---- the file */

static int has_build_id(const struct elf_module *m, const char *wanted)
{
	const uint8_t *id;
	size_t bytes = elf_module_build_id(m, &id);

	if (strlen(wanted) != 2 * bytes)
		return 0;
	for (size_t i = 0; i < bytes; i++) {
		char digits[2];

		hex_put(digits, &id[i], 1);
		if (memcmp(wanted + 2 * i, digits, 2) != 0)
			return 0;
	}
	return 1;
}

static int try_file(struct disassembly *d, const char *recorded, const char *build_id,
		    const char *name, const struct source_places *places, char *why)
{
	int rc;

	d->path = source_text_mapped(recorded, places);
	if (!d->path)
		return -ENOMEM;
	rc = elf_module_open(&d->module, d->path, -1, name);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		snprintf(why, DISASSEMBLY_WHY, "%s: %s; --path OLD=NEW says where it is.", d->path,
			 rc == -ENOEXEC ? "not an ELF file" : strerror(-rc));
	} else if (!has_build_id(d->module, build_id)) {
		snprintf(why, DISASSEMBLY_WHY,
			 "%s is not the file that ran: its build-id is another. It was replaced "
			 "since.",
			 d->path);
	} else {
		d->is_certain = *build_id != 0;
		return 0;
	}
	elf_module_free(d->module);
	d->module = NULL;
	free(d->path);
	d->path = NULL;
	return -ENOENT;
}

static int find_file(struct disassembly *d, const struct model *m, const struct facts *facts,
		     uint32_t module, const struct source_places *places, char *why)
{
	const char *name = names_text(&m->names, module);
	int rc = -ENOENT;

	snprintf(why, DISASSEMBLY_WHY, "the recording does not say which file %s was.",
		 module ? name : "its code came from");
	for (uint32_t i = 0; i < facts->module_count && module && rc == -ENOENT; i++) {
		const struct fact_module *f = &facts->modules[i];

		if (f->name == module && names_text(&m->names, f->path)[0] == '/')
			rc = try_file(d, names_text(&m->names, f->path),
				      names_text(&m->names, f->build_id), name, places, why);
	}
	return rc;
}

/* ---- the function */

/* Is @line of @file that of the real function at @address? */
static int is_place_of(struct elf_module *m, uint64_t address, const char *file, int line)
{
	struct elf_place places[64];
	size_t count = elf_module_places(m, address, places, 64);

	if (!count)
		return 0;
	count--;
	return places[count].file && places[count].line == line &&
	       strcmp(places[count].file, file) == 0;
}

/* "libfoo.so+0x1234": code without a name, by the address at which it begins. */
static int unnamed(struct elf_module *m, const char *function, struct elf_symbol *out)
{
	const char *plus = strrchr(function, '+');
	uint64_t start;
	char *end;

	if (!plus || strncmp(plus, "+0x", 3) != 0)
		return -ENOENT;
	out->address = strtoull(plus + 3, &end, 16);
	if (*end || elf_module_entry(m, out->address, &start))
		return -ENOENT;
	out->size = 0;
	while (out->size < CODE_MAX && !elf_module_entry(m, out->address + out->size, &start) &&
	       start == out->address)
		out->size++;
	return out->size ? 0 : -ENOENT;
}

/* Claims the offsets of the function at @symbol: all, if it is the only one of its name, else those
 * whose file and line are there and that no other has claimed. Returns how many. */
static size_t disassembly_claim(struct disassembly *d, const struct annotate *a,
				const struct annotate_place *f, const struct elf_symbol *symbol,
				int is_only)
{
	const struct names *names = &source_model(a->source)->names;
	size_t claimed = 0;

	for (size_t n = 0; n < a->offsets.count; n++) {
		const struct annotate_place *o = &a->offsets.item[n];
		uint64_t address = symbol->address + (uint64_t)o->offset;

		if (!annotate_is_of(o, f) || d->places[n])
			continue;
		if (!is_only &&
		    (!o->file || (uint64_t)o->offset >= symbol->size ||
		     !is_place_of(d->module, address, names_text(names, o->file), o->line)))
			continue;
		d->places[n] = address;
		claimed++;
	}
	return claimed;
}

/* The functions to show, at most @max; 0 and @why. */
static size_t disassembly_find_functions(struct disassembly *d, const struct annotate *a,
					 const struct annotate_place *f, struct elf_symbol *out,
					 size_t max, char *why)
{
	const char *function = names_text(&source_model(a->source)->names, f->function);
	size_t count = elf_module_functions(d->module, function, out, max), kept = 0;

	snprintf(why, DISASSEMBLY_WHY, "%.200s has no function %.200s of its own.",
		 elf_module_name(d->module), function);
	if (count == 0)
		count = unnamed(d->module, function, out) == 0;
	if (count <= 1) {
		if (count)
			disassembly_claim(d, a, f, out, 1);
		return count;
	}
	snprintf(why, DISASSEMBLY_WHY, "%.200s has %zu functions %.200s, and nothing tells which.",
		 elf_module_name(d->module), count, function);
	for (size_t i = 0; i < count && i < max; i++)
		if (disassembly_claim(d, a, f, &out[i], 0))
			out[kept++] = out[i];
	return kept;
}

int disassembly_weight(const struct disassembly *d, const struct annotate *a,
		       const struct instruction *i, struct weight *sum)
{
	int any = 0;

	*sum = (struct weight){.last = 0};
	for (size_t n = 0; n < a->offsets.count; n++) {
		const struct weight *w = &a->offsets.item[n].weight;

		if (!d->places[n] || d->places[n] - i->address >= i->bytes)
			continue;
		amount_add(&sum->total, &w->total);
		amount_add(&sum->self, &w->self);
		any = 1;
	}
	return any;
}

/* ---- instructions */

#ifdef HAVE_CAPSTONE

static int open_engine(const struct elf_module *m, csh *engine)
{
	cs_err err;

	if (elf_module_machine(m) == UNWIND_AARCH64)
		err = cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, engine);
	else
		err = cs_open(CS_ARCH_X86, CS_MODE_64, engine);
	if (err == CS_ERR_OK && elf_module_machine(m) != UNWIND_AARCH64)
		err = cs_option(*engine, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	if (err == CS_ERR_OK)
		err = cs_option(*engine, CS_OPT_SKIPDATA, CS_OPT_ON);
	return err == CS_ERR_OK ? 0 : -ENOMEM;
}

/* "callq 0x1139 <work>": where a jump goes, if that is another function. */
static const char *instruction_text(struct disassembly *d, const cs_insn *insn, uint64_t start)
{
	const char *number = insn->op_str + (insn->op_str[0] == '#');
	struct elf_symbol target;
	char *end, text[400];
	uint64_t address = strncmp(number, "0x", 2) == 0 ? strtoull(number, &end, 16) : 0;

	snprintf(text, sizeof(text), "%-7s %s", insn->mnemonic, insn->op_str);
	if (address && !*end && elf_module_symbol(d->module, address, &target) == 0 &&
	    target.address != start)
		snprintf(text, sizeof(text), "%-7s %s <%.200s>", insn->mnemonic, insn->op_str,
			 target.name);
	return names_text(&d->texts, names_id(&d->texts, text));
}

static void set_place(struct disassembly *d, struct instruction *i)
{
	struct elf_place places[16];
	size_t count = elf_module_places(d->module, i->address, places, 16);

	if (!count || !places[0].file)
		return;
	i->file = names_text(&d->texts, names_id(&d->texts, places[0].file));
	i->line = places[0].line;
}

static int disassembly_append(struct disassembly *d, const cs_insn *insn, size_t count,
			      uint64_t start)
{
	struct instruction *all = realloc(d->item, (d->count + count) * sizeof(*all));

	if (!all)
		return -ENOMEM;
	d->item = all;
	for (size_t n = 0; n < count; n++) {
		struct instruction *i = &d->item[d->count++];

		*i = (struct instruction){.address = insn[n].address,
					  .offset = (int32_t)(insn[n].address - start),
					  .bytes = insn[n].size};
		i->text = instruction_text(d, &insn[n], start);
		set_place(d, i);
	}
	return d->texts.failed ? -ENOMEM : 0;
}

static int disassemble(struct disassembly *d, const struct elf_symbol *symbol, char *why)
{
	size_t bytes = (size_t)(symbol->size < CODE_MAX ? symbol->size : CODE_MAX), count;
	uint8_t *code = malloc(bytes + 1);
	cs_insn *insn = NULL;
	csh engine;
	int rc = -ENOENT;

	snprintf(why, DISASSEMBLY_WHY, "%s: cannot be read.", d->path);
	if (!code || open_engine(d->module, &engine)) {
		free(code);
		return -ENOMEM;
	}
	if (elf_module_read(d->module, symbol->address, code, bytes) == 0) {
		count = cs_disasm(engine, code, bytes, symbol->address, 0, &insn);
		rc = count ? disassembly_append(d, insn, count, symbol->address) : -ENOENT;
		cs_free(insn, count);
	}
	cs_close(&engine);
	free(code);
	return rc;
}

#else

static int disassemble(struct disassembly *d, const struct elf_symbol *symbol, char *why)
{
	(void)d;
	(void)symbol;
	snprintf(why, DISASSEMBLY_WHY,
		 "this weft was built without a disassembler: build it with capstone "
		 "(Debian: libcapstone-dev).");
	return -ENOENT;
}

#endif

int disassembly_open(struct disassembly **out, const struct annotate *a,
		     const struct annotate_place *f, const struct source_places *places,
		     char why[DISASSEMBLY_WHY])
{
	struct disassembly *d = calloc(1, sizeof(*d));
	struct elf_symbol found[CANDIDATES_MAX];
	size_t count = 0;
	int rc = -ENOMEM;

	if (d)
		d->places = calloc((size_t)a->offsets.count + 1, sizeof(*d->places));
	if (d && d->places)
		rc = names_init(&d->texts);
	if (!rc)
		rc = find_file(d, source_model(a->source), source_facts(a->source), f->module,
			       places, why);
	if (!rc) {
		count = disassembly_find_functions(d, a, f, found, CANDIDATES_MAX, why);
		rc = count ? 0 : -ENOENT;
	}
	for (size_t i = 0; i < count && !rc; i++)
		rc = disassemble(d, &found[i], why);
	if (rc) {
		disassembly_free(d);
		return rc;
	}
	*out = d;
	return 0;
}
