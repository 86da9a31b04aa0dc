/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread-local variables by which a process publishes contexts: which modules define them, and
 * which of these are weft's own. A variable of Custom Labels counts only where its module has the
 * ABI's version, too.
 */
#ifndef WEFT_READER_VARIABLES_H
#define WEFT_READER_VARIABLES_H

#include "reader/tls/tls.h"

#define VARIABLE_PLACES 3 /* modules that define one variable */

/* A thread-local variable, and who defines it. */
struct published_variable {
	struct tls_place place[VARIABLE_PLACES];
	uint8_t is_own[VARIABLE_PLACES]; /* that module is weft's */
	int count;
	int own;              /* of these, modules of weft's */
	int error;            /* why there may be one that was not found: 0 or -errno */
	uint32_t refused;     /* modules left out: their custom_labels_abi_version is not 1 */
	uint32_t abi_version; /* of the last of these; 0 = they export none */
};

/*
 * variables_find() - all, in the mappings as @t has them. *modules: a digest of the mappings in
 * which they were looked for last, 0 at first: while it is the same, and nothing was missed then,
 * nothing is done.
 */
void variables_find(struct target *t, struct published_variable *otel_thread,
		    struct published_variable *nodejs, struct published_variable *labels,
		    uint64_t *modules);

/*
 * variable_addresses() - where the thread with this thread pointer has the variable: at[k] by
 * v->place[k]. 0: nowhere yet; or where another has it already, for the symbol of the first module
 * serves all that define it, and then it is weft's own if one of them is. 0; or -errno, where one
 * is not to be had: the others are right all the same.
 */
int variable_addresses(const struct target *t, const struct published_variable *v, uint64_t pointer,
		       uint64_t at[VARIABLE_PLACES]);

/* The first place that is no module's of weft's; NULL: there is none, or each is one of weft's,
 * too, as the symbol of the first module serves all. */
const struct tls_place *variable_of_others(const struct published_variable *v);

#endif
