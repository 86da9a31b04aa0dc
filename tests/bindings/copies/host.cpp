/* SPDX-License-Identifier: Apache-2.0 */
/* usage: host PLUGIN; TAP */
#include "host.h"

#include <dlfcn.h>
#include <weft/weft.hpp>

#include <cstdio>
#include <thread>

static decltype(&plugin_copy) copy;
static decltype(&plugin_sees) sees;
static decltype(&plugin_within) within;
static decltype(&plugin_label) set_plugin_label;
static int cases, failures;

static void is(bool holds, const char *what)
{
	std::printf("%s %d - %s\n", holds ? "ok" : "not ok", ++cases, what);
	failures += !holds;
}

static bool label_is(const char *key, const char *value)
{
	const auto label = weft::get_label(key);

	return value ? label && label->view() == value : !label;
}

static void inside()
{
	is(weft::current().span_id == 77 && label_is("plugin", "inside"),
	   "the host sees the plugin's span and label");
	const weft::span span(78, 7);
	const weft::label label("plugin", "host's");
	is(sees(78, 7, "plugin", "host's"), "and the plugin what the host makes of them");
}

static void both_ways()
{
	const weft::span span(1, 2);
	const weft::label label("host", "outside");

	is(sees(1, 2, "host", "outside"), "the plugin sees the host's span and label");
	within(inside);
	is(weft::current().span_id == 1 && label_is("plugin", nullptr) &&
		   label_is("host", "outside"),
	   "all is as it was, for the host");
	is(sees(1, 2, "plugin", nullptr) && sees(1, 2, "host", "outside"), "and for the plugin");
	set_plugin_label("kept");
	{
		const weft::span inner(
			weft::update(weft::context(5, 6)).set("host", "as one").remove("plugin"));
		is(sees(5, 6, "host", "as one") && sees(5, 6, "plugin", nullptr),
		   "an update is seen whole");
	}
	is(sees(1, 2, "host", "outside") && sees(1, 2, "plugin", "kept") &&
		   label_is("plugin", "kept"),
	   "and put back whole");
	set_plugin_label(nullptr);
	is(label_is("plugin", nullptr), "removed by the other copy");
}

template <typename F> static void find(void *plugin, F &function, const char *name)
{
	function = reinterpret_cast<F>(::dlsym(plugin, name));
}

int main(int argc, char **argv)
{
	weft::span before(9, 9);
	weft::label early("early", "yes");
	void *plugin = argc == 2 ? ::dlopen(argv[1], RTLD_NOW) : nullptr;

	if (!plugin) {
		std::printf("Bail out! %s\n", ::dlerror());
		return 1;
	}
	find(plugin, copy, "plugin_copy");
	find(plugin, sees, "plugin_sees");
	find(plugin, within, "plugin_within");
	find(plugin, set_plugin_label, "plugin_label");
	is(copy() != static_cast<const void *>(&weft_fork_guard), "there are two copies");
	is(sees(9, 9, "early", "yes"), "what was set before the plugin came is seen by it");
	early.leave();
	before.leave();
	both_ways();
	std::thread(both_ways).join();
	is(sees(0, 0, "host", nullptr) && sees(0, 0, "early", nullptr), "nothing is left");
	std::printf("1..%d\n", cases);
	return failures != 0;
}
