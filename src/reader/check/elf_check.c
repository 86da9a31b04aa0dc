/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of all ABIs share, that of weft itself, and the verdict. */
#include "reader/check/elf_check.h"

#include "reader/tls/tls.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

const char *const check_abi_keys[CHECK_ABIS] = {
	[CHECK_CUSTOM_LABELS] = "custom-labels",
	[CHECK_OTEL] = "otel",
	[CHECK_WEFT] = "weft",
};

const char *const check_abi_titles[CHECK_ABIS] = {
	[CHECK_CUSTOM_LABELS] = "Custom Labels v1",
	[CHECK_OTEL] = "OpenTelemetry thread context",
	[CHECK_WEFT] = "weft",
};

struct check_finding *check_add(struct check_verdict *v, enum check_state state, const char *key,
				const char *title)
{
	struct check_finding *f = &v->findings[v->count];

	if (v->count + 1 < CHECK_FINDINGS_MAX)
		v->count++;
	*f = (struct check_finding){.key = key, .title = title, .state = state};
	return f;
}

/* ---- is it in .dynsym? */

static void say_why_not(struct check_finding *f, const struct elf_facts *facts,
			enum elf_fact_name which)
{
	const struct elf_fact *fact = &facts->facts[which];
	const char *name = elf_fact_names[which];

	if (!facts->has_dynamic_symbols && !elf_facts_is_library(facts)) {
		check_say(f,
			  "%s is not exported: a static program for a fixed address has no "
			  "dynamic symbols",
			  name);
		check_mend(f,
			   "compile with -fPIE, link with -static-pie "
			   "-Wl,--export-dynamic-symbol=%s; or link without -static",
			   name);
	} else if (fact->is_local_there || fact->visibility == STV_HIDDEN ||
		   fact->visibility == STV_INTERNAL) {
		check_say(f,
			  "%s is not in .dynsym: hidden, static, or made local by a version script",
			  name);
		check_mend(f,
			   "__attribute__((visibility(\"default\"))) at its definition, without "
			   "static; under global: in the version script, if there is one; not in "
			   "-Wl,--exclude-libs");
	} else {
		check_say(f, "%s is not exported: it is not in .dynsym", name);
		check_mend(f,
			   "link with -Wl,--export-dynamic-symbol=%s (or -Wl,--dynamic-list=FILE "
			   "that names it; -rdynamic exports all)",
			   name);
	}
}

int check_exported(struct check_verdict *v, const struct elf_facts *facts, enum elf_fact_name which,
		   const char *key, const char *title)
{
	const struct elf_fact *fact = &facts->facts[which];
	struct check_finding *f = check_add(v, CHECK_BAD, key, title);

	if (fact->is_dynamic && fact->binding != STB_LOCAL && fact->visibility != STV_HIDDEN &&
	    fact->visibility != STV_INTERNAL) {
		f->state = CHECK_OK;
		check_say(f, "%s is in .dynsym", elf_fact_names[which]);
		return 1;
	}
	if (elf_fact_is_defined(fact)) {
		say_why_not(f, facts, which);
		return 0;
	}
	check_say(f, "%s is not defined here%s", elf_fact_names[which],
		  fact->is_imported ? ", only used" : "");
	check_mend(f, "define it in the same file%s",
		   facts->has_symbols ? ""
				      : " (or it is not exported, and the file is stripped: "
					"check the file from before strip)");
	return 0;
}

/* ---- is it a thread-local pointer? */

void check_pointer(struct check_verdict *v, const struct elf_facts *facts, enum elf_fact_name which)
{
	const struct elf_fact *fact = &facts->facts[which];
	struct check_finding *f = check_add(v, CHECK_BAD, "pointer", "pointer");
	const char *name = elf_fact_names[which];

	if (fact->type != STT_TLS) {
		check_say(f, "%s is not thread-local", name);
		check_mend(f,
			   "declare it __thread (C), thread_local (C++) or #[thread_local] (Rust)");
	} else if (fact->size != 8) {
		check_say(f, "%s has %llu bytes, not the 8 of a pointer", name,
			  (unsigned long long)fact->size);
		check_mend(f, "declare it as a pointer; in assembly: .size %s, 8", name);
	} else if (facts->tls_bytes < 8 || fact->value > facts->tls_bytes - 8) {
		check_say(f, "%s lies outside the file's thread-local memory: the file is damaged",
			  name);
		check_mend(f, "link it again");
	} else if (fact->value % 8) {
		f->state = CHECK_WARNING;
		check_say(f, "%s is not aligned to 8 bytes: a reader may see half a store", name);
		check_mend(f, "declare it as a pointer that is not packed");
	} else {
		f->state = CHECK_OK;
		check_say(f, "thread-local, 8 bytes");
	}
}

/*
 * glibc relocates a static-pie before its thread-local storage exists, and ends the program at a
 * relocation that names a thread-local variable. musl does not.
 */
