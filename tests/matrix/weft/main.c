/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix's program (turns.h) with weft's own context and labels. */
#include <weft/context.h>
#include <weft/labels.h>

#include <string.h>

#include "../turns.h"

static void publish(int request)
{
	struct weft_context context = {.span_id = 0};
	struct weft_label tenant = {.key = "tenant", .key_bytes = 6};

	if (request != TURNS_NOBODY) {
		context.span_id = turns_span[request];
		context.root_span_id = turns_span[request];
		tenant.value = turns_tenant[request];
		tenant.value_bytes = strlen(tenant.value);
	}
	weft_context_update(&context, &tenant, 1, 0);
}

int main(int argc, char **argv)
{
	return turns_run(argc, argv, publish);
}
