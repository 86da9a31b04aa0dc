/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix's program (turns.h) with polarsignals' C library: one set for each thread, whose
 * labels change. The span is a label, too, by the key that readers of Custom Labels know.
 */
#include "../turns.h"

#include <string.h>

#include <customlabels.h>

static custom_labels_string_t string(const char *text)
{
	custom_labels_string_t s = {strlen(text), (const unsigned char *)text};

	return s;
}

static void publish(int request)
{
	static __thread custom_labels_labelset_t *set;
	char span[24];

	if (!set) {
		set = custom_labels_new(2);
		if (!set)
			exit(4);
		custom_labels_replace(set);
	}
	if (request == TURNS_NOBODY) {
		custom_labels_delete(set, string("tenant"));
		custom_labels_delete(set, string("span-id"));
		return;
	}
	snprintf(span, sizeof(span), "%" PRIu64, turns_span[request]);
	custom_labels_set(set, string("span-id"), string(span), NULL);
	custom_labels_set(set, string("tenant"), string(turns_tenant[request]), NULL);
}

int main(int argc, char **argv)
{
	return turns_run(argc, argv, publish);
}
