/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of field that bindings/cpp/weft_event.hpp knows, and every way out of an event. */
#include <weft/weft_event.hpp>

#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>

#include <unistd.h>

static weft::event_type<bool, std::int8_t, char16_t, std::int16_t, std::int32_t, std::int64_t,
			std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, float, double>
	numbers("cpp.Numbers",
		weft::event_options().label("Numbers").category("C++|Kinds").instant(), {"bool_"},
		{"int8"}, {"char16"}, {"int16"}, {"int32"}, {"int64"}, {"uint8"}, {"uint16"},
		{"uint32"}, {"uint64"}, {"float_"}, {"double_"});
static weft::event_type<std::string_view, const char *, weft::pooled, weft::thread_id,
			weft::span_id>
	texts("cpp.Texts", weft::event_options().description("Not numbers"), {"view"}, {"c_string"},
	      {"pooled", 0, "Pooled"}, {"thread"}, {"span"});
static weft::event_type<std::int32_t> way_out("cpp.WayOut", weft::event_options().stack(), {"n"});
static weft::event_type<> nothing("cpp.Nothing", weft::event_options().instant());
static weft::event_type<std::int32_t> never("cpp.Never", weft::event_options().off(), {"n"});
static weft::event_type<std::string_view>
	request("cpp.Request", weft::event_options().contextual().select("if-triggered"), {"path"});

static std::uint64_t now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<std::uint64_t>(t.tv_sec) * 1000000000 +
	       static_cast<std::uint64_t>(t.tv_nsec);
}

[[gnu::noinline]] static void leave_by(int how)
{
	weft::event event(way_out);

	if (how == 1)
		throw std::runtime_error("gone");
	if (how == 2)
		return;
	if (how == 3)
		event.cancel();
	event.commit(how);
	event.commit(how + 100);
}

int main(int argc, char **argv)
{
	const std::string customer = "Zoë";
	const std::uint64_t now = now_ns();
	int kept = 0;

	kept += numbers.emit(true, -8, u'ß', -16, -32, -64, 8, 16, 4000000000U, UINT64_MAX, 0.5F,
			     -2.25);
	kept += texts.emit(customer, "c", {weft_tag_intern("pool")}, {gettid()}, {0xABC});
	kept += texts.emit({}, nullptr, {}, {}, {});
	kept += texts.emit_at(now - 1000, now, "", "", {}, {}, {});
	for (int how = 0; how < 4; how++) {
		try {
			leave_by(how);
		} catch (const std::runtime_error &) {
		}
	}
	kept += nothing.emit();
	kept += never.emit(1);
	for (const char *path : {"/empty", "/full"}) {
		weft::event event(request);

		if (std::string_view(path) == "/full")
			kept += nothing.emit();
		kept += event.commit(path);
	}
	{
		weft::timed_span span("checkout", 0x11, 0x22);

		if (weft_context_get().span_id != 0x11)
			return 1;
		kept += span.leave();
		kept += span.leave();
	}
	if (weft_context_get().span_id != 0)
		return 1;
	std::printf("%d\n", kept);
	return argc > 1 && std::string_view(argv[1]) != std::to_string(kept);
}
