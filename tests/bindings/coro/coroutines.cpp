/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bindings/cpp/weft_coro.hpp promises, in a program of its own that makes the shared file
 * itself; TAP.
 */
#include "kinds.hpp"
#include "stations.hpp"
#include "symbols.hpp"

#include <weft/weft_coro.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <utility>

static stations *file;

static bool is_code_of(std::uint64_t addr, const char *name)
{
	static const symbols all;
	const std::string found = all.of(addr);

	if (found.find(name) != std::string::npos)
		return true;
	std::printf("# %#llx is in '%s', not %s\n", static_cast<unsigned long long>(addr),
		    found.c_str(), name);
	return false;
}

mixed plain_steps()
{
	co_await std::suspend_always{};
	co_await std::suspend_never{};
	co_await never_ready{};
	co_return 3;
}

static void births_switches_ends()
{
	const std::uint32_t me = file->had();

	{
		mixed task = plain_steps();

		is(file->had() == me + 1 && file->at(me).state == WEFT_CTP_CREATED,
		   "born when it is made, and not resumed");
		is(file->at(me).language == WEFT_CTP_CPP, "it is known to be of C++");
		same(file->shape(me), "", "initial suspension: no event");
		task.own.resume();
		same(file->shape(me), "RS", "first run, from the start to the first co_await");
		is(file->at(me).state == WEFT_CTP_SUSPENDED, "suspended");
		task.own.resume();
		same(file->shape(me), "RSRS", "an awaiter that is ready is no switch");
		task.own.resume();
		same(file->shape(me), "RSRSRS", "the final suspension ends the last run");
		is(file->at(me).is_dead == 1 && task.own.done(), "and the coroutine is over then");
	}
	is(file->at(me).is_dead == 1, "the end of the frame adds nothing");

	const auto all = file->events(me);

	is(all[1].addr == all[2].addr && all[3].addr == all[4].addr, "it goes on where it waited");
	is(all[1].addr != all[3].addr && all[3].addr != all[5].addr, "places differ");
	bool named = true;
	for (const auto &one : all)
		named = is_code_of(one.addr, "plain_steps") && named;
	is(named, "all addresses are in the coroutine's code");
#if defined(__OPTIMIZE__)
	is(is_code_of(file->at(me).site, "plain_steps"), "its site, too");
#else
	is(is_code_of(file->at(me).site, "promise_type"), "its site is its promise's constructor");
#endif
}

static void destroyed_while_suspended()
{
	const std::uint32_t me = file->had();

	{
		mixed task = plain_steps();
		mixed untouched = plain_steps();

		task.own.resume();
	}
	same(file->shape(me), "RS", "destroyed while it waits: nothing is added");
	is(file->at(me).is_dead == 1, "it is dead");
	is(file->at(me + 1).is_dead == 1 && file->shape(me + 1).empty(),
	   "one that was never resumed, too");
}

mixed every_kind(int *sum)
{
	by_free lvalue{10};

	*sum += co_await by_free{1};
	*sum += co_await lvalue;
	co_await bool_awaiter(false);
	int &reference = co_await bool_awaiter(true);
	*sum += reference == 7 ? 100 : 0;
	co_return 0;
}

static void kinds_of_awaiters()
{
	const std::uint32_t me = file->had();
	int sum = 0;
	mixed task = every_kind(&sum);

	task.own.resume();
	same(file->shape(me), "RS", "free operator co_await");
	task.own.resume();
	same(file->shape(me), "RSRS", "the same on an lvalue");
	task.own.resume();
	same(file->shape(me), "RSRSRSRS",
	     "one that refuses is offered and goes on; one that accepts waits");
	task.own.resume();
	is(task.own.done() && sum == 111, "values come through, references too");
}

static mixed inner(int *depth)
{
	++*depth;
	co_await std::suspend_always{};
	co_return 42;
}

static mixed outer(int *depth, int *got)
{
	*got = co_await inner(depth);
	co_return 1;
}

static void symmetric_transfer()
{
	const std::uint32_t me = file->had();
	int depth = 0, got = 0;
	mixed task = outer(&depth, &got);

	task.own.resume();
	same(file->shape(me), "RS", "it waits for what it awaits");
	same(file->shape(me + 1), "RS", "which ran, and waits");
	is(weft_coro_running() == nullptr, "none runs here");
	/* Who holds the inner one is the outer one's frame: go on there by its address. */
	is(depth == 1 && got == 0, "as far as that");
}

