/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft_coro.hpp
 * Coroutines of C++20 that tell where they run and where they wait: the probe of weft/coro.h for
 * promises and awaiters. Header only; needs libweft no more than coro.h does.
 *
 * Two ways, by what the promise is:
 *
 *     struct promise_type : weft::coro::promise {           // a promise of one's own
 *             task get_return_object();                     // begins and ends suspended, or say
 * so: auto initial_suspend() noexcept { return traced_start(std::suspend_never{}); }
 *             ...
 *     };
 *
 *     using promise_type = weft::coro::traced_promise<somebodys_promise>;   // one that is there
 *
 * The second sees all that the first does without a change of the promise: it keeps its own
 * await_transform, yield_value, initial_suspend and final_suspend, what they return is wrapped.
 * A promise of the first kind that has an await_transform of its own, which hides this one, returns
 * weft::coro::traced(awaitable) from it.
 *
 * What is told: birth when the promise is made; a resume when it goes on, the first at the
 * end of initial_suspend; a suspend before the awaiter's await_suspend is called, for from then on
 * another thread may resume the coroutine, or destroy it: nothing of the frame is touched after it.
 * It is over at its final suspension, or when the promise ends. An awaiter that is ready is no
 * switch. One that refuses to suspend (await_suspend returns false, or throws) is two: the
 * coroutine was on offer in between.
 *
 * Addresses: a suspension's is the return address of its await_suspend, in the code of the
 * coroutine, so that it has the coroutine's name and the co_await's line; where it goes on has the
 * same. Its site is where the promise is made: in the coroutine's own code, too (not optimised: in
 * the promise's constructor).
 */
#ifndef WEFT_CORO_HPP
#define WEFT_CORO_HPP

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <weft/coro.h>

namespace weft::coro
{

namespace detail
{

/** The coroutine of a promise: born with it, over with it at the latest. Not moved. */
class born
{
      public:
	born(const born &) = delete;
	born &operator=(const born &) = delete;

	/** For weft_coro_payload(), weft_coro_wake() and the like. */
	[[nodiscard]] ::weft_coro &weft_coroutine() noexcept
	{
		return coro_;
	}

      protected:
	[[gnu::always_inline]] explicit born(std::uint32_t flags = 0) noexcept
	{
		create(flags);
	}
	~born()
	{
		::weft_coro_destroy(&coro_);
	}

      private:
	/* Not inlined: it returns into the function that is the coroutine. */
	[[gnu::noinline]] void create(std::uint32_t flags) noexcept
	{
		::weft_coro_options options = {};

		options.size = sizeof(options);
		options.site = __builtin_extract_return_addr(__builtin_return_address(0));
		options.language = WEFT_CTP_CPP;
		options.flags = flags;
		::weft_coro_create(&coro_, &options);
	}

