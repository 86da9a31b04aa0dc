/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <weft/weft.hpp>

const void *plugin_copy()
{
	return &weft_fork_guard;
}

int plugin_sees(std::uint64_t span, std::uint64_t root, const char *key, const char *value)
{
	const weft::ids ids = weft::current();
	const auto label = weft::get_label(key);

	return ids.span_id == span && ids.root_span_id == root &&
	       (value ? label && label->view() == value : !label);
}

void plugin_within(void (*f)())
{
	const weft::span span(77, 7);
	const weft::label label("plugin", "inside");

	f();
}

void plugin_label(const char *value)
{
	if (value)
		weft::set_label("plugin", value);
	else
		weft::remove_label("plugin");
}