static mixed many(int n, long *sum)
{
	for (int i = 0; i < n; i++)
		*sum += co_await [](int value) -> mixed { co_return value; }(i);
	co_return 0;
}

static void transfer_there_and_back()
{
	const std::uint32_t me = file->had();
	long sum = 0;
	mixed task = many(40, &sum);

	task.own.resume();
	is(task.own.done() && sum == 780, "forty children, one after the other");
	is(file->had() == me + 41, "a station each");
	is(file->at(me).totals.resumes == 41 && file->at(me).totals.suspends == 41,
	   "their parent waited for each");
	bool all = true;
	for (std::uint32_t i = me + 1; i <= me + 40; i++)
		all = all && file->shape(i) == "RS" && file->at(i).is_dead == 1;
	is(all, "each of them ran once");
}

mixed throws(bool in_suspend, int *caught)
{
	try {
		co_await throwing_awaiter{in_suspend};
	} catch (const std::runtime_error &) {
		++*caught;
	}
	co_await std::suspend_always{};
	throw std::logic_error("out of it");
}

static void exceptions()
{
	int caught = 0;
	const std::uint32_t me = file->had();
	mixed in_suspend = throws(true, &caught), in_resume = throws(false, &caught);

	in_suspend.own.resume();
	same(file->shape(me), "RSRS", "await_suspend throws: it goes on, and waits at the next");
	in_resume.own.resume();
	in_resume.own.resume();
	same(file->shape(me + 1), "RSRS", "await_resume throws: it had gone on before");
	is(caught == 2, "the coroutine catches both");
	in_suspend.own.resume();
	is(in_suspend.own.done() && in_suspend.own.get().promise().value == -1 &&
		   file->at(me).is_dead == 1,
	   "one that leaves the coroutine ends it");
}

/* Resumes on another thread, and waits there until that has gone on, all in await_suspend. */
struct elsewhere {
	std::thread *thread;
	std::binary_semaphore *went_on;
	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> handle) const
	{
		auto *here = went_on;
		auto *other = thread;

		*other = std::thread([handle] { handle.resume(); });
		here->acquire(); /* the coroutine is over, its frame gone */
	}
	void await_resume() const noexcept
	{
	}
};

struct detached {
	struct promise_type : weft::coro::promise {
		detached get_return_object() noexcept
		{
			return {};
		}
		auto initial_suspend() noexcept
		{
			return traced_start(std::suspend_never{});
		}
		auto final_suspend() noexcept
		{
			return traced_end(std::suspend_never{});
		}
		void unhandled_exception() noexcept
		{
			std::terminate();
		}
		void return_void() noexcept
		{
		}
	};
};

detached goes_elsewhere(std::thread *thread, std::binary_semaphore *went_on, pid_t *there)
{
	co_await elsewhere{thread, went_on};
	*there = gettid();
}

static void another_thread()
{
	std::binary_semaphore went_on{0};
	std::thread thread;
	pid_t there = 0;
	const std::uint32_t me = file->had();

	/* The semaphore is released by whoever sees the coroutine over. */
	std::thread watcher([&] {
		while (file->had() == me ||
		       !__atomic_load_n(&file->at(me).is_dead, __ATOMIC_ACQUIRE))
			std::this_thread::yield();
		went_on.release();
	});
	goes_elsewhere(&thread, &went_on, &there);
	watcher.join();
	thread.join();

	const auto all = file->events(me);

	same(file->shape(me), "RSRS", "suspended, then resumed elsewhere, in that order");
	is(all[0].tid == static_cast<std::uint64_t>(gettid()) && all[1].tid == all[0].tid,
	   "begun and suspended here");
	is(all[2].tid == static_cast<std::uint64_t>(there) && there != gettid(),
	   "resumed by the other thread, before await_suspend was back");
	is(file->at(me).is_dead == 1, "it ended there, without a final suspension");
	is(weft_coro_running() == nullptr, "and this thread runs none");
}

/* A promise that was there before, with an await_transform of its own that makes an awaitable whose
 * awaiter refers to it, coroutine parameters, its own handle, and a yield. */
struct stranger {
	struct promise {
		int seen = 0, yielded = 0, from_parameter;

