/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/anchor.h"

#include "base/atomic.h"

#include <string.h>

#define LEAST_NS UINT64_C(20000000)  /* measured over no less */
#define STEP_NS UINT64_C(500000000)  /* from far to near */
#define HOLDS_NS UINT64_C(250000000) /* of an anchor; updates come every 50 ms or sooner */
#define LOOK_NS UINT64_C(1000000000) /* at the clocksource */

static void anchor_publish(const struct anchor *a, const struct tsc_anchor *base, uint64_t mult,
			   uint64_t valid_ticks)
{
	struct weft_ctp_anchor *s = a->shared;
	uint32_t seq = load_relaxed(&s->seq) | 1;

	store_relaxed(&s->seq, seq);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_relaxed(&s->base_tsc, base->tsc);
	store_relaxed(&s->base_ns, base->mono_ns);
	store_relaxed(&s->mult, mult);
	store_relaxed(&s->valid_ticks, valid_ticks);
	store_release(&s->seq, seq + 1);
}

int anchor_open(struct anchor *a, struct weft_ctp_anchor *shared)
{
	memset(a, 0, sizeof(*a));
	if (!tsc_is_the_clock() || tsc_anchor_take(&a->far))
		return 0;
	a->shared = shared;
	a->near = a->far;
	a->looked_ns = a->far.mono_ns;
	anchor_stop(a);
	a->shared = shared;
	return 1;
}

void anchor_update(struct anchor *a)
{
	struct tsc_anchor now;
	uint64_t mult;

	if (!a->shared || tsc_anchor_take(&now))
		return;
	if (now.mono_ns - a->looked_ns >= LOOK_NS && !tsc_is_the_clock()) {
		anchor_stop(a);
		return;
	}
	if (now.mono_ns - a->looked_ns >= LOOK_NS)
		a->looked_ns = now.mono_ns;
	if (now.mono_ns - a->far.mono_ns < LEAST_NS || now.tsc <= a->far.tsc)
		return;
	mult = (uint64_t)(((unsigned __int128)(now.mono_ns - a->far.mono_ns) << 32) /
			  (now.tsc - a->far.tsc));
	anchor_publish(a, &now, mult,
		       (uint64_t)(((unsigned __int128)HOLDS_NS << 32) / (mult ? mult : 1)));
	if (now.mono_ns - a->near.mono_ns >= STEP_NS) {
		a->far = a->near;
		a->near = now;
	}
}

void anchor_stop(struct anchor *a)
{
	struct tsc_anchor none = {0};

	if (a->shared)
		anchor_publish(a, &none, 0, 0);
	a->shared = NULL;
}
