/* SPDX-License-Identifier: Apache-2.0 */
/* The variables by which contexts are published: see variables.h. */
#include "reader/context/variables.h"

#include "reader/tls/modules.h"

#include <errno.h>
#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_nodejs_context.h>
#include <weft/abi/otel_thread_context.h>

#define OTEL_VARIABLE WEFT_OTEL_THREAD_SYMBOL
#define NODEJS_VARIABLE WEFT_NODEJS_SYMBOL
#define LABELS_VARIABLE "custom_labels_current_set"
#define LABELS_VERSION "custom_labels_abi_version"

static void find_variable(struct target *t, const char *name, struct published_variable *v)
{
	int count = tls_place_find(t, name, v->place, VARIABLE_PLACES);

	v->count = count > 0 ? count : 0;
	v->error = count < 0 ? count : 0;
	v->refused = 0;
}

/* Keeps modules that have the ABI's version, too: another one's pointer is something else. */
static void check_versions(struct target *t, struct published_variable *v)
{
	int kept = 0;

	for (int k = 0; k < v->count; k++) {
		uint32_t version = 0;

		if (module_u32(t, v->place[k].path, LABELS_VERSION, &version) == 0 &&
		    version == WEFT_CUSTOM_LABELS_VERSION) {
			v->place[kept++] = v->place[k];
			continue;
		}
		v->refused++;
		v->abi_version = version;
	}
	v->count = kept;
}

/* Weft's own modules define the variable even when the format is off. */
static void note_own(struct target *t, struct published_variable *v)
{
	v->own = 0;
	for (int k = 0; k < v->count; k++) {
		const char *path = v->place[k].path;
		uint32_t word;

		v->is_own[k] = module_u32(t, path, "weft_runtime_v1", &word) == -ENOEXEC ||
			       module_u32(t, path, "weft_otel_variable_v1", &word) == -ENOEXEC ||
			       module_u32(t, path, "weft_custom_labels_v1", &word) == -ENOEXEC;
		v->own += v->is_own[k];
	}
}

void variables_find(struct target *t, struct published_variable *otel_thread,
		    struct published_variable *nodejs, struct published_variable *labels,
		    uint64_t *modules)
{
	uint64_t digest = modules_digest(t);

	if (digest == *modules && !otel_thread->error && !nodejs->error && !labels->error)
		return;
	find_variable(t, OTEL_VARIABLE, otel_thread);
	find_variable(t, NODEJS_VARIABLE, nodejs);
	find_variable(t, LABELS_VARIABLE, labels);
	check_versions(t, labels);
	note_own(t, otel_thread);
	note_own(t, labels);
	*modules = digest;
}

/* Of two places that are the same one, which counts? */
static int variable_comes_first(const struct published_variable *v, int one, int other)
{
	return v->is_own[one] != v->is_own[other] ? v->is_own[one] : one < other;
}

int variable_addresses(const struct target *t, const struct published_variable *v, uint64_t pointer,
		       uint64_t at[VARIABLE_PLACES])
{
	int rc = 0;

	for (int k = 0; k < v->count; k++) {
		int one = tls_address(t, &v->place[k], pointer, &at[k]);

		if (one)
			at[k] = 0;
		if (!rc && one != -ENODATA && one != -EFAULT)
			rc = one;
	}
	for (int k = 0; k < v->count; k++)
		for (int n = 0; n < v->count; n++)
			if (n != k && at[n] == at[k] && variable_comes_first(v, n, k))
				at[k] = 0;
	return rc;
}

static int variable_is_same(const struct tls_place *a, const struct tls_place *b)
{
	return a->is_dynamic == b->is_dynamic && a->offset == b->offset &&
	       (!a->is_dynamic || a->module == b->module);
}

const struct tls_place *variable_of_others(const struct published_variable *v)
{
	for (int k = 0; k < v->count; k++) {
		int is_own = v->is_own[k];

		for (int n = 0; n < v->count && !is_own; n++)
			is_own = v->is_own[n] && variable_is_same(&v->place[n], &v->place[k]);
		if (!is_own)
			return &v->place[k];
	}
	return NULL;
}
