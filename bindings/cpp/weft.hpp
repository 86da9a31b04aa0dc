/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft.hpp
 * What a thread works for, for C++17 and later: guards that set a span or a label where they are
 * made and put back what was there where they end, on every way out of a block, exceptions too.
 * Header only, over the C functions of weft/context.h and weft/labels.h; link with -lweft (or
 * libweft.a).
 *
 *     void handle(const request &r)
 *     {
 *             weft::span span(r.span_id, r.root_span_id);
 *             weft::label tenant("tenant", r.tenant);
 *             work(r);
 *     }
 *
 * Nothing here throws, allocates or locks, but that weft::prepared takes and gives memory.
 * Everything acts on the calling thread: a guard ends on the thread that made it (it is movable so
 * that functions can return it, not to be handed to another thread). Guards end in the reverse of
 * their order, as blocks make them do. Labels are not for signal handlers; spans are, as in C.
 */
#ifndef WEFT_HPP
#define WEFT_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/abi/custom_labels_v1.h>
#include <weft/context.h>
#include <weft/labels.h>
#include <weft/prepared.h>

namespace weft
{

using ids = ::weft_ids;
using label_result = ::weft_label_result;
using trace_id = std::array<std::uint8_t, 16>; /**< W3C byte order; zeros = none */

/** Did the call do what was asked, perhaps with a string cut? */
[[nodiscard]] constexpr bool is_done(label_result result) noexcept
{
	return result >= WEFT_LABEL_SET;
}

/** The whole context of a thread: ids, trace id, tags. All zero at first. */
struct context : ::weft_context {
	context() noexcept : ::weft_context{}
	{
	}
	context(std::uint64_t span, std::uint64_t root) noexcept : ::weft_context{}
	{
		span_id = span;
		root_span_id = root;
	}
	context(std::uint64_t span, std::uint64_t root, const weft::trace_id &id,
		std::uint32_t flags = 1) noexcept
	    : context(span, root)
	{
		std::memcpy(::weft_context::trace_id, id.data(), id.size());
		trace_flags = flags;
	}
	/** Tag @n (0 .. WEFT_TAGS - 1; others are passed over) is @id, of weft_tag_intern(). */
	context &tag(unsigned int n, std::uint32_t id) noexcept
	{
		if (n < WEFT_TAGS)
			tags[n] = id;
		return *this;
	}
};

/** The ids that the thread last set; zeros when none. */
[[nodiscard]] inline ids current() noexcept
{
	return ::weft_context_get();
}

namespace detail
{

/* The C functions take NULL for "remove"; an empty view may have it. */
[[nodiscard]] inline const char *bytes_of(std::string_view text) noexcept
{
	return text.data() ? text.data() : "";
}

} // namespace detail

/** Set a label until it is set again: no guard. */
inline label_result set_label(std::string_view key, std::string_view value) noexcept
{
	return ::weft_label_set_bytes(detail::bytes_of(key), key.size(), detail::bytes_of(value),
				      value.size());
}

/** Take a label away: WEFT_LABEL_REMOVED, WEFT_LABEL_ABSENT, or what is not done. */
inline label_result remove_label(std::string_view key) noexcept
{
	return ::weft_label_set_bytes(detail::bytes_of(key), key.size(), nullptr, 0);
}

/** All labels but weft's own two; how many went. */
inline std::size_t clear_labels() noexcept
{
	return ::weft_labels_clear();
}

/** A label's value, copied. */
class label_value
{
      public:
	[[nodiscard]] std::string_view view() const noexcept
	{
		return {bytes_.data(), size_};
	}
	operator std::string_view() const noexcept
	{
		return view();
	}

      private:
	friend std::optional<label_value> get_label(std::string_view key) noexcept;
	friend class label;

	/* Not there: false. */
	bool read(std::string_view key) noexcept
	{
		const auto size = ::weft_label_get_bytes(detail::bytes_of(key), key.size(),
							 bytes_.data(), bytes_.size());

		size_ = size < 0 ? 0 : static_cast<std::size_t>(size);
		if (size_ > bytes_.size())
			size_ = bytes_.size();
		return size >= 0;
	}
	void copy(const label_value &other) noexcept
	{
		size_ = other.size_;
		std::memcpy(bytes_.data(), other.bytes_.data(), size_);
	}

