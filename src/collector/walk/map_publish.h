/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a target's handlers walk by: its mappings as the collector knows them, with their
 * unwind tables, published as a module map snapshot. Used by the walker thread.
 */
#ifndef WEFT_COLLECTOR_MAP_PUBLISH_H
#define WEFT_COLLECTOR_MAP_PUBLISH_H

#include "collector/process/process.h"
#include "collector/walk/modules.h"

/*
 * map_publish() - if mappings or epoch changed since the newest snapshot: one at once, with the
 * tables that are there already, and another when the rest is built.
 */
void map_publish(struct modules *modules, const struct tables *tables, struct process *p);

#endif