		explicit promise(int parameter) : from_parameter(parameter)
		{
		}
		handle_of<promise> get_return_object()
		{
			return handle_of<promise>(
				std::coroutine_handle<promise>::from_promise(*this));
		}
		std::suspend_never initial_suspend() const noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() const noexcept
		{
			return {};
		}
		void unhandled_exception() const noexcept
		{
			std::terminate();
		}
		void return_void() const noexcept
		{
		}
		by_free await_transform(int value)
		{
			seen++;
			return by_free{value};
		}
		bool_awaiter await_transform(bool value)
		{
			seen++;
			return bool_awaiter(value);
		}
		std::suspend_always yield_value(int value) noexcept
		{
			yielded = value;
			return {};
		}
	};
	handle_of<promise> own;
	stranger(handle_of<promise> handle) : own(std::move(handle))
	{
	}
};

template <typename... Args> struct std::coroutine_traits<stranger, Args...> {
	using promise_type = weft::coro::traced_promise<stranger::promise>;
};

stranger strange_steps(int)
{
	int got = co_await 5;

	got += co_await true == 7 ? 1 : 0;
	co_yield got;
}

static void somebodys_promise()
{
	const std::uint32_t me = file->had();
	stranger task = strange_steps(9);

	same(file->shape(me), "RS", "an eager one runs at once, through its own await_transform");
	is(task.own.get().promise().from_parameter == 9, "its promise has the parameters");
	task.own.resume();
	same(file->shape(me), "RSRS", "an awaiter that cannot be moved");
	task.own.resume();
	same(file->shape(me), "RSRSRS", "a yield is a suspension");
	is(task.own.get().promise().yielded == 6 && task.own.get().promise().seen == 2,
	   "the handle of its own type finds its own promise");
	task.own.resume();
	is(task.own.done() && file->at(me).is_dead == 1, "its final suspension is seen");
	bool named = true;
	for (const auto &one : file->events(me))
		named = is_code_of(one.addr, "strange_steps") && named;
	is(named, "addresses are in its code");
}

/* Awaiters that ask for one type of handle. */
struct asks_for_mine;
struct bare {
	struct promise {
		int touched = 0;
		handle_of<promise> get_return_object()
		{
			return handle_of<promise>(
				std::coroutine_handle<promise>::from_promise(*this));
		}
		std::suspend_always initial_suspend() const noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() const noexcept
		{
			return {};
		}
		void unhandled_exception() const noexcept
		{
			std::terminate();
		}
		void return_void() const noexcept
		{
		}
	};
	using promise_type = weft::coro::traced_promise<promise>;
	handle_of<promise> own;
	bare(handle_of<promise> handle) : own(std::move(handle))
	{
	}
};
struct asks_for_mine : std::suspend_always {
	void await_suspend(std::coroutine_handle<bare::promise> handle) const noexcept
	{
		handle.promise().touched++;
	}
};

bare asks()
{
	co_await asks_for_mine{};
	co_await weft::coro::traced(asks_for_mine{});
}

static void no_await_transform()
{
	const std::uint32_t me = file->had();
	bare task = asks();

	task.own.resume();
	task.own.resume();
	is(task.own.get().promise().touched == 2, "awaiters get the handle that they ask for");
	same(file->shape(me), "RSRS", "traced() within a traced promise counts once");
}

/* Its own await_transform hides the base's. */
struct own_transform {
	struct promise_type : weft::coro::promise {
		int seen = 0;
		handle_of<promise_type> get_return_object()
		{
			return handle_of<promise_type>(
				std::coroutine_handle<promise_type>::from_promise(*this));
		}
		void unhandled_exception() const noexcept
		{
			std::terminate();
		}
		void return_void() const noexcept
		{
		}
		template <typename T> decltype(auto) await_transform(T &&awaitable)
		{
			seen++;
			return weft::coro::traced(std::forward<T>(awaitable));
		}
		auto await_transform(int value)
		{
			seen++;
			return weft::coro::traced_copy(by_free{value});
		}
	};
	handle_of<promise_type> own;
	own_transform(handle_of<promise_type> handle) : own(std::move(handle))
	{
	}
};

own_transform transforms(int *got)
{
	co_await std::suspend_always{};
	*got = co_await 12;
}

static void hidden_await_transform()
{
	const std::uint32_t me = file->had();
	int got = 0;
	own_transform task = transforms(&got);

	task.own.resume();
	task.own.resume();
	task.own.resume();
	same(file->shape(me), "RSRSRS", "traced() in an await_transform of one's own");
	is(got == 12 && task.own.get().promise().seen == 2, "and the awaitable lives long enough");
}

