/* SPDX-License-Identifier: Apache-2.0 */
/* sigaltstack: is there room for our signals? See altstack.c. */
#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"
#include "runtime/signals/altstack.h"

WEFT_API int sigaltstack(const stack_t *stack, stack_t *old)
{
	if (stack && weft_hook_is_on(WEFT_HOOK_SIGNALS))
		weft_altstack_note(stack);
	return weft_real(sigaltstack)(stack, old);
}