	std::array<char, WEFT_CUSTOM_LABELS_VALUE_BYTES> bytes_; /* the first size_ are set */
	std::size_t size_ = 0;
};

/** The value of a label (reserved ones, too), or nothing. */
[[nodiscard]] inline std::optional<label_value> get_label(std::string_view key) noexcept
{
	std::optional<label_value> value(std::in_place);

	if (!value->read(key))
		value.reset();
	return value;
}

/**
 * Call @f(key, value) for every label of the thread, weft's own first. @f writes no labels, and
 * what it throws ends the program; the views are valid during the call.
 */
template <typename F> void each_label(F &&f) noexcept
{
	using function = std::remove_reference_t<F>;
	static_assert(std::is_invocable_v<function &, std::string_view, std::string_view>);

	::weft_labels_each(
		[](void *arg, const char *key, std::size_t key_bytes, const char *value,
		   std::size_t value_bytes) noexcept -> int {
			(*static_cast<function *>(arg))(std::string_view(key, key_bytes),
							std::string_view(value, value_bytes));
			return 0;
		},
		const_cast<void *>(static_cast<const void *>(std::addressof(f))));
}

/**
 * Ids, tags and labels that change as one: a reader sees all of it or nothing. The strings are
 * used by apply() (or by a span made of it), and must live until then.
 */
class update
{
      public:
	static constexpr std::size_t room = WEFT_CUSTOM_LABELS_MOST;

	update() noexcept = default;
	explicit update(const ::weft_context &context) noexcept : context_(context)
	{
	}

	update &set(std::string_view key, std::string_view value) noexcept
	{
		return add(key, detail::bytes_of(value), value.size());
	}
	update &remove(std::string_view key) noexcept
	{
		return add(key, nullptr, 0);
	}
	/** Labels that are not named here go. */
	update &replace() noexcept
	{
		flags_ |= WEFT_UPDATE_REPLACE;
		return *this;
	}
	/** Done, or the first label's result that is not; the other labels took effect. */
	label_result apply() noexcept
	{
		const label_result result =
			::weft_context_update(context_ ? &*context_ : nullptr,
					      count_ ? labels_.data() : nullptr, count_, flags_);

		return is_done(result) && overflown_ ? WEFT_LABEL_NO_ROOM : result;
	}
	/** What became of the @n-th label, after apply(). */
	[[nodiscard]] label_result result(std::size_t n) const noexcept
	{
		return n < count_ ? labels_[n].result : WEFT_LABEL_NO_ROOM;
	}

      private:
	update &add(std::string_view key, const char *value, std::size_t bytes) noexcept
	{
		if (count_ == room) {
			overflown_ = true;
			return *this;
		}
		labels_[count_++] = {detail::bytes_of(key), key.size(), value, bytes,
				     WEFT_LABEL_SET};
		return *this;
	}

	std::optional<::weft_context> context_;
	std::array<::weft_label, room> labels_; /* the first count_ are set */
	std::size_t count_ = 0;
	unsigned int flags_ = 0;
	bool overflown_ = false;
};

/**
 * The thread works for a span until the guard ends; then everything is as it was: ids, trace id,
 * tags and labels, whatever was set meanwhile.
 */
class [[nodiscard]] span
{
      public:
	/** Ids alone; tags and labels stay. */
	[[nodiscard]] span(std::uint64_t span_id, std::uint64_t root_span_id) noexcept
	{
		::weft_scope_enter(&scope_, nullptr);
		::weft_context_set(span_id, root_span_id);
	}
	/** The whole context; labels stay. */
	[[nodiscard]] explicit span(const ::weft_context &context) noexcept
	{
		::weft_scope_enter(&scope_, &context);
	}
	[[nodiscard]] span(std::uint64_t span_id, std::uint64_t root_span_id, const trace_id &id,
			   std::uint32_t flags = 1) noexcept
	    : span(context(span_id, root_span_id, id, flags))
	{
	}
	/** All that the update names, as one. */
	[[nodiscard]] explicit span(update &all) noexcept
	{
		::weft_scope_enter(&scope_, nullptr);
		all.apply();
	}
	[[nodiscard]] explicit span(update &&all) noexcept : span(all)
	{
	}

