/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file api.h
 * As much of OpenTelemetry C++'s API (version 1, its own containers replaced by the standard
 * library's, as OPENTELEMETRY_STL_VERSION does) as bindings/cpp/weft_otel.hpp uses and programs
 * need to make spans current: names, signatures, constness, what is noexcept, and what contexts and
 * tokens compare, as documented. For machines on which no package has the real one.
 */
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace opentelemetry
{
inline namespace v1
{
namespace nostd
{
using std::get;
using std::holds_alternative;
using std::monostate;
using std::shared_ptr;
using std::string_view;
using std::unique_ptr;
using std::variant;

/* The part of a span of fixed size that ids need. */
template <typename T, std::size_t N> class span
{
      public:
	span(T *data) noexcept : data_(data)
	{
	}
	T *data() const noexcept
	{
		return data_;
	}
	T *begin() const noexcept
	{
		return data_;
	}
	T *end() const noexcept
	{
		return data_ + N;
	}

      private:
	T *data_;
};
} // namespace nostd

namespace trace
{

template <std::size_t N> class Bytes
{
      public:
	Bytes() noexcept : bytes_{}
	{
	}
	explicit Bytes(nostd::span<const std::uint8_t, N> id) noexcept
	{
		std::copy(id.begin(), id.end(), bytes_.begin());
	}
	nostd::span<const std::uint8_t, N> Id() const noexcept
	{
		return nostd::span<const std::uint8_t, N>(bytes_.data());
	}
	bool IsValid() const noexcept
	{
		return bytes_ != std::array<std::uint8_t, N>{};
	}
	bool operator==(const Bytes &other) const noexcept
	{
		return bytes_ == other.bytes_;
	}

      private:
	std::array<std::uint8_t, N> bytes_;
};

using TraceId = Bytes<16>;
using SpanId = Bytes<8>;

class TraceFlags
{
      public:
	TraceFlags() noexcept = default;
	explicit TraceFlags(std::uint8_t flags) noexcept : flags_(flags)
	{
	}
	std::uint8_t flags() const noexcept
	{
		return flags_;
	}

      private:
	std::uint8_t flags_ = 0;
};

class SpanContext final
{
      public:
	SpanContext(bool sampled, bool is_remote) noexcept
	    : flags_(sampled ? std::uint8_t{1} : std::uint8_t{0}), is_remote_(is_remote)
	{
	}
	SpanContext(TraceId trace_id, SpanId span_id, TraceFlags flags, bool is_remote) noexcept
	    : trace_id_(trace_id), span_id_(span_id), flags_(flags), is_remote_(is_remote)
	{
	}
	bool IsValid() const noexcept
	{
		return trace_id_.IsValid() && span_id_.IsValid();
	}
	const TraceFlags &trace_flags() const noexcept
	{
		return flags_;
	}
	const TraceId &trace_id() const noexcept
	{
		return trace_id_;
	}
	const SpanId &span_id() const noexcept
	{
		return span_id_;
	}
	bool IsRemote() const noexcept
	{
		return is_remote_;
	}
	static SpanContext GetInvalid() noexcept
	{
		return SpanContext(false, false);
	}

      private:
	TraceId trace_id_;
	SpanId span_id_;
	TraceFlags flags_;
	bool is_remote_;
};

class Span
{
      public:
	virtual ~Span() = default;
	virtual SpanContext GetContext() const noexcept = 0;
};

class DefaultSpan : public Span
{
      public:
	DefaultSpan(SpanContext context) noexcept : context_(context)
	{
	}
	SpanContext GetContext() const noexcept override
	{
		return context_;
	}

      private:
	SpanContext context_;
};

constexpr char kSpanKey[] = "active_span";

} // namespace trace

namespace baggage
{
class Baggage
{
      public:
	bool GetValue(nostd::string_view key, std::string &value) const noexcept
	{
		const auto found = entries_.find(std::string(key));

		if (found == entries_.end())
			return false;
		value = found->second;
		return true;
	}
	nostd::shared_ptr<Baggage> Set(const nostd::string_view &key,
				       const nostd::string_view &value) noexcept
	{
		nostd::shared_ptr<Baggage> more(new Baggage(*this));

		more->entries_[std::string(key)] = std::string(value);
		return more;
	}

      private:
	std::map<std::string, std::string> entries_;
};
} // namespace baggage

namespace context
{

using ContextValue =
	nostd::variant<nostd::monostate, bool, std::int64_t, std::uint64_t, double,
		       nostd::shared_ptr<trace::Span>, nostd::shared_ptr<trace::SpanContext>,
		       nostd::shared_ptr<baggage::Baggage>>;

/* A list of values; a context with one more has the others behind it. Same list, same context. */
class Context
{
      public:
	Context() = default;
	Context SetValue(nostd::string_view key, ContextValue value) noexcept
	{
		Context more;

		more.head_ = std::make_shared<Node>(Node{std::string(key), value, head_});
		return more;
	}
	ContextValue GetValue(const nostd::string_view key) const noexcept
	{
		for (const Node *node = head_.get(); node; node = node->next.get())
			if (node->key == key)
				return node->value;
		return {};
	}
	bool operator==(const Context &other) const noexcept
	{
		return head_ == other.head_;
	}

      private:
	struct Node {
		std::string key;
		ContextValue value;
		std::shared_ptr<Node> next;
	};
	std::shared_ptr<Node> head_;
};

class Token
{
      public:
	bool operator==(const Context &other) const noexcept
	{
		return context_ == other;
	}
	~Token() noexcept;

      private:
	friend class RuntimeContextStorage;
	Token(const Context &context) : context_(context)
	{
	}
	const Context context_;
};

class RuntimeContextStorage
{
      public:
	virtual Context GetCurrent() noexcept = 0;
	virtual nostd::unique_ptr<Token> Attach(const Context &context) noexcept = 0;
	virtual bool Detach(Token &token) noexcept = 0;
	virtual ~RuntimeContextStorage() = default;

      protected:
	nostd::unique_ptr<Token> CreateToken(const Context &context) noexcept
	{
		return nostd::unique_ptr<Token>(new Token(context));
	}
};

/* Detaching one that is not the innermost detaches those above it, too. */
class ThreadLocalContextStorage : public RuntimeContextStorage
{
      public:
	Context GetCurrent() noexcept override
	{
		return stack().empty() ? Context() : stack().back();
	}
	bool Detach(Token &token) noexcept override
	{
		for (std::size_t n = stack().size(); n > 0; n--) {
			if (token == stack()[n - 1]) {
				stack().resize(n - 1);
				return true;
			}
		}
		return false;
	}
	nostd::unique_ptr<Token> Attach(const Context &context) noexcept override
	{
		stack().push_back(context);
		return CreateToken(context);
	}

      private:
	static std::vector<Context> &stack() noexcept
	{
		static thread_local std::vector<Context> contexts;
		return contexts;
	}
};

class RuntimeContext
{
      public:
	static Context GetCurrent() noexcept
	{
		return storage()->GetCurrent();
	}
	static nostd::unique_ptr<Token> Attach(const Context &context) noexcept
	{
		return storage()->Attach(context);
	}
	static bool Detach(Token &token) noexcept
	{
		return storage()->Detach(token);
	}
	static void
	SetRuntimeContextStorage(nostd::shared_ptr<RuntimeContextStorage> other) noexcept
	{
		storage() = other;
	}

      private:
	static nostd::shared_ptr<RuntimeContextStorage> &storage() noexcept
	{
		static nostd::shared_ptr<RuntimeContextStorage> one(
			new ThreadLocalContextStorage());
		return one;
	}
};

inline Token::~Token() noexcept
{
	RuntimeContext::Detach(*this);
}

} // namespace context

namespace baggage
{
inline nostd::shared_ptr<Baggage> GetBaggage(const context::Context &context) noexcept
{
	const auto value = context.GetValue("baggage");

	if (nostd::holds_alternative<nostd::shared_ptr<Baggage>>(value))
		return nostd::get<nostd::shared_ptr<Baggage>>(value);
	return nostd::shared_ptr<Baggage>(new Baggage());
}
inline context::Context SetBaggage(context::Context &context,
				   nostd::shared_ptr<Baggage> baggage) noexcept
{
	return context.SetValue("baggage", baggage);
}
} // namespace baggage

namespace trace
{
inline context::Context SetSpan(context::Context &context, nostd::shared_ptr<Span> span) noexcept
{
	return context.SetValue(kSpanKey, span);
}

inline nostd::shared_ptr<Span> GetSpan(const context::Context &context) noexcept
{
	const auto value = context.GetValue(kSpanKey);

	if (nostd::holds_alternative<nostd::shared_ptr<Span>>(value))
		return nostd::get<nostd::shared_ptr<Span>>(value);
	return nostd::shared_ptr<Span>(new DefaultSpan(SpanContext::GetInvalid()));
}

class Scope final
{
      public:
	Scope(const nostd::shared_ptr<Span> &span) noexcept
	    : token_(context::RuntimeContext::Attach(
		      context::RuntimeContext::GetCurrent().SetValue(kSpanKey, span)))
	{
	}

      private:
	nostd::unique_ptr<context::Token> token_;
};
} // namespace trace

} // namespace v1
} // namespace opentelemetry
