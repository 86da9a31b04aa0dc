/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe of weft/coro.h as functions, for src/coro.rs. Built by build.rs; hidden, so that two
 * crates in one process do not meet.
 */
#include <stdint.h>

#include <weft/coro.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* sys::CORO_WORDS */
_Static_assert(sizeof(struct weft_coro) <= 64 * sizeof(uint64_t), "room for a coroutine");
_Static_assert(_Alignof(struct weft_coro) <= _Alignof(uint64_t), "alignment of a coroutine");

HIDDEN int weft_rs_coro_create(struct weft_coro *coro, uint64_t id, const void *site,
			       uint32_t flags, const void *carry);
HIDDEN void weft_rs_coro_resume(struct weft_coro *coro, const void *addr);
HIDDEN void weft_rs_coro_suspend(struct weft_coro *coro, const void *addr);
HIDDEN void weft_rs_coro_wake(struct weft_coro *coro);
HIDDEN void weft_rs_coro_destroy(struct weft_coro *coro);
HIDDEN size_t weft_rs_coro_payload(const void *bytes, size_t count);
HIDDEN int weft_rs_coro_is_running(void);
HIDDEN const void *weft_rs_here(void);

/* @carry: libweft's side, or NULL. Named by the caller, because the probe's own reference is a weak
 * one, for which no linker takes anything out of libweft.a. */
int weft_rs_coro_create(struct weft_coro *coro, uint64_t id, const void *site, uint32_t flags,
			const void *carry)
{
	(void)carry;
	struct weft_coro_options options = {
		.size = sizeof(options),
		.id = id,
		.site = site,
		.language = WEFT_CTP_RUST,
		.flags = flags,
	};

	return weft_coro_create(coro, &options);
}

void weft_rs_coro_resume(struct weft_coro *coro, const void *addr)
{
	weft_coro_resume(coro, addr);
}

void weft_rs_coro_suspend(struct weft_coro *coro, const void *addr)
{
	weft_coro_suspend(coro, addr);
}

void weft_rs_coro_wake(struct weft_coro *coro)
{
	weft_coro_wake(coro);
}

void weft_rs_coro_destroy(struct weft_coro *coro)
{
	weft_coro_destroy(coro);
}

size_t weft_rs_coro_payload(const void *bytes, size_t count)
{
	struct weft_coro *coro = weft_coro_running();

	return coro ? weft_coro_payload(coro, bytes, count) : 0;
}

int weft_rs_coro_is_running(void)
{
	return weft_coro_running() != NULL;
}

/* Where it is called: a code address is what tools can name. */
const void *weft_rs_here(void)
{
	return __builtin_extract_return_addr(__builtin_return_address(0));
}