	span(span &&other) noexcept : scope_(other.scope_)
	{
		other.scope_.done = 1;
	}
	span(const span &) = delete;
	span &operator=(const span &) = delete;
	span &operator=(span &&) = delete;
	~span()
	{
		leave();
	}

	/** End it now. A second time does nothing. */
	void leave() noexcept
	{
		::weft_scope_leave(&scope_);
	}

      private:
	::weft_scope scope_;
};

/** A label until the guard ends; then it has its value of before again, or is absent. */
class [[nodiscard]] label
{
      public:
	[[nodiscard]] label(std::string_view key, std::string_view value) noexcept
	{
		was_there_ = old_.read(key);
		result_ = set_label(key, value);
		/* One byte more than is kept tells where between characters it is cut. */
		key_bytes_ = key.size() < key_.size() ? key.size() : key_.size();
		if (is_done(result_))
			std::memcpy(key_.data(), key.data(), key_bytes_);
	}
	label(label &&other) noexcept
	    : key_bytes_(other.key_bytes_), was_there_(other.was_there_), is_left_(other.is_left_),
	      result_(other.result_)
	{
		if (is_done(result_))
			std::memcpy(key_.data(), other.key_.data(), key_bytes_);
		old_.copy(other.old_);
		other.is_left_ = true;
	}
	label(const label &) = delete;
	label &operator=(const label &) = delete;
	label &operator=(label &&) = delete;
	~label()
	{
		leave();
	}

	/** What setting it did. */
	[[nodiscard]] label_result result() const noexcept
	{
		return result_;
	}

	/** End it now. A second time does nothing. */
	void leave() noexcept
	{
		if (is_left_ || !is_done(result_))
			return;
		is_left_ = true;
		if (was_there_)
			set_label({key_.data(), key_bytes_}, old_);
		else
			remove_label({key_.data(), key_bytes_});
	}

      private:
	std::array<char, WEFT_CUSTOM_LABELS_KEY_BYTES + 1> key_; /* the first key_bytes_ are set */
	std::size_t key_bytes_ = 0;
	label_value old_;
	bool was_there_ = false;
	bool is_left_ = false;
	label_result result_ = WEFT_LABEL_INVALID;
};

/**
 * A context with its labels, made once: weft::attach shows it on a thread. It never changes; any
 * number of threads may have it attached. Where weft finds no memory it is empty, and attaching it
 * changes nothing. What is attached may outlive it.
 */
class prepared
{
      public:
	prepared() noexcept = default;
	template <std::size_t N>
	explicit prepared(const context &of,
			  const std::pair<std::string_view, std::string_view> (&labels)[N]) noexcept
	{
		::weft_label batch[N];

		for (std::size_t i = 0; i < N; i++)
			batch[i] = {detail::bytes_of(labels[i].first), labels[i].first.size(),
				    detail::bytes_of(labels[i].second), labels[i].second.size(),
				    WEFT_LABEL_INVALID};
		of_ = ::weft_context_prepare(&of, batch, N);
	}
	explicit prepared(const context &of) noexcept : of_(::weft_context_prepare(&of, nullptr, 0))
	{
	}
	prepared(prepared &&other) noexcept : of_(std::exchange(other.of_, nullptr))
	{
	}
	prepared &operator=(prepared &&other) noexcept
	{
		std::swap(of_, other.of_);
		return *this;
	}
	prepared(const prepared &) = delete;
	prepared &operator=(const prepared &) = delete;
	~prepared()
	{
		::weft_context_free(of_);
	}

	[[nodiscard]] const ::weft_prepared *get() const noexcept
	{
		return of_;
	}

      private:
	::weft_prepared *of_ = nullptr;
};

/** The thread works for a prepared context until the guard ends. */
class [[nodiscard]] attach
{
      public:
	[[nodiscard]] explicit attach(const prepared &p) noexcept
	{
		::weft_context_attach(&before_, p.get());
	}
	attach(const attach &) = delete;
	attach &operator=(const attach &) = delete;
	~attach()
	{
		::weft_context_detach(&before_);
	}

      private:
	::weft_attached before_;
};

} // namespace weft

#endif
