/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft_event.hpp
 * Typed events for C++17 and later: a type is declared once, with the C++ types of its fields; what
 * is committed is checked against them when it is compiled. Header only, over weft/event.h, which
 * has the rules (contexts, settings, threads, signals, cost); link with -lweft (or libweft.a).
 *
 *     static weft::event_type<std::int64_t, std::string_view>
 *             order_placed("shop.OrderPlaced", weft::event_options().label("Order Placed").stack(),
 *                          {"order"}, {"customer"});
 *
 *     void place(const order &o)
 *     {
 *             weft::event event(order_placed);
 *             ...
 *             event.commit(o.number, o.customer);
 *     } // on another way out: nothing is recorded
 *
 * Nothing here throws, allocates or locks, but for a type's first use (a lock). A type is meant to
 * be static and is constant-initialised; it is named by literals, or texts that live as long.
 */
#ifndef WEFT_EVENT_HPP
#define WEFT_EVENT_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <weft/event.h>

namespace weft
{

/** A string of weft_tag_intern(): in the pool, its id in the event. */
struct pooled {
	std::uint32_t id; /**< 0 = null */
};

/** A thread of this process. */
struct thread_id {
	std::int32_t tid; /**< of gettid(); 0 = none */
};

/** A span's id: 16 hexadecimal digits in the file. */
struct span_id {
	std::uint64_t id; /**< 0 = none */
};

/** A field beside its C++ type. @content: enum weft_event_content. */
struct event_field {
	const char *name; /**< a Java identifier */
	unsigned int content = 0;
	const char *label = nullptr;
	const char *description = nullptr;
};

/** Everything of a type but its name and fields. */
class event_options
{
      public:
	constexpr event_options() noexcept = default;
	constexpr event_options label(const char *text) const noexcept
	{
		return with(&event_options::label_, text);
	}
	constexpr event_options description(const char *text) const noexcept
	{
		return with(&event_options::description_, text);
	}
	/** "Shop|Orders": outermost first. */
	constexpr event_options category(const char *text) const noexcept
	{
		return with(&event_options::category_, text);
	}
	/** "20 ms": the default. */
	constexpr event_options threshold(const char *text) const noexcept
	{
		return with(&event_options::threshold_, text);
	}
	/** "100/s": the default. */
	constexpr event_options throttle(const char *text) const noexcept
	{
		return with(&event_options::throttle_, text);
	}
	/** "if-context", "if-triggered": the default. */
	constexpr event_options select(const char *text) const noexcept
	{
		return with(&event_options::select_, text);
	}
	/** It has a stack trace. */
	constexpr event_options stack() const noexcept
	{
		return with(WEFT_EVENT_STACK);
	}
	/** It carries context from begin to end. */
	constexpr event_options contextual() const noexcept
	{
		return with(WEFT_EVENT_CONTEXTUAL);
	}
	/** It has no duration. */
	constexpr event_options instant() const noexcept
	{
		return with(WEFT_EVENT_INSTANT);
	}
	/** Not recorded unless a setting says so. */
	constexpr event_options off() const noexcept
	{
		return with(WEFT_EVENT_OFF);
	}
	constexpr event_options experimental() const noexcept
	{
		return with(WEFT_EVENT_EXPERIMENTAL);
	}

      private:
	template <typename...> friend class event_type;

	constexpr event_options with(const char *event_options::*which,
				     const char *text) const noexcept
	{
		event_options all = *this;
		all.*which = text;
		return all;
	}
	constexpr event_options with(std::uint32_t flag) const noexcept
	{
		event_options all = *this;
		all.flags_ |= flag;
		return all;
	}

