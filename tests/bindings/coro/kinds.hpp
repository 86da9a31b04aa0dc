/* SPDX-License-Identifier: Apache-2.0 */
/* A task, and awaiters of every kind, for coroutines.cpp. */
#ifndef WEFT_TEST_KINDS_HPP
#define WEFT_TEST_KINDS_HPP

#include <weft/weft_coro.hpp>

#include <coroutine>
#include <stdexcept>
#include <utility>

/* Owns a frame. */
template <typename P> class handle_of
{
      public:
	explicit handle_of(std::coroutine_handle<P> handle) noexcept : handle_(handle)
	{
	}
	handle_of(handle_of &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
	{
	}
	handle_of(const handle_of &) = delete;
	handle_of &operator=(const handle_of &) = delete;
	handle_of &operator=(handle_of &&) = delete;
	~handle_of()
	{
		if (handle_)
			handle_.destroy();
	}
	void resume() const
	{
		handle_.resume();
	}
	bool done() const
	{
		return handle_.done();
	}
	std::coroutine_handle<P> get() const
	{
		return handle_;
	}
	std::coroutine_handle<P> release()
	{
		return std::exchange(handle_, nullptr);
	}

      private:
	std::coroutine_handle<P> handle_;
};

/* Goes on with whoever waits for the coroutine. */
template <typename P> struct next_of {
	bool await_ready() const noexcept
	{
		return false;
	}
	template <typename Q>
	std::coroutine_handle<> await_suspend(std::coroutine_handle<Q> handle) const noexcept
	{
		auto next = handle.promise().next;

		return next ? next : std::noop_coroutine();
	}
	void await_resume() const noexcept
	{
	}
};

struct mixed {
	struct promise_type : weft::coro::promise {
		std::coroutine_handle<> next;
		int value = 0;

		handle_of<promise_type> get_return_object()
		{
			return handle_of<promise_type>(
				std::coroutine_handle<promise_type>::from_promise(*this));
		}
		auto final_suspend() noexcept
		{
			return traced_end(next_of<promise_type>{});
		}
		void unhandled_exception()
		{
			value = -1;
		}
		void return_value(int v)
		{
			value = v;
		}
	};
	handle_of<promise_type> own;

	mixed(handle_of<promise_type> handle) : own(std::move(handle))
	{
	}
	/* Awaited: it starts, and goes on with the awaiting one at its end, without a stack. */
	auto operator co_await() &&noexcept
	{
		struct awaiter {
			std::coroutine_handle<promise_type> handle;
			bool await_ready() const noexcept
			{
				return false;
			}
			std::coroutine_handle<> await_suspend(std::coroutine_handle<> who) noexcept
			{
				handle.promise().next = who;
				return handle;
			}
			int await_resume() const noexcept
			{
				return handle.promise().value;
			}
		};
		return awaiter{own.get()};
	}
};

struct never_ready : std::suspend_always {
};
struct by_free {
	int value;
};
/* An awaiter that refers to what it was made of. */
struct free_awaiter {
	const by_free &from;
	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<>) const noexcept
	{
	}
	int await_resume() const noexcept
	{
		return from.value;
	}
};
inline free_awaiter operator co_await(const by_free &from) noexcept
{
	return {from};
}

/* May it suspend? And: it cannot be moved. */
struct bool_awaiter {
	bool suspends;
	explicit bool_awaiter(bool does) : suspends(does)
	{
	}
	bool_awaiter(const bool_awaiter &) = delete;
	bool_awaiter &operator=(const bool_awaiter &) = delete;
	bool await_ready() const noexcept
	{
		return false;
	}
	bool await_suspend(std::coroutine_handle<>) const noexcept
	{
		return suspends;
	}
	int &await_resume() noexcept
	{
		static int here = 7;

		return here;
	}
};

struct throwing_awaiter {
	bool in_suspend;
	bool await_ready() const noexcept
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<>) const
	{
		if (in_suspend)
			throw std::runtime_error("as meant");
	}
	void await_resume() const
	{
		throw std::runtime_error("as meant");
	}
};

#endif
