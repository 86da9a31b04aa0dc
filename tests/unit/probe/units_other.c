/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

struct weft_coro *other_runs(void)
{
	return weft_coro_running();
}

void other_resumes(struct weft_coro *coro)
{
	weft_coro_resume(coro, NULL);
}

int other_creates(struct weft_coro *coro)
{
	return weft_coro_create(coro, NULL);
}
