/* SPDX-License-Identifier: Apache-2.0 */
/* What bindings/cpp/weft.hpp promises, in a program of its own; TAP. */
#include <weft/weft.hpp>

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

static unsigned long allocations;

[[gnu::noinline]] void *operator new(std::size_t bytes)
{
	allocations++;
	if (void *memory = std::malloc(bytes))
		return memory;
	throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *memory) noexcept
{
	std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept
{
	std::free(memory);
}

static int cases, failures;

static void is(bool holds, const char *what)
{
	std::printf("%s %d - %s\n", holds ? "ok" : "not ok", ++cases, what);
	failures += !holds;
}

static bool ids_are(std::uint64_t span, std::uint64_t root)
{
	const weft::ids now = weft::current();

	if (now.span_id == span && now.root_span_id == root)
		return true;
	std::printf("# ids %llu %llu, not %llu %llu\n",
		    static_cast<unsigned long long>(now.span_id),
		    static_cast<unsigned long long>(now.root_span_id),
		    static_cast<unsigned long long>(span), static_cast<unsigned long long>(root));
	return false;
}

/* "" is a value; NULL: there is no such label. */
static bool label_is(std::string_view key, const char *expected)
{
	const auto value = weft::get_label(key);

	if (expected ? value && value->view() == expected : !value)
		return true;
	std::printf("# label %.*s is %s, not %s\n", static_cast<int>(key.size()), key.data(),
		    value ? std::string(value->view()).c_str() : "absent",
		    expected ? expected : "absent");
	return false;
}

static weft::span made_elsewhere(std::uint64_t id)
{
	return weft::span(id, id);
}

static weft::label label_made_elsewhere()
{
	weft::label made("route", "/elsewhere");
	weft::label moved(std::move(made));
	return moved;
}

static void spans()
{
	weft::span outer(1, 1);
	is(ids_are(1, 1), "a span is set");
	{
		weft::span inner(2, 1);
		is(ids_are(2, 1), "one within it");
		weft::span moved(std::move(inner));
		is(ids_are(2, 1), "moving it changes nothing");
	}
	is(ids_are(1, 1), "at its end the outer one is back");
	for (std::uint64_t i = 10; i < 13; i++) {
		weft::span turn(i, 1);
		if (i == 11)
			continue;
		if (i == 12)
			break;
	}
	is(ids_are(1, 1), "continue and break");
	{
		const weft::span given = made_elsewhere(9);
		is(ids_are(9, 9), "returned by a function");
	}
	outer.leave();
	is(ids_are(0, 0), "left early");
	weft::span other(5, 5);
	outer.leave();
	is(ids_are(5, 5), "leaving twice does nothing");
}

static void whole_contexts()
{
	const weft::trace_id trace = {0x0a, 0xf7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0x9c};
	const std::uint32_t route = ::weft_tag_intern("/a");
	weft_context now;
	weft::span outer(weft::context(3, 4, trace, 1).tag(2, route).tag(99, 1));

	is(::weft_context_read(&now) == WEFT_CONTEXT_TRACE && now.tags[2] == route &&
		   std::memcmp(now.trace_id, trace.data(), trace.size()) == 0 &&
		   now.trace_flags == 1,
	   "trace id and tag are set");
	{
		weft::span inner(5, 4);
		is(::weft_context_read(&now) == WEFT_CONTEXT_IDS && now.tags[2] == route,
		   "ids alone: the trace id is not theirs, tags stay");
	}
	is(::weft_context_read(&now) == WEFT_CONTEXT_TRACE && now.span_id == 3, "and it is back");
	{
		weft::span inner(6, 4, trace);
		is(::weft_context_read(&now) == WEFT_CONTEXT_TRACE && now.tags[2] == 0,
		   "a whole context has its own tags");
	}
	is(::weft_context_read(&now) == WEFT_CONTEXT_TRACE && now.tags[2] == route,
	   "and they are back");
}

static void labels()
{
	is(weft::set_label("tenant", "acme") == WEFT_LABEL_SET, "a label is set");
	{
		const weft::label outer("tenant", "other");
		is(outer.result() == WEFT_LABEL_UPDATED && label_is("tenant", "other"), "guarded");
		{
			const weft::label inner("tenant", "third"), fresh("route", "");
			is(label_is("tenant", "third") && label_is("route", ""), "two more");
		}
		is(label_is("tenant", "other") && label_is("route", nullptr), "back, and gone");
		const weft::label moved = label_made_elsewhere();
		is(label_is("route", "/elsewhere"), "returned by a function");
	}
	is(label_is("tenant", "acme") && label_is("route", nullptr), "all are as they were");
	{
		const weft::label own("span-id", "7"), none("", "x");
		is(own.result() == WEFT_LABEL_RESERVED && none.result() == WEFT_LABEL_INVALID &&
			   !weft::is_done(own.result()),
		   "what is refused is said");
	}
	{
		weft::label early("tenant", "x");
		early.leave();
		is(label_is("tenant", "acme"), "left early");
		weft::set_label("tenant", "later");
	}
	is(label_is("tenant", "later"), "and not once more");
	is(weft::remove_label("tenant") == WEFT_LABEL_REMOVED &&
		   weft::remove_label("tenant") == WEFT_LABEL_ABSENT,
	   "removed once");
	is(weft::set_label(std::string_view("tenant").substr(0, 3), std::string_view()) ==
			   WEFT_LABEL_SET &&
		   label_is("ten", ""),
	   "views that end with no NUL, and an empty one");
	is(weft::clear_labels() == 1, "cleared");
}

static void long_strings()
{
	const std::string value(300, 'v');
	std::string key(127, 'k');

	key += "\xc3\xa9"; /* é: over the limit, and so cut before it */
	weft::set_label(key, "before");
	{
		const weft::label guard(key, value);
		is(guard.result() == WEFT_LABEL_TRUNCATED, "truncated");
		is(label_is(key, value.substr(0, 256).c_str()), "found by the long key");
		is(label_is(key.substr(0, 127), value.substr(0, 256).c_str()),
		   "and by the cut one");
	}
	is(label_is(key, "before"), "a long key's value is put back");
	{
		const weft::label whole("binary", std::string_view("a\0b", 3));
		const auto got = weft::get_label("binary");
		is(got && got->view() == std::string_view("a\0b", 3), "bytes are free");
	}
	weft::clear_labels();
}

static void throwing(int depth)
{
	const weft::span span(100 + static_cast<std::uint64_t>(depth), 100);
	const weft::label label("depth", std::to_string(depth));

	if (depth == 5)
		throw std::runtime_error("as meant");
	throwing(depth + 1);
}

static void exceptions()
{
	const weft::span span(50, 50);
	const weft::label label("depth", "none");

	try {
		throwing(0);
		is(false, "it throws");
	} catch (const std::runtime_error &) {
		is(ids_are(50, 50) && label_is("depth", "none"), "an exception ends all guards");
	}
}

static void updates()
{
	weft::set_label("old", "1");
	{
		weft::update all(weft::context(8, 7));
		all.set("tenant", "acme").set("span-id", "x").remove("nothing");
		const weft::span span(all);
		is(ids_are(8, 7) && label_is("tenant", "acme") && label_is("old", "1"), "as one");
		is(all.result(0) == WEFT_LABEL_SET && all.result(1) == WEFT_LABEL_RESERVED &&
			   all.result(2) == WEFT_LABEL_ABSENT &&
			   all.result(3) == WEFT_LABEL_NO_ROOM,
		   "each has its result");
		const weft::span inner(weft::update().set("new", "2").replace());
		is(ids_are(8, 7) && label_is("tenant", nullptr) && label_is("old", nullptr) &&
			   label_is("new", "2"),
		   "replaced");
	}
	is(ids_are(0, 0) && label_is("tenant", nullptr) && label_is("old", "1") &&
		   label_is("new", nullptr),
	   "all of it is put back");
	weft::update many;
	for (std::size_t i = 0; i <= weft::update::room; i++)
		many.set("same", "x");
	is(many.apply() == WEFT_LABEL_NO_ROOM && label_is("same", "x"),
	   "more than there is room for");
	int count = 0;
	bool is_found = false;
	weft::each_label([&](std::string_view key, std::string_view value) {
		count++;
		is_found |= key == "same" && value == "x";
	});
	is(count == 2 && is_found, "each of them");
	weft::clear_labels();
}

static void out_of_order()
{
	{
		auto *first = new weft::span(1, 1);
		weft::set_label("a", "1");
		auto *second = new weft::span(2, 1);
		weft::set_label("a", "2");
		weft::set_label("b", "2");
		delete first;
		const weft::span third(3, 3);
		weft::set_label("c", "a longer value that takes more room than the others did");
		delete second;
		weft::set_label("d", "4");
	}
	weft::clear_labels();
	::weft_context_clear();
	{
		const weft::span again(4, 4);
		weft::set_label("a", "again");
	}
	is(ids_are(0, 0) && label_is("a", nullptr),
	   "spans that end in the wrong order break nothing");
}

static void threads()
{
	const weft::span span(1, 1);
	const weft::label label("thread", "main");

	std::thread([] {
		is(ids_are(0, 0) && label_is("thread", nullptr), "a thread begins with nothing");
		const weft::span own(2, 2);
		const weft::label other("thread", "other");
		is(ids_are(2, 2) && label_is("thread", "other"), "and has its own");
	}).join();
	is(ids_are(1, 1) && label_is("thread", "main"), "the first one's are as they were");
}

static void prepared()
{
	weft::prepared request(weft::context(7, 8, weft::trace_id{{1, 2}}),
			       {{"tenant", "acme"}, {"route", "/x"}});
	const weft::span own(1, 2);
	const weft::label worker("worker", "w");

	for (int i = 0; i < 3; i++) {
		const weft::attach attached(request);
		is(ids_are(7, 8) && label_is("tenant", "acme") && label_is("worker", nullptr),
		   "a prepared context");
		const weft::label inner("tenant", "inner");
		is(label_is("tenant", "inner"), "and a label in it");
	}
	is(ids_are(1, 2) && label_is("tenant", nullptr) && label_is("worker", "w"),
	   "the thread's own is back");
	std::thread([&request] {
		const weft::attach attached(request);
		is(ids_are(7, 8) && label_is("tenant", "acme"), "on another thread");
	}).join();
	{
		const weft::attach attached(request);
		weft::prepared moved(std::move(request));
		request = weft::prepared(weft::context(9, 9));
		is(ids_are(7, 8) && label_is("route", "/x"), "what is attached stays");
	}
	const weft::attach again(request);
	is(ids_are(9, 9) && label_is("worker", nullptr), "another one takes its place");
}

static void no_allocation()
{
	weft::span warm(1, 1);
	weft::label also("warm", "up");
	const unsigned long before = allocations;
	const auto used = mallinfo2().uordblks;

	for (std::uint64_t i = 0; i < 100; i++) {
		const weft::span span(i, 1);
		weft::label label("turn", i & 1 ? "odd" : "even");
		const weft::label moved(std::move(label));
		const weft::span all(weft::update(weft::context(i, i)).set("x", "y"));
		if (!weft::get_label("turn"))
			std::abort();
	}
	is(allocations == before && mallinfo2().uordblks == used, "nothing is allocated");
}

static_assert(!std::is_copy_constructible_v<weft::span> && !std::is_copy_assignable_v<weft::span>);
static_assert(!std::is_copy_constructible_v<weft::label> &&
	      !std::is_copy_assignable_v<weft::label>);
static_assert(std::is_nothrow_move_constructible_v<weft::span>);
static_assert(std::is_nothrow_move_constructible_v<weft::label>);
static_assert(std::is_nothrow_constructible_v<weft::span, std::uint64_t, std::uint64_t>);
static_assert(std::is_nothrow_constructible_v<weft::label, const char *, const char *>);
static_assert(noexcept(weft::set_label("", "")) &&noexcept(weft::get_label("")));
static_assert(noexcept(std::declval<weft::update &>().set("", "").apply()));

int main()
{
	spans();
	whole_contexts();
	labels();
	long_strings();
	exceptions();
	updates();
	out_of_order();
	threads();
	prepared();
	no_allocation();
	is(ids_are(0, 0), "nothing is left");
	std::printf("1..%d\n", cases);
	return failures != 0;
}
