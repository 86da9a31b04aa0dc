// SPDX-License-Identifier: Apache-2.0
#include "units.h"

struct weft_coro *cpp_runs(void)
{
	return weft_coro_running();
}

void cpp_suspends(struct weft_coro *coro)
{
	weft_coro_suspend(coro, nullptr);
}
