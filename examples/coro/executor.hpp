/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small executor for coroutines of C++20: a few threads, one run queue, timers, and a reply and a
 * mailbox to wait for. Its tasks are traced by weft/weft_coro.hpp: the base of their promise, and
 * wake() where one becomes ready. That is all of weft here.
 */
#ifndef EXAMPLES_EXECUTOR_HPP
#define EXAMPLES_EXECUTOR_HPP

#include <weft/weft_coro.hpp>

#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

/** Runs by itself, from its call on, on the executor's threads; nobody waits for it. */
struct task {
	struct promise_type : weft::coro::promise {
		task get_return_object() noexcept
		{
			return {};
		}
		auto initial_suspend() noexcept;
		auto final_suspend() noexcept
		{
			return traced_end(std::suspend_never{}); /* the frame goes at once */
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
using handle = std::coroutine_handle<task::promise_type>;

class executor
{
	using clock = std::chrono::steady_clock;

      public:
	/** Until stop(). */
	void run(unsigned threads)
	{
		std::vector<std::thread> workers;

		for (unsigned i = 0; i < threads; i++)
			workers.emplace_back([this] { work(); });
		for (auto &worker : workers)
			worker.join();
	}
	void stop()
	{
		const std::lock_guard guard(lock_);

		is_over_ = true;
		changed_.notify_all();
	}
	/** A new one. */
	void begin(handle task)
	{
		const std::lock_guard guard(lock_);

		ready_.push_back(task);
		changed_.notify_one();
	}
	/** One that waited. */
	void wake(handle task)
	{
		weft::coro::wake(task); /* before it can run, and be over */
		begin(task);
	}
	auto sleep(std::chrono::milliseconds time)
	{
		struct awaiter {
			executor &in;
			clock::time_point due;

			bool await_ready() const noexcept
			{
				return false;
			}
			void await_suspend(handle task) const
			{
				auto &where = in; /* the awaiter may be gone before the lock is */
				const std::lock_guard guard(where.lock_);

				where.timers_.emplace(due, task);
				where.changed_.notify_one();
			}
			void await_resume() const noexcept
			{
			}
		};
		return awaiter{*this, clock::now() + time};
	}

      private:
	void expire()
	{
		while (!timers_.empty() && timers_.begin()->first <= clock::now()) {
			weft::coro::wake(timers_.begin()->second);
			ready_.push_back(timers_.begin()->second);
			timers_.erase(timers_.begin());
		}
	}
	void work()
	{
		std::unique_lock guard(lock_);

		while (expire(), !is_over_) {
			if (!ready_.empty()) {
				const handle next = ready_.front();

				ready_.pop_front();
				guard.unlock();
				next.resume();
				guard.lock();
			} else if (!timers_.empty()) {
				const auto due = timers_.begin()->first;

				changed_.wait_until(guard, due);
			} else {
				changed_.wait(guard);
			}
		}
	}

	std::mutex lock_;
	std::condition_variable changed_;
	std::deque<handle> ready_;
	std::multimap<clock::time_point, handle> timers_;
	bool is_over_ = false;
};

inline executor everything;

inline auto task::promise_type::initial_suspend() noexcept
{
	struct begins {
		bool await_ready() const noexcept
		{
			return false;
		}
		void await_suspend(handle task) const
		{
			everything.begin(task);
		}
		void await_resume() const noexcept
		{
		}
	};
	return traced_start(begins{});
}

/** One value from one task to another. */
class reply
{
      public:
	void put(std::uint64_t value)
	{
		handle waiter;
		{
			const std::lock_guard guard(lock_);

			value_ = value;
			is_there_ = true;
			waiter = std::exchange(waiter_, nullptr);
		}
		if (waiter)
			everything.wake(waiter);
	}
	bool is_there()
	{
		const std::lock_guard guard(lock_);

		return is_there_;
	}
	/** Looks and waits in one step. */
	auto take()
	{
		return awaiter<false>{*this};
	}
	/** Does not look: for who has seen that it is not there, which may be old by then. */
	auto take_unseen()
	{
		return awaiter<true>{*this};
	}

      private:
	template <bool looks_away> struct awaiter {
		reply &from;

		bool await_ready() const noexcept
		{
			return false;
		}
		bool await_suspend(handle task) const
		{
			const std::lock_guard guard(from.lock_);

			if (!looks_away && from.is_there_)
				return false;
			from.waiter_ = task;
			return true;
		}
		std::uint64_t await_resume() const noexcept
		{
			return from.value_;
		}
	};

	std::mutex lock_;
	handle waiter_;
	std::uint64_t value_ = 0;
	bool is_there_ = false;
};

/** Messages for one task. */
template <typename T> class mailbox
{
      public:
	void send(T message)
	{
		handle waiter;
		{
			const std::lock_guard guard(lock_);

			messages_.push_back(message);
			waiter = std::exchange(waiter_, nullptr);
		}
		if (waiter)
			everything.wake(waiter);
	}
	auto receive()
	{
		struct awaiter {
			mailbox &from;

			bool await_ready() const noexcept
			{
				return false;
			}
			bool await_suspend(handle task) const
			{
				const std::lock_guard guard(from.lock_);

				if (!from.messages_.empty())
					return false;
				from.waiter_ = task;
				return true;
			}
			T await_resume() const
			{
				const std::lock_guard guard(from.lock_);
				T message = from.messages_.front();

				from.messages_.pop_front();
				return message;
			}
		};
		return awaiter{*this};
	}

      private:
	std::mutex lock_;
	handle waiter_;
	std::deque<T> messages_;
};

#endif
