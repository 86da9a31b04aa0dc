/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/anchor.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "proc/proc_text.h"

#include <fcntl.h>
#include <string.h>

#define LEAST_NS UINT64_C(20000000)  /* measured over no less */
#define STEP_NS UINT64_C(500000000)  /* from far to near */
#define HOLDS_NS UINT64_C(250000000) /* of an anchor; updates come every 50 ms or sooner */
#define LOOK_NS UINT64_C(1000000000) /* at the clocksource */

static uint64_t tsc_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0; /* never asked: without a TSC no clocksource is named so */
#endif
}

static int kernel_uses_tsc(void)
{
	char name[16];

	proc_read(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  name, sizeof(name));
	return strcmp(name, "tsc\n") == 0;
}

/* Both clocks at one moment: of a few tries the shortest. */
static struct anchor_pair both(void)
{
	struct anchor_pair best = {0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = tsc_now(), ns = clock_mono_ns();
		uint64_t after = tsc_now();

		if (after - before >= shortest)
			continue;
		shortest = after - before;
		best = (struct anchor_pair){before + shortest / 2, ns};
	}
	return best;
}

static void anchor_publish(const struct anchor *a, const struct anchor_pair *base, uint64_t mult,
			   uint64_t valid_ticks)
{
	struct weft_ctp_anchor *s = a->shared;
	uint32_t seq = load_relaxed(&s->seq) | 1;

	store_relaxed(&s->seq, seq);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_relaxed(&s->base_tsc, base->tsc);
	store_relaxed(&s->base_ns, base->ns);
	store_relaxed(&s->mult, mult);
	store_relaxed(&s->valid_ticks, valid_ticks);
	store_release(&s->seq, seq + 1);
}

int anchor_open(struct anchor *a, struct weft_ctp_anchor *shared)
{
	memset(a, 0, sizeof(*a));
	if (!kernel_uses_tsc())
		return 0;
	a->shared = shared;
	a->far = a->near = both();
	a->looked_ns = a->far.ns;
	anchor_stop(a);
	a->shared = shared;
	return 1;
}

void anchor_update(struct anchor *a)
{
	struct anchor_pair now;
	uint64_t mult;

	if (!a->shared)
		return;
	now = both();
	if (now.ns - a->looked_ns >= LOOK_NS && !kernel_uses_tsc()) {
		anchor_stop(a);
		return;
	}
	if (now.ns - a->looked_ns >= LOOK_NS)
		a->looked_ns = now.ns;
	if (now.ns - a->far.ns < LEAST_NS || now.tsc <= a->far.tsc)
		return;
	mult = (uint64_t)(((unsigned __int128)(now.ns - a->far.ns) << 32) / (now.tsc - a->far.tsc));
	anchor_publish(a, &now, mult,
		       (uint64_t)(((unsigned __int128)HOLDS_NS << 32) / (mult ? mult : 1)));
	if (now.ns - a->near.ns >= STEP_NS) {
		a->far = a->near;
		a->near = now;
	}
}

void anchor_stop(struct anchor *a)
{
	struct anchor_pair none = {0};

	if (a->shared)
		anchor_publish(a, &none, 0, 0);
	a->shared = NULL;
}
