/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's thread context: a pointer otel_thread_ctx_v1 in .dynsym of any program or
 * library, reached by descriptor, general-dynamic, initial-exec or local-exec, not by
 * local-dynamic.
 */
#include "reader/check/elf_check.h"

static void check_otel_access(struct check_verdict *v, const struct elf_facts *facts)
{
	const struct elf_fact *fact = &facts->facts[FACT_OTEL];
	struct check_finding *f = check_add(v, CHECK_OK, "access", "access");
	const char *name = elf_fact_names[FACT_OTEL];

	if (fact->named & TLS_BY_DESCRIPTOR) {
		check_say(f, "by a TLS descriptor that names it");
	} else if (fact->named & TLS_BY_MODULE) {
		check_say(f, "by __tls_get_addr (general-dynamic), which readers support");
		check_mend(f, "some know TLS descriptors alone: %s",
			   check_descriptor_options(facts));
	} else if (fact->named & TLS_BY_OFFSET) {
		f->state = CHECK_WARNING;
		check_say(f, "by an offset (initial-exec): readable, but dlopen may refuse the "
			     "library when the room for static TLS is used up");
		check_mend(f, "%s", check_descriptor_options(facts));
	} else if (fact->nameless & (TLS_BY_DESCRIPTOR | TLS_BY_OFFSET)) {
		f->state = CHECK_WARNING;
		check_say(f,
			  "by a relocation that does not name %s: readers that look for the name "
			  "miss it",
			  name);
		check_mend(f, "%s", check_interposable);
	} else if (fact->nameless & TLS_BY_MODULE) {
		f->state = CHECK_BAD;
		check_say(f, "by a relocation of the module alone (local-dynamic), which readers "
			     "need not support");
		check_mend(f, "%s; %s", check_interposable, check_descriptor_options(facts));
	} else {
		check_unreached(f, facts, name);
	}
}

void check_otel(struct elf_check *c, int fd)
{
	const struct elf_facts *facts = &c->facts;
	struct check_verdict *v = &c->verdicts[CHECK_OTEL];
	int has_symbol;

	v->is_published = elf_fact_is_defined(&facts->facts[FACT_OTEL]);
	if (!v->is_published)
		return;
	has_symbol = check_exported(v, facts, FACT_OTEL, "symbol", "symbol");
	check_pointer(v, facts, FACT_OTEL);
	if (has_symbol && elf_facts_is_library(facts))
		check_otel_access(v, facts);
	else if (has_symbol)
		check_program_access(v, facts, FACT_OTEL);
	check_by_weft(v, fd, facts, FACT_OTEL);
}
