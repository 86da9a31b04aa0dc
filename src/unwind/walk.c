/* SPDX-License-Identifier: Apache-2.0 */
/* The one walker for any machine and any finder: see walk_body.h. */
#include "unwind/walk_body.h"

int unwind_step(struct unwind_registers *regs, const struct unwind_rule *rule,
		const struct unwind_memory *memory, int machine)
{
	/* Two copies, each compiled with its machine's constants. */
	if (machine == UNWIND_X86_64)
		return step_any(regs, rule, memory, UNWIND_X86_64);
	return step_any(regs, rule, memory, UNWIND_AARCH64);
}

struct finder {
	unwind_find find;
	void *arg;
};

INLINE int find_rule(void *arg, uint64_t pc, const struct unwind_rule **rule)
{
	const struct finder *finder = arg;
	struct unwind_module module = {.table = NULL};

	*rule = NULL;
	if (finder->find(finder->arg, pc, &module) != 0)
		return 0;
	if (module.rule)
		*rule = module.rule;
	else if (module.table)
		*rule = unwind_table_find(module.table, pc - module.bias);
	return 1;
}

size_t unwind_walk(struct unwind_registers *regs, const struct unwind_memory *memory,
		   unwind_find find, void *arg, int machine, uint64_t *frames, size_t max,
		   enum unwind_end *end)
{
	static const struct unwind_walker walker = {.find = find_rule};
	struct finder finder = {.find = find, .arg = arg};

	if (machine == UNWIND_X86_64)
		return walk_stack(regs, memory, &walker, &finder, UNWIND_X86_64, frames, max, end);
	return walk_stack(regs, memory, &walker, &finder, UNWIND_AARCH64, frames, max, end);
}
