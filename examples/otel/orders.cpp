// SPDX-License-Identifier: Apache-2.0
// A program with OpenTelemetry's spans, of which two lines are weft's: 70 % of its CPU time is
// checkout, 30 % search. OpenTelemetry's API alone makes it; a tracer of the SDK would give the
// ids.
//
//     g++ -std=c++17 -O2 orders.cpp -o orders -pthread $(pkg-config --cflags --libs weft)
//     weft record -o orders.jfr -- ./orders [WAY [SECONDS]]
//     weft report --by span orders.jfr
//
// WAY: plain (a span after the other), nested (both in a request's span), threads (which get the
// request's context from their creator). It prints the CPU time of each span by its own measure,
// and the span's id: name milliseconds id.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <time.h>

#include <opentelemetry/baggage/baggage_context.h>
#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/trace/default_span.h>
#include <opentelemetry/trace/scope.h>

#include <weft/weft_otel.hpp> // weft's first line

namespace baggage = opentelemetry::baggage;
namespace context = opentelemetry::context;
namespace nostd = opentelemetry::nostd;
namespace trace = opentelemetry::trace;

namespace
{

struct work {
	const char *name;
	long turn_ns;
	std::uint8_t id;
	std::atomic<long> spent_ns{0};
	std::atomic<bool> begun{false};
};

work request{"request", 0, 0x11};
work checkout{"checkout", 7000000, 0x22};
work search{"search", 3000000, 0x33};

nostd::shared_ptr<trace::Span> span(work &of)
{
	const std::uint8_t trace_id[16] = {0xaa, 0xbb, 1},
			   span_id[8] = {1, 0, 0, 0, 0, 0, 0, of.id};

	of.begun = true;
	return nostd::shared_ptr<trace::Span>(new trace::DefaultSpan(trace::SpanContext(
		trace::TraceId(trace_id), trace::SpanId(span_id), trace::TraceFlags(1), false)));
}

long cpu_ns()
{
	timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

void burn(work &of)
{
	const long begin = cpu_ns();
	static thread_local volatile unsigned long sum;

	while (cpu_ns() - begin < of.turn_ns)
		for (unsigned long i = 0; i < 1000; i++)
			sum = sum * 31 + i;
	of.spent_ns += cpu_ns() - begin;
}

void several(work &of, int turns)
{
	const trace::Scope scope(span(of));

	for (int i = 0; i < turns; i++)
		burn(of);
}

void plain(int turns)
{
	several(checkout, turns);
	several(search, turns);
}

void nested(int turns)
{
	auto now = context::RuntimeContext::GetCurrent();
	const auto token = context::RuntimeContext::Attach(
		baggage::SetBaggage(now, baggage::GetBaggage(now)->Set("tenant", "acme")));
	const trace::Scope scope(span(request));

	for (int i = 0; i < turns; i++) {
		several(checkout, 1);
		several(search, 1);
	}
}

void threads(int turns)
{
	const trace::Scope scope(span(request));
	const auto work_for = [turns, now = context::RuntimeContext::GetCurrent()](work &of) {
		const auto token = context::RuntimeContext::Attach(now);

		several(of, turns);
	};
	std::thread one(work_for, std::ref(checkout)), other(work_for, std::ref(search));

	one.join();
	other.join();
}

} // namespace

int main(int argc, char **argv)
{
	const std::string way = argc > 1 ? argv[1] : "plain";
	const int turns = static_cast<int>((argc > 2 ? std::atof(argv[2]) : 2) * 100);

	weft::otel_install({"tenant"}); // weft's second line
	way == "nested" ? nested(turns) : way == "threads" ? threads(turns) : plain(turns);
	for (work *of : {&request, &checkout, &search})
		if (of->begun)
			std::printf("%s %ld 01000000000000%02x\n", of->name, of->spent_ns / 1000000,
				    of->id);
	return 0;
}