	const char *label_ = nullptr, *description_ = nullptr, *category_ = nullptr;
	const char *threshold_ = nullptr, *throttle_ = nullptr, *select_ = nullptr;
	std::uint32_t flags_ = 0;
};

namespace detail
{

/* What a C++ type is in an event: its kind, what its number means, its value. */
template <typename T> struct event_kind {
	static_assert(!std::is_same_v<T, T>, "no field of an event can have this type");
};

template <weft_event_kind Kind, typename T, unsigned int Content = 0> struct number_kind {
	static constexpr weft_event_kind kind = Kind;
	static constexpr unsigned int content = Content;
	static ::weft_event_value value(T number) noexcept
	{
		::weft_event_value v{};
		v.number = static_cast<std::int64_t>(number);
		return v;
	}
};

template <weft_event_kind Kind, typename T> struct real_kind {
	static constexpr weft_event_kind kind = Kind;
	static constexpr unsigned int content = 0;
	static ::weft_event_value value(T real) noexcept
	{
		::weft_event_value v{};
		v.real = static_cast<double>(real);
		return v;
	}
};

template <> struct event_kind<bool> : number_kind<WEFT_EVENT_BOOLEAN, bool> {
};
template <> struct event_kind<char16_t> : number_kind<WEFT_EVENT_CHAR, char16_t> {
};
template <> struct event_kind<std::int8_t> : number_kind<WEFT_EVENT_BYTE, std::int8_t> {
};
template <> struct event_kind<std::int16_t> : number_kind<WEFT_EVENT_SHORT, std::int16_t> {
};
template <> struct event_kind<std::int32_t> : number_kind<WEFT_EVENT_INT, std::int32_t> {
};
template <> struct event_kind<long> : number_kind<WEFT_EVENT_LONG, long> {
};
template <> struct event_kind<long long> : number_kind<WEFT_EVENT_LONG, long long> {
};
/* Smaller unsigned numbers fit into the next signed kind. */
template <> struct event_kind<std::uint8_t> : number_kind<WEFT_EVENT_SHORT, std::uint8_t> {
};
template <> struct event_kind<std::uint16_t> : number_kind<WEFT_EVENT_INT, std::uint16_t> {
};
template <> struct event_kind<std::uint32_t> : number_kind<WEFT_EVENT_LONG, std::uint32_t> {
};
template <>
struct event_kind<unsigned long>
    : number_kind<WEFT_EVENT_LONG, unsigned long, WEFT_EVENT_UNSIGNED> {
};
template <>
struct event_kind<unsigned long long>
    : number_kind<WEFT_EVENT_LONG, unsigned long long, WEFT_EVENT_UNSIGNED> {
};
template <> struct event_kind<float> : real_kind<WEFT_EVENT_FLOAT, float> {
};
template <> struct event_kind<double> : real_kind<WEFT_EVENT_DOUBLE, double> {
};

template <> struct event_kind<std::string_view> {
	static constexpr weft_event_kind kind = WEFT_EVENT_STRING;
	static constexpr unsigned int content = 0;
	static ::weft_event_value value(std::string_view text) noexcept
	{
		::weft_event_value v{};
		v.text = text.data();
		v.bytes = text.size();
		return v;
	}
};
/* NULL is null. */
template <> struct event_kind<const char *> {
	static constexpr weft_event_kind kind = WEFT_EVENT_STRING;
	static constexpr unsigned int content = 0;
	static ::weft_event_value value(const char *text) noexcept
	{
		::weft_event_value v{};
		v.text = text;
		v.bytes = SIZE_MAX;
		return v;
	}
};
template <> struct event_kind<pooled> {
	static constexpr weft_event_kind kind = WEFT_EVENT_STRING_POOLED;
	static constexpr unsigned int content = 0;
	static ::weft_event_value value(pooled string) noexcept
	{
		return number_kind<kind, std::uint32_t>::value(string.id);
	}
};
template <> struct event_kind<thread_id> {
	static constexpr weft_event_kind kind = WEFT_EVENT_THREAD;
	static constexpr unsigned int content = 0;
	static ::weft_event_value value(thread_id thread) noexcept
	{
		return number_kind<kind, std::int32_t>::value(thread.tid);
	}
};
template <> struct event_kind<span_id> {
	static constexpr weft_event_kind kind = WEFT_EVENT_ID;
	static constexpr unsigned int content = 0;
	static ::weft_event_value value(span_id span) noexcept
	{
		return number_kind<kind, std::uint64_t>::value(span.id);
	}
};

template <typename T> using field_for = event_field;

/* Values in order of fields; one more, for an event may have none. */
template <typename... Args> struct event_values {
	::weft_event_value values[sizeof...(Args) + 1];

	explicit event_values(const Args &...args) noexcept
	    : values{event_kind<Args>::value(args)..., ::weft_event_value{}}
	{
	}
};

} // namespace detail

/** A type of event whose fields have these types. */
template <typename... Args> class event_type
{
	static_assert(sizeof...(Args) <= WEFT_EVENT_FIELDS_MAX, "too many fields");

      public:
	constexpr event_type(const char *name, const event_options &options,
			     detail::field_for<Args>... fields) noexcept
	    : fields_{c_field<Args>(fields)...}
	{
		type_.name = name;
		type_.label = options.label_;
		type_.description = options.description_;
		type_.category = options.category_;
		type_.fields = fields_.data();
		type_.field_count = static_cast<std::uint32_t>(sizeof...(Args));
		type_.flags = options.flags_;
		type_.threshold = options.threshold_;
		type_.throttle = options.throttle_;
		type_.select = options.select_;
	}
	event_type(const event_type &) = delete;
	event_type &operator=(const event_type &) = delete;

	/** A load and a branch. */
	[[nodiscard]] bool is_on() noexcept
	{
		return ::weft_event_is_on(&type_) != 0;
	}
	/** Make it known now: in signal handlers it must not be used for the first time. */
	void enrol() noexcept
	{
		::weft_event_type_enrol(&type_);
	}
	/** An event without a duration, now. True: it is in the ring. */
	bool emit(const Args &...args) noexcept
	{
		if (!is_on())
			return false;
		const detail::event_values<Args...> v(args...);

		return ::weft_event_put_now(&type_, v.values, sizeof...(Args)) != 0;
	}
	/** One whose times are known: CLOCK_MONOTONIC. */
	bool emit_at(std::uint64_t begin_ns, std::uint64_t end_ns, const Args &...args) noexcept
	{
		if (!is_on())
			return false;
		const detail::event_values<Args...> v(args...);

		return ::weft_event_put_at(&type_, begin_ns, end_ns, v.values, sizeof...(Args)) !=
		       0;
	}

	/** For the C functions. */
	[[nodiscard]] ::weft_event_type *c_type() noexcept
	{
		return &type_;
	}

      private:
	template <typename T>
	static constexpr ::weft_event_field c_field(event_field field) noexcept
	{
		return {field.name, detail::event_kind<T>::kind,
			field.content | detail::event_kind<T>::content, field.label,
			field.description};
	}

	std::array<::weft_event_field, sizeof...(Args)> fields_;
	::weft_event_type type_{};
};

/** An event from here on; cancelled where it ends without having been committed. */
template <typename... Args> class [[nodiscard]] event
{
      public:
	[[nodiscard]] explicit event(event_type<Args...> &type) noexcept
	{
		::weft_event_begin(&event_, type.c_type());
	}
	event(const event &) = delete;
	event &operator=(const event &) = delete;
	~event()
	{
		cancel();
	}

	/** It ends now; commit() does it if need be. */
	void end() noexcept
	{
		::weft_event_end(&event_);
	}
	/** Ask before values are computed that cost much. False: it is over. */
	[[nodiscard]] bool should_commit() noexcept
	{
		return ::weft_event_should_commit(&event_) != 0;
	}
	/** True: it is in the ring. A second time: nothing. */
	bool commit(const Args &...args) noexcept
	{
		if (!should_commit())
			return false;
		const detail::event_values<Args...> v(args...);

		return ::weft_event_put(&event_, v.values, sizeof...(Args)) != 0;
	}
	/** It is not to be recorded. */
	void cancel() noexcept
	{
		::weft_event_cancel(&event_);
	}

      private:
	::weft_event event_;
};

/** A span with a clock: weft_span_begin() here, weft_span_end() where the guard ends. */
class [[nodiscard]] timed_span
{
      public:
	/** @name lives as long as the guard. */
	[[nodiscard]] timed_span(const char *name, std::uint64_t span_id,
				 std::uint64_t root_span_id) noexcept
	{
		::weft_span_begin(&span_, name, span_id, root_span_id);
	}
	timed_span(const timed_span &) = delete;
	timed_span &operator=(const timed_span &) = delete;
	~timed_span()
	{
		leave();
	}

	/** End it now; true: its event is in the ring. A second time does nothing. */
	bool leave() noexcept
	{
		const bool first = !is_left_;

		is_left_ = true;
		return first && ::weft_span_end(&span_) != 0;
	}

      private:
	::weft_span span_;
	bool is_left_ = false;
};

} // namespace weft

#endif
