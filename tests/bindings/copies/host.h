/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two copies of the runtime in one process: a host that has libweft.a inside (host.cpp, host.rs),
 * and a plugin that is linked with libweft.so (plugin.cpp). Each asks the other what it sees.
 */
#ifndef COPIES_HOST_H
#define COPIES_HOST_H

#include <cstdint>

extern "C" {
/* Where the plugin's own copy is: not where the host's is. */
const void *plugin_copy();
/* Does the plugin's copy see these ids and this label (NULL: that there is none)? */
int plugin_sees(std::uint64_t span, std::uint64_t root, const char *key, const char *value);
/* Calls @f under a span (77, 7) and a label plugin=inside of the plugin's. */
void plugin_within(void (*f)());
/* Sets plugin=@value, or removes it (NULL), by the plugin's copy. */
void plugin_label(const char *value);
}

#endif