static int ends_before_main(const struct elf_facts *facts, enum elf_fact_name which)
{
	return facts->kind == ELF_IS_STATIC_PIE && facts->is_of_glibc &&
	       facts->facts[which].named & TLS_BY_OFFSET;
}

void check_program_access(struct check_verdict *v, const struct elf_facts *facts,
			  enum elf_fact_name which)
{
	struct check_finding *f = check_add(v, CHECK_OK, "access", "access");
	const char *name = elf_fact_names[which];

	check_say(f, "at a fixed distance from the thread pointer (%s)",
		  facts->facts[which].named & TLS_BY_OFFSET ? "initial-exec" : "local-exec");
	if (!ends_before_main(facts, which))
		return;
	f->state = CHECK_BAD;
	check_say(f,
		  "by a relocation that names %s, at which glibc ends a static-pie before main()",
		  name);
	check_mend(f,
		   "compile what uses it with -ftls-model=local-exec, or let it use a hidden alias "
		   "of %s; or link without -static-pie",
		   name);
}

const char *check_descriptor_options(const struct elf_facts *facts)
{
	if (facts->machine == EM_AARCH64)
		return "-fPIC -ftls-model=global-dynamic -mtls-dialect=desc (gcc; clang's default)";
	return "-fPIC -ftls-model=global-dynamic -mtls-dialect=gnu2 (gcc; clang from 19 on)";
}

const char check_interposable[] =
	"let the symbol be one that can be interposed: default visibility, global in the version "
	"script, no -Bsymbolic";

void check_unreached(struct check_finding *f, const struct elf_facts *facts, const char *name)
{
	f->state = CHECK_BAD;
	check_say(
		f,
		"nothing in this file reaches %s: there is no relocation by which readers find it",
		name);
	check_mend(f,
		   "let a function of the same file that is not thrown away return &%s, compiled "
		   "with %s",
		   name, check_descriptor_options(facts));
}

/* ---- weft */

static const char *const model_words[] = {
	[TLS_LOCAL_EXEC] = "local-exec",       [TLS_INITIAL_EXEC] = "initial-exec",
	[TLS_DESCRIPTOR] = "TLS descriptor",   [TLS_GENERAL_DYNAMIC] = "general-dynamic",
	[TLS_LOCAL_DYNAMIC] = "local-dynamic",
};

void check_by_weft(struct check_verdict *v, int fd, const struct elf_facts *facts,
		   enum elf_fact_name which)
{
	struct check_finding *f = check_add(v, CHECK_OK, "inspect", "weft inspect");
	struct tls_symbol symbol;
	int err = tls_elf_find(fd, elf_fact_names[which], !elf_facts_is_library(facts), &symbol);

	if (err) {
		f->state = CHECK_BAD;
		check_say(f, "cannot read it either: %s", strerror(-err));
	} else if (symbol.from_symtab) {
		f->state = CHECK_WARNING;
		check_say(f, "reads it nevertheless, by .symtab: until the file is stripped");
	} else {
		check_say(f, "reads it (%s)", model_words[symbol.model]);
	}
}

static void check_weft(struct elf_check *c)
{
	const struct elf_facts *facts = &c->facts;
	struct check_verdict *v = &c->verdicts[CHECK_WEFT];
	struct check_finding *f;

	v->is_published = elf_fact_is_defined(&facts->facts[FACT_WEFT]) || facts->libweft[0];
	if (!v->is_published)
		return;
	f = check_add(v, CHECK_OK, "session", "session");
	check_say(f, "a memfd that weft's readers find by its name, whatever this file's symbols");
	if (facts->libweft[0]) {
		f = check_add(v, CHECK_INFO, "library", "library");
		check_say(f,
			  "%s, which this file needs, publishes OpenTelemetry's context by the "
			  "variable of libweft-otel.so beside it: check that file, too",
			  facts->libweft);
	}
	if (!facts->liblabels[0] && !c->verdicts[CHECK_CUSTOM_LABELS].is_published) {
		f = check_add(v, CHECK_INFO, "labels", "labels");
		check_say(f, "go out as Custom Labels only when libcustomlabels-weft.so is in the "
			     "process from its start");
		check_mend(f, "link with -lcustomlabels-weft, or preload it");
	}
}

/* ---- the verdict */

int check_is_good(const struct check_verdict *v)
{
	for (int i = 0; i < v->count; i++)
		if (v->findings[i].state == CHECK_BAD)
			return 0;
	return 1;
}

int elf_check_passed(const struct elf_check *c)
{
	int is_published = 0;

	for (int i = 0; i < CHECK_ABIS; i++) {
		is_published |= c->verdicts[i].is_published;
		if (!check_is_good(&c->verdicts[i]))
			return 0;
	}
	return is_published;
}

int elf_check(int fd, const char *name, int is_program, struct elf_check *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	err = elf_facts_read(fd, is_program, &out->facts);
	if (err)
		return err;
	snprintf(out->name, sizeof(out->name), "%s", name);
	check_custom_labels(out, fd);
	check_otel(out, fd);
	check_weft(out);
	return 0;
}
