/* SPDX-License-Identifier: Apache-2.0 */
/* The probe is a header: here is code of it, for barriers.sh to look at. */
#include <weft/coro.h>

int a_life(struct weft_coro *coro, const void *at);
int a_life(struct weft_coro *coro, const void *at)
{
	int traced = weft_coro_create(coro, NULL);

	weft_coro_resume(coro, at);
	weft_coro_suspend(coro, at);
	weft_coro_wake(coro);
	weft_coro_destroy(coro);
	return traced;
}
