/* SPDX-License-Identifier: Apache-2.0 */
/* Who used how much of the processors' time: see system_load.h. */
#include "collector/write/system_load.h"

#include "collector/write/process_work.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

void system_load_begin(struct system_load *l, const char *root, uint32_t processors,
		       uint64_t now_ns)
{
	*l = (struct system_load){.seen_ns = now_ns, .processors = processors};
	if (system_read_time(root, &l->seen))
		l->seen = (struct machine_time){0};
}

void system_load_join(struct process *p, const struct process *all)
{
	const struct process *before = NULL;

	for (const struct process *q = all; q; q = q->work->next)
		if (q != p && q->pid == p->pid && q->start_ticks == p->start_ticks)
			before = q;
	if (before)
		p->work->load = before->work->load;
	else if (p->proc_fd < 0 || system_read_process_time(p->proc_fd, &p->work->load.seen))
		p->work->load.seen = (struct process_time){0};
}

/* What is new in @now, without what is owed. A /proc that goes backwards counts for nothing. */
static uint64_t advance(uint64_t now, uint64_t *seen, uint64_t *owed)
{
	uint64_t fresh = now > *seen ? now - *seen : 0;
	uint64_t paid = *owed < fresh ? *owed : fresh;

	*seen = now;
	*owed -= paid;
	return fresh - paid;
}

/* What was counted of a recorded child will appear again in its parent's times, once. */
static void system_load_owe(struct process_load *parent, struct process_load *child)
{
	if (!child->is_owed) {
		parent->owed_user += child->user;
		parent->owed_system += child->system;
	}
	child->is_owed = 1;
}

/* For children of @p that it has waited for already, while their end is still on its way to us. To
 * be called after @p's times were read: who can still be read then was not in them. */
static void owe_children_that_are_gone(struct process *p, struct process *all)
{
	struct process_time unused;

	for (struct process *q = all; q; q = q->work->next)
		if (q != p && q->parent == p->pid && !q->work->end && q->proc_fd >= 0 &&
		    system_read_process_time(q->proc_fd, &unused))
			system_load_owe(&p->work->load, &q->work->load);
}

int system_load_look(struct system_load *l, struct process *p, struct process *all)
{
	struct process_load *load = &p->work->load;
	uint64_t nothing = 0, user, system;
	struct process_time now;

	if (p->proc_fd < 0 || system_read_process_time(p->proc_fd, &now))
		return -ESRCH;
	owe_children_that_are_gone(p, all);
	user = advance(now.user, &load->seen.user, &nothing) +
	       advance(now.waited_user, &load->seen.waited_user, &load->owed_user);
	system = advance(now.system, &load->seen.system, &nothing) +
		 advance(now.waited_system, &load->seen.waited_system, &load->owed_system);
	load->user += user;
	load->system += system;
	l->user += user;
	l->system += system;
	return 0;
}

void system_load_last(struct system_load *l, struct process *p, uint64_t used_ns)
{
	uint64_t used = used_ns / (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
	uint64_t seen = p->work->load.seen.user + p->work->load.seen.system;

	if (used <= seen)
		return;
	p->work->load.seen.user += used - seen;
	p->work->load.user += used - seen;
	l->user += used - seen;
}

void system_load_leave(struct process *p, struct process *all)
{
	for (struct process *q = all; q; q = q->work->next) {
		if (q != p && q->pid == p->parent && !q->work->end) {
			system_load_owe(&q->work->load, &p->work->load);
			return;
		}
	}
}

static double system_load_share_of(uint64_t part, double all)
{
	return fmin((double)part / all, 1);
}

int system_load_share(struct system_load *l, const char *root, uint64_t now_ns,
		      struct system_share *out)
{
	double passed =
		(double)(now_ns - l->seen_ns) / 1e9 * (double)sysconf(_SC_CLK_TCK) * l->processors;
	struct machine_time now = l->seen;
	double all;

	if (now_ns <= l->seen_ns)
		return -ENODATA;
	if (system_read_time(root, &now) || now.all < l->seen.all || now.busy < l->seen.busy)
		now = l->seen;
	/* when less than a tick has passed, or /proc does not tell: by the clock */
	all = now.all > l->seen.all ? (double)(now.all - l->seen.all) : passed;
	*out = (struct system_share){
		.user = system_load_share_of(l->user, all),
		.system = system_load_share_of(l->system, all),
		.machine = system_load_share_of(now.busy - l->seen.busy, all),
	};
	if (out->user + out->system > 1)
		out->system = 1 - out->user;
	if (out->machine < out->user + out->system)
		out->machine = out->user + out->system;
	*l = (struct system_load){.seen = now, .seen_ns = now_ns, .processors = l->processors};
	return 0;
}
