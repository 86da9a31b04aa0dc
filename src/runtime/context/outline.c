/* SPDX-License-Identifier: Apache-2.0 */
/* Inline functions of weft/context.h out of line, for languages that cannot compile them. */
#include <weft/context.h>

WEFT_API struct weft_ids weft_context_get_all(void)
{
	return weft_context_get();
}

WEFT_API uint32_t weft_tag_set_all(unsigned int n, uint32_t id)
{
	return weft_tag_set(n, id);
}