/* Not traced at all: traced() is only in the way. */
struct untraced {
	struct promise_type {
		handle_of<promise_type> get_return_object()
		{
			return handle_of<promise_type>(
				std::coroutine_handle<promise_type>::from_promise(*this));
		}
		std::suspend_always initial_suspend() const noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() const noexcept
		{
			return {};
		}
		void unhandled_exception() const noexcept
		{
			std::terminate();
		}
		void return_void() const noexcept
		{
		}
	};
	handle_of<promise_type> own;
	untraced(handle_of<promise_type> handle) : own(std::move(handle))
	{
	}
};

untraced not_traced(int *got)
{
	*got = co_await weft::coro::traced(by_free{4});
}

static void traced_outside()
{
	const std::uint32_t me = file->had();
	int got = 0;
	untraced task = not_traced(&got);

	task.own.resume();
	task.own.resume();
	is(got == 4 && file->had() == me, "traced() in a coroutine that is not");
}

mixed with_payload()
{
	const char text[] = "order 12";

	is(weft::coro::payload(std::as_bytes(std::span(text))) == sizeof(text), "payload is taken");
	co_await std::suspend_always{};
	co_return 0;
}

static void payload_and_wake()
{
	const std::uint32_t me = file->had();
	mixed task = with_payload();

	task.own.resume();
	const auto &slot = file->at(me).slots[1];
	is(slot.holds == WEFT_CTP_HOLDS_PAYLOAD && slot.payload_bytes == 9 &&
		   std::memcmp(slot.reserved, "order 12", 9) == 0,
	   "and goes along with the next event");
	is(file->at(me).state == WEFT_CTP_SUSPENDED, "suspended");
	weft::coro::wake(task.own.get());
	is(file->at(me).state == WEFT_CTP_READY && file->at(me).totals.wakes == 1, "woken: ready");
	is(weft::coro::payload({}) == 0, "no payload where no coroutine runs");
}

/* Two threads hand coroutines to and fro, in await_suspend: for ThreadSanitizer, and for what is
 * counted. */
struct mailbox {
	std::atomic<void *> slot{nullptr};
	std::atomic<bool> closed{false};

	void serve()
	{
		while (!closed.load(std::memory_order_acquire)) {
			void *address = slot.exchange(nullptr, std::memory_order_acq_rel);

			if (address)
				std::coroutine_handle<>::from_address(address).resume();
			else
				std::this_thread::yield();
		}
	}
	auto go_there()
	{
		struct awaiter {
			mailbox &box;
			bool await_ready() const noexcept
			{
				return false;
			}
			void await_suspend(std::coroutine_handle<> handle) const noexcept
			{
				box.slot.store(handle.address(), std::memory_order_release);
			}
			void await_resume() const noexcept
			{
			}
		};
		return awaiter{*this};
	}
};

detached ping_pong(mailbox &left, mailbox &right, int turns, std::atomic<int> &turned)
{
	for (int i = 0; i < turns; i++) {
		co_await left.go_there();
		turned.fetch_add(1, std::memory_order_relaxed);
		co_await right.go_there();
	}
	left.closed.store(true, std::memory_order_release);
	right.closed.store(true, std::memory_order_release);
}

static void to_and_fro()
{
	constexpr int turns = 20000;
	const std::uint32_t me = file->had();
	mailbox left, right;
	std::atomic<int> turned{0};
	std::thread a([&] { left.serve(); }), b([&] { right.serve(); });

	ping_pong(left, right, turns, turned);
	a.join();
	b.join();
	is(turned == turns, "all turns done");
	is(file->at(me).totals.suspends == 2 * turns + 1 &&
		   file->at(me).totals.resumes == 2 * turns + 1,
	   "each suspension and each resume is counted");
	is(file->at(me).is_dead == 1, "and the end is seen");
}

int main()
{
	stations here(256);

	file = &here;
	births_switches_ends();
	destroyed_while_suspended();
	kinds_of_awaiters();
	symmetric_transfer();
	transfer_there_and_back();
	exceptions();
	another_thread();
	somebodys_promise();
	no_await_transform();
	hidden_await_transform();
	traced_outside();
	payload_and_wake();
	to_and_fro();
	std::printf("1..%d\n", cases);
	return failures ? 1 : 0;
}
