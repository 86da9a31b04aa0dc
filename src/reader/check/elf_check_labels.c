/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custom Labels v1: both symbols in .dynsym of the main program, or of a library that is loaded
 * at start, is called libcustomlabels*.so (or customlabels.node) and reaches its pointer by a TLS
 * descriptor with a name. Their reader takes a library of another name for the main program,
 * and then reads at a wrong place.
 */
#include "reader/check/elf_check.h"

#include <elf.h>
#include <string.h>

#define PREFIX "libcustomlabels"
#define NODE "customlabels.node"

static int ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

static void check_version(struct check_verdict *v, const struct elf_facts *facts)
{
	const struct elf_fact *fact = &facts->facts[FACT_LABELS_VERSION];
	struct check_finding *f = check_add(v, CHECK_BAD, "version", "version");

	check_mend(f, "const uint32_t custom_labels_abi_version = 1;");
	if (fact->type != STT_OBJECT)
		check_say(f, "custom_labels_abi_version is no variable (its type is not OBJECT)");
	else if (fact->size != 4)
		check_say(f, "custom_labels_abi_version has %llu bytes, not 4",
			  (unsigned long long)fact->size);
	else if (facts->version < 0)
		check_say(f, "the value of custom_labels_abi_version is not in the file");
	else if (facts->version != 1)
		check_say(f, "custom_labels_abi_version is %d: readers know version 1",
			  facts->version);
	else {
		f->state = CHECK_OK;
		f->mend[0] = '\0';
		check_say(f, "1, in 4 bytes");
	}
}

static void check_name(struct elf_check *c, struct check_verdict *v)
{
	struct check_finding *f = check_add(v, CHECK_OK, "name", "file name");

	check_say(f, "%s: readers look into libraries of such names", c->name);
	if ((strncmp(c->name, PREFIX, strlen(PREFIX)) == 0 && ends_with(c->name, ".so")) ||
	    strcmp(c->name, NODE) == 0)
		return;
	f->state = CHECK_WARNING;
	check_say(f, "%s: not all readers look into a library of this name", c->name);
	check_mend(f, "call the file " PREFIX "-NAME.so (with nothing behind .so; what links to "
		      "it may have any name)");
	if ((strncmp(c->name, PREFIX, strlen(PREFIX)) == 0 && strstr(c->name, ".so")) ||
	    (strstr(c->name, PREFIX) && ends_with(c->name, ".so")) || ends_with(c->name, NODE))
		return;
	f->state = CHECK_BAD;
	check_say(f,
		  "%s: readers take a library for the main program unless it is called " PREFIX
		  "*.so or " NODE ", and read at a wrong place",
		  c->name);
}

static void check_labels_access(struct check_verdict *v, const struct elf_facts *facts)
{
	const struct elf_fact *fact = &facts->facts[FACT_LABELS_SET];
	struct check_finding *f = check_add(v, CHECK_BAD, "access", "access");
	const char *name = elf_fact_names[FACT_LABELS_SET];

	check_mend(f, "compile what uses it with %s", check_descriptor_options(facts));
	if (fact->named & TLS_BY_DESCRIPTOR) {
		f->state = CHECK_OK;
		f->mend[0] = '\0';
		check_say(f, "by a TLS descriptor that names it");
	} else if (fact->nameless & TLS_BY_DESCRIPTOR) {
		check_say(f, "the TLS descriptor does not name %s: readers look for the name",
			  name);
		check_mend(f, "%s", check_interposable);
	} else if (fact->named & TLS_BY_MODULE) {
		check_say(f, "by __tls_get_addr (general-dynamic): readers want a TLS descriptor");
	} else if (fact->named & TLS_BY_OFFSET) {
		check_say(f, "by an offset (initial-exec): readers want a TLS descriptor");
	} else if (fact->nameless) {
		check_say(f, "by a relocation that does not name %s", name);
	} else {
		check_unreached(f, facts, name);
	}
}

/* What the one reader in production takes of a set, a key and a value; the rest is cut off. */
static void check_limits(struct check_verdict *v)
{
	struct check_finding *f = check_add(v, CHECK_INFO, "limits", "limits");

	check_say(
		f,
		"Parca's agent reads the first 10 places of a set (empty ones count), 25 bytes of "
		"a key and 53 of a value, up to a NUL; what is behind is cut off");
	check_mend(f, "keep labels that it is to show short, and first; weft reads all");
}

static void check_loading(struct check_verdict *v)
{
	struct check_finding *f = check_add(v, CHECK_INFO, "loading", "loading");

	check_say(f,
		  "readable in processes that load it at their start, not where dlopen loads it");
	check_mend(f, "link the program with it (-Wl,--no-as-needed before it), or LD_PRELOAD");
}

void check_custom_labels(struct elf_check *c, int fd)
{
	const struct elf_facts *facts = &c->facts;
	struct check_verdict *v = &c->verdicts[CHECK_CUSTOM_LABELS];
	int has_version, has_set;

	v->is_published = elf_fact_is_defined(&facts->facts[FACT_LABELS_VERSION]) ||
			  elf_fact_is_defined(&facts->facts[FACT_LABELS_SET]);
	if (!v->is_published)
		return;
	has_version = check_exported(v, facts, FACT_LABELS_VERSION, "version-symbol", "symbol");
	has_set = check_exported(v, facts, FACT_LABELS_SET, "set-symbol", "symbol");
	if (has_version)
		check_version(v, facts);
	if (elf_fact_is_defined(&facts->facts[FACT_LABELS_SET]))
		check_pointer(v, facts, FACT_LABELS_SET);
	if (elf_facts_is_library(facts)) {
		check_name(c, v);
		if (has_set)
			check_labels_access(v, facts);
		check_loading(v);
	} else if (has_set) {
		check_program_access(v, facts, FACT_LABELS_SET);
	}
	if (has_set)
		check_limits(v);
	if (elf_fact_is_defined(&facts->facts[FACT_LABELS_SET]))
		check_by_weft(v, fd, facts, FACT_LABELS_SET);
}
