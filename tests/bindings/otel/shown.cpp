/* SPDX-License-Identifier: Apache-2.0 */
/* What weft has for the thread at each step of OpenTelemetry's contexts, by weft_otel.hpp. */
#include <cstdio>
#include <thread>

#include <opentelemetry/baggage/baggage_context.h>
#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/trace/default_span.h>
#include <opentelemetry/trace/scope.h>

#include <weft/weft_otel.hpp>

namespace baggage = opentelemetry::baggage;
namespace context = opentelemetry::context;
namespace nostd = opentelemetry::nostd;
namespace trace = opentelemetry::trace;

namespace
{

int failures;

void check(const char *what, bool good)
{
	std::printf("%s - %s\n", good ? "ok" : "not ok", what);
	failures += !good;
}

nostd::shared_ptr<trace::Span> span(std::uint8_t trace_byte, std::uint8_t id,
				    bool is_remote = false)
{
	const std::uint8_t trace_id[16] = {trace_byte, 2}, span_id[8] = {0, 1, 0, 0, 0, 0, 0, id};

	return nostd::shared_ptr<trace::Span>(new trace::DefaultSpan(
		trace::SpanContext(trace::TraceId(trace_id), trace::SpanId(span_id),
				   trace::TraceFlags(1), is_remote)));
}

constexpr std::uint64_t id(std::uint8_t n)
{
	return 0x0001000000000000u + n;
}

/* All zeros: nothing. */
bool has(std::uint8_t trace_byte, std::uint8_t span_id, std::uint8_t root)
{
	::weft_context now;

	::weft_context_read(&now);
	if (!trace_byte)
		return now.span_id == 0 && now.root_span_id == 0 && now.trace_id[0] == 0 &&
		       now.trace_flags == 0;
	return now.span_id == id(span_id) && now.root_span_id == id(root) &&
	       now.trace_id[0] == trace_byte && now.trace_id[1] == 2 && now.trace_flags == 1;
}

bool tenant(std::string_view expected)
{
	const auto found = weft::get_label("tenant");

	return expected.empty() ? !found : found && found->view() == expected;
}

void spans()
{
	check("nothing at first", has(0, 0, 0));
	{
		const trace::Scope a(span(7, 1));
		check("a span is its own root", has(7, 1, 1));
		{
			const trace::Scope b(span(7, 2));
			check("one in it", has(7, 2, 1));
			{
				const trace::Scope c(span(8, 3));
				check("another trace in it", has(8, 3, 3));
				const trace::Scope d(span(8, 4));
				check("and one in that", has(8, 4, 3));
			}
			check("that is over", has(7, 2, 1));
			const auto none = context::RuntimeContext::Attach(context::Context());
			check("a context without a span", has(0, 0, 0));
		}
		check("the first again", has(7, 1, 1));
		const trace::Scope invalid(span(0, 1));
		(void)invalid;
	}
	check("nothing at the end", has(0, 0, 0));
}

void remote()
{
	{
		const trace::Scope elsewhere(span(7, 1, true));
		check("a span elsewhere", has(7, 1, 1));
		const trace::Scope server(span(7, 2));
		check("is no root here: that is the first one in it", has(7, 2, 2));
		const trace::Scope inner(span(7, 3));
		check("also of those in it", has(7, 3, 2));
	}
	check("nothing at the end", has(0, 0, 0));
}

void order()
{
	auto now = context::RuntimeContext::GetCurrent();
	auto a = context::RuntimeContext::Attach(trace::SetSpan(now, span(7, 1)));
	now = context::RuntimeContext::GetCurrent();
	auto b = context::RuntimeContext::Attach(trace::SetSpan(now, span(7, 2)));

	check("attached by hand", has(7, 2, 1));
	a.reset();
	check("the outer one is detached first, and the inner one with it", has(0, 0, 0));
	b.reset();
	check("which changes nothing more", has(0, 0, 0));
}

void labels()
{
	::weft_tag_set(3, 77);
	weft::set_label("own", "kept");
	{
		auto now = context::RuntimeContext::GetCurrent();
		const auto token = context::RuntimeContext::Attach(
			baggage::SetBaggage(now, baggage::GetBaggage(now)->Set("tenant", "acme")));
		check("baggage without a span", has(0, 0, 0) && tenant(""));
		{
			const trace::Scope a(span(7, 1));
			check("baggage in a span", has(7, 1, 1) && tenant("acme"));
		}
		check("baggage after it", tenant(""));
	}
	check("own labels and tags stay",
	      weft::get_label("own") && ::weft_tag_set(3, 0) == 77 && weft::clear_labels() == 1);
}

void threads()
{
	const trace::Scope a(span(7, 1));
	const trace::Scope b(span(7, 2));
	const auto captured = context::RuntimeContext::GetCurrent();

	std::thread([&captured] {
		check("a thread begins with nothing", has(0, 0, 0));
		{
			const auto token = context::RuntimeContext::Attach(captured);
			check("a context from elsewhere, with its root", has(7, 2, 1));
			const trace::Scope c(span(7, 3));
			check("and one in it", has(7, 3, 1));
		}
		check("and nothing", has(0, 0, 0));
	}).join();
	check("this thread has its own", has(7, 2, 1));
}

} // namespace

int main()
{
	weft::otel_install({"tenant"});
	spans();
	remote();
	order();
	labels();
	threads();
	return failures != 0;
}