	::weft_coro coro_;
};

template <typename P>
concept has_coroutine = requires(P &promise)
{
	{
		promise.weft_coroutine()
		} -> std::same_as<::weft_coro &>;
};

template <typename T>
concept has_member_co_await = requires(T &&t)
{
	static_cast<T &&>(t).operator co_await();
};

template <typename T>
concept has_free_co_await = requires(T &&t)
{
	operator co_await(static_cast<T &&>(t));
};

/* The awaiter of an awaitable, as co_await finds it. */
template <typename T> decltype(auto) awaiter_of(T &&awaitable)
{
	if constexpr (has_member_co_await<T>)
		return static_cast<T &&>(awaitable).operator co_await();
	else if constexpr (has_free_co_await<T>)
		return operator co_await(static_cast<T &&>(awaitable));
	else
		return static_cast<T &&>(awaitable);
}

/* A class that takes the name for ambiguous has a member of that name, of whatever kind. */
struct any_await_transform {
	void await_transform();
};
struct any_yield_value {
	void yield_value();
};
template <typename P> struct with_await_transform : P, any_await_transform {
};
template <typename P> struct with_yield_value : P, any_yield_value {
};
template <typename P>
concept has_await_transform = !requires
{
	&with_await_transform<P>::await_transform;
};
template <typename P>
concept has_yield_value = !requires
{
	&with_yield_value<P>::yield_value;
};

/* A handle that the awaiter takes: that of the promise, or of the one that was wrapped. */
template <typename Awaiter, typename P>
decltype(auto) handle_for(std::coroutine_handle<P> handle) noexcept
{
	if constexpr (requires(Awaiter & awaiter) { awaiter.await_suspend(handle); })
		return handle;
	else
		return std::coroutine_handle<typename P::wrapped>::from_address(handle.address());
}

/* Not folded into the caller's knowledge: a call whose result is known can become a jump, and then
 * its return address is another's. */
[[gnu::always_inline]] inline bool suspended_for_sure() noexcept
{
	bool yes = true;

	__asm__ volatile("" : "+r"(yes));
	return yes;
}

/** At which of its points a coroutine waits. */
enum class point { body, start, end };

/**
 * Stands between co_await and an awaiter. @Awaitable is a reference, or what a function returned
 * by value: then it lives here, since nothing else keeps it.
 */
template <typename Awaitable, point at> class [[nodiscard]] traced_awaiter
{
      public:
	using is_traced = void;

	template <typename Make>
	explicit traced_awaiter(::weft_coro *coro, Make &&make)
	    : awaitable_(std::forward<Make>(make)()),
	      awaiter_(awaiter_of(static_cast<Awaitable &&>(awaitable_))), coro_(coro)
	{
	}
	traced_awaiter(const traced_awaiter &) = delete;
	traced_awaiter &operator=(const traced_awaiter &) = delete;

	[[gnu::always_inline]] decltype(auto)
	await_ready() noexcept(noexcept(std::declval<awaiter &>().await_ready()))
	{
		return awaiter_.await_ready();
	}

	/* Not inlined: for its return address, and because compilers may put what is local to an
	 * inlined one into the frame, which is not ours any more once it is on offer. */
	template <typename P>
	[[gnu::noinline]] auto await_suspend(std::coroutine_handle<P> handle) noexcept(
		noexcept(std::declval<awaiter &>().await_suspend(handle_for<awaiter>(handle))))
	{
		site_ = __builtin_extract_return_addr(__builtin_return_address(0));
		if constexpr (has_coroutine<P>)
			coro_ = &handle.promise().weft_coroutine();
		offer();
		return call(handle_for<awaiter>(handle));
	}

	[[gnu::always_inline]] decltype(auto)
	await_resume() noexcept(noexcept(std::declval<awaiter &>().await_resume()))
	{
		if constexpr (at == point::start)
			begin();
		else if constexpr (at == point::end)
			finish();
		else if (is_suspended_)
			go_on();
		return awaiter_.await_resume();
	}

      private:
	using found = decltype(awaiter_of(std::declval<Awaitable>()));
	using awaiter = std::remove_reference_t<found>;

	/* Before anybody else can have the coroutine. */
	void offer() noexcept
	{
		if (at == point::start || !coro_)
			return;
		if (coro_->state != WEFT_CTP_RUNNING) /* its start was not traced */
			::weft_coro_resume(coro_, site_);
		::weft_coro_suspend(coro_, site_);
		if (at == point::end)
			::weft_coro_destroy(coro_);
		else
			is_suspended_ = true;
	}

	template <typename Handle> auto call(Handle handle)
	{
		using result = decltype(awaiter_.await_suspend(handle));

		if constexpr (noexcept(awaiter_.await_suspend(handle))) {
			return pass<result>(handle);
		} else {
#if defined(__cpp_exceptions)
			try {
				return pass<result>(handle);
			} catch (...) { /* it runs on, and await_resume is not called */
				if (is_suspended_)
					go_on();
				throw;
			}
#else
			return pass<result>(handle);
#endif
		}
	}

	template <typename Result, typename Handle> auto pass(Handle handle)
	{
		if constexpr (std::is_void_v<Result>) {
			awaiter_.await_suspend(handle);
			return suspended_for_sure();
		} else {
			return awaiter_.await_suspend(handle);
		}
	}

	/* Not inlined, all three: what is the thread's own is not to be looked up in a function
	 * that goes from thread to thread. */
	[[gnu::noinline]] void go_on() noexcept
	{
		is_suspended_ = false;
		::weft_coro_resume(coro_, site_);
	}
	[[gnu::noinline]] void begin() noexcept
	{
		site_ = __builtin_extract_return_addr(__builtin_return_address(0));
		if (coro_)
			::weft_coro_resume(coro_, site_);
	}
	/* The final awaiter was ready: the frame goes now. */
	[[gnu::noinline]] void finish() noexcept
	{
		site_ = __builtin_extract_return_addr(__builtin_return_address(0));
		offer();
	}

	Awaitable awaitable_;
	found awaiter_;
	::weft_coro *coro_;
	const void *site_ = nullptr;
	bool is_suspended_ = false;
};

template <typename T>
concept is_traced_awaiter = requires
{
	typename std::remove_cvref_t<T>::is_traced;
};

/* For what is traced already. Inlined: the return address is still the coroutine's. */
template <typename Awaiter> class [[nodiscard]] passed_on
{
      public:
	using is_traced = void;

	explicit passed_on(Awaiter &awaiter) noexcept : awaiter_(awaiter)
	{
	}
	[[gnu::always_inline]] decltype(auto)
	await_ready() noexcept(noexcept(std::declval<Awaiter &>().await_ready()))
	{
		return awaiter_.await_ready();
	}
	template <typename P>
	[[gnu::always_inline]] auto await_suspend(std::coroutine_handle<P> handle) noexcept(
		noexcept(std::declval<Awaiter &>().await_suspend(handle)))
	{
		return awaiter_.await_suspend(handle);
	}
	[[gnu::always_inline]] decltype(auto)
	await_resume() noexcept(noexcept(std::declval<Awaiter &>().await_resume()))
	{
		return awaiter_.await_resume();
	}

      private:
	Awaiter &awaiter_;
};

/* @make returns the awaitable; a temporary of its own is made where it stays. */
template <point at, typename Make> auto trace(::weft_coro *coro, Make &&make)
{
	return traced_awaiter<std::invoke_result_t<Make>, at>(coro, std::forward<Make>(make));
}

} // namespace detail

/**
 * An awaitable whose suspensions are told, where the coroutine is a traced one (else it is as
 * before). For a promise's own await_transform or yield_value, and beside co_await. Refers to
 * @awaitable, which co_await keeps alive; one that is traced already counts once.
 */
template <typename T> [[nodiscard]] auto traced(T &&awaitable)
{
	if constexpr (detail::is_traced_awaiter<T>)
		return detail::passed_on(awaitable);
	else
		return detail::trace<detail::point::body>(
			nullptr, [&]() -> T && { return static_cast<T &&>(awaitable); });
}

/** The same for what is not kept alive by co_await (a local, made in await_transform): keeps it. */
template <typename T> [[nodiscard]] auto traced_copy(T awaitable)
{
	return detail::trace<detail::point::body>(nullptr,
						  [&]() -> T { return std::move(awaitable); });
}

/**
 * A base of promises. Begins and ends suspended (std::suspend_always) where the promise does not
 * say otherwise; then it wraps what it returns by traced_start() and traced_end().
 */
class promise : public detail::born
{
      public:
	[[gnu::always_inline]] promise() noexcept = default;

	/** For initial_suspend(): @awaitable is kept. */
	template <typename T> [[nodiscard]] auto traced_start(T awaitable) noexcept
	{
		return detail::trace<detail::point::start>(
			&weft_coroutine(), [&]() -> T { return std::move(awaitable); });
	}
	/** For final_suspend(): @awaitable is kept. */
	template <typename T> [[nodiscard]] auto traced_end(T awaitable) noexcept
	{
		return detail::trace<detail::point::end>(
			&weft_coroutine(), [&]() -> T { return std::move(awaitable); });
	}

	auto initial_suspend() noexcept
	{
		return traced_start(std::suspend_always{});
	}
	auto final_suspend() noexcept
	{
		return traced_end(std::suspend_always{});
	}
	template <typename T> [[nodiscard]] auto await_transform(T &&awaitable)
	{
		return traced(static_cast<T &&>(awaitable));
	}

      protected:
	/** @flags: enum weft_coro_flag. */
	[[gnu::always_inline]] explicit promise(std::uint32_t flags) noexcept : born(flags)
	{
	}
	~promise() = default;
};

/**
 * A promise that was not written for this, traced. @P stays at the front, so that its own
 * std::coroutine_handle<P>::from_promise() finds the frame; awaiters that ask for a
 * std::coroutine_handle<P> get one. @P is not final, and of an alignment of 16 at the most.
 */
template <typename P> class traced_promise : public P, public detail::born
{
	static_assert(alignof(P) <= 2 * alignof(void *) || alignof(P) >= alignof(::weft_coro),
		      "handles of both promises find one frame");

      public:
	using wrapped = P;

	[[gnu::always_inline]] traced_promise() requires std::default_initializable<P>
	= default;
	/** The parameters of the coroutine, where @P takes them. */
	template <typename... Args>
	requires(sizeof...(Args) > 0 && std::constructible_from<P, Args...>)
		[[gnu::always_inline]] explicit traced_promise(Args &&...args)
	    : P(std::forward<Args>(args)...)
	{
	}

	auto initial_suspend()
	{
		return detail::trace<detail::point::start>(
			&weft_coroutine(),
			[this]() -> decltype(auto) { return P::initial_suspend(); });
	}
	auto final_suspend() noexcept
	{
		return detail::trace<detail::point::end>(
			&weft_coroutine(),
			[this]() noexcept -> decltype(auto) { return P::final_suspend(); });
	}
	template <typename T>
	[[nodiscard]] auto await_transform(T &&awaitable) requires(!detail::has_await_transform<P>)
	{
		return traced(static_cast<T &&>(awaitable));
	}
	template <typename T>
	[[nodiscard]] auto await_transform(T &&awaitable) requires(requires(P &own) {
		own.await_transform(static_cast<T &&>(awaitable));
	})
	{
		return again([&]() -> decltype(auto) {
			return P::await_transform(static_cast<T &&>(awaitable));
		});
	}
	template <typename T>
	[[nodiscard]] auto yield_value(T &&value) requires(requires(P &own) {
		own.yield_value(static_cast<T &&>(value));
	})
	{
		return again([&]() -> decltype(auto) {
			return P::yield_value(static_cast<T &&>(value));
		});
	}

      private:
	/* What @P made of it, traced, but not twice. */
	template <typename Make> auto again(Make &&make)
	{
		if constexpr (detail::is_traced_awaiter<std::invoke_result_t<Make>>)
			return make();
		else
			return detail::trace<detail::point::body>(&weft_coroutine(),
								  std::forward<Make>(make));
	}
};

/** Whoever makes a coroutine runnable says so (optional): before it can run. */
template <detail::has_coroutine P> void wake(std::coroutine_handle<P> handle) noexcept
{
	::weft_coro_wake(&handle.promise().weft_coroutine());
}

/** Up to 28 bytes that go along with the next event of the coroutine that runs here; how many. */
[[gnu::noinline]] inline std::size_t payload(std::span<const std::byte> bytes) noexcept
{
	::weft_coro *coro = ::weft_coro_running();

	return coro ? ::weft_coro_payload(coro, bytes.data(), bytes.size()) : 0;
}

} // namespace weft::coro

#endif
