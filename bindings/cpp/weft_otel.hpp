/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weft_otel.hpp
 * Spans of OpenTelemetry C++ in weft, for C++17 and later: a storage of runtime contexts that keeps
 * them as another one does (by default OpenTelemetry's own, by thread), and tells weft which is
 * current. Header only, over weft.hpp and OpenTelemetry's API (headers too; the SDK is whichever
 * the program has). Call this at the start, before there is any span:
 *
 *     weft::otel_install({"tenant"}); // entries of the baggage that are to be labels; or none
 *
 * While a context with a valid span is current in a thread, the thread has in weft the span's id,
 * trace id, flags, and local root, and those labels; while none is, it has none of these. Its tags
 * and other labels stay. The local root is the first span of the trace that was attached in this
 * process; it goes along as the value `weft.root` of contexts that are made from the current one,
 * to other threads, too. A span whose parent is elsewhere is one.
 *
 * Not seen: names and attributes of spans, which the API does not tell; coroutines and other code
 * that moves from thread to thread without attaching its context there (nor does OpenTelemetry see
 * those).
 */
#ifndef WEFT_OTEL_HPP
#define WEFT_OTEL_HPP

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <opentelemetry/baggage/baggage_context.h>
#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/span_context.h>

#include <weft/weft.hpp>

namespace weft
{

class otel_storage : public opentelemetry::context::RuntimeContextStorage
{
      public:
	using Context = opentelemetry::context::Context;
	using Token = opentelemetry::context::Token;
	template <typename T> using shared = opentelemetry::nostd::shared_ptr<T>;

	/** @labels: entries of the baggage; @inner: who keeps the contexts. */
	explicit otel_storage(std::vector<std::string> labels = {},
			      shared<RuntimeContextStorage> inner = shared<RuntimeContextStorage>(
				      new opentelemetry::context::ThreadLocalContextStorage()))
	    : labels_(std::move(labels)), inner_(std::move(inner))
	{
	}

	Context GetCurrent() noexcept override
	{
		return inner_->GetCurrent();
	}

	opentelemetry::nostd::unique_ptr<Token> Attach(const Context &context) noexcept override
	{
		const Context rooted = with_root(context);
		auto token = inner_->Attach(rooted);

		show(rooted);
		return token;
	}

	bool Detach(Token &token) noexcept override
	{
		const bool done = inner_->Detach(token);

		show(inner_->GetCurrent());
		return done;
	}

      private:
	using SpanContext = opentelemetry::trace::SpanContext;

	static constexpr char root_key[] = "weft.root";

	static std::uint64_t id_of(const SpanContext &span) noexcept
	{
		std::uint64_t id = 0;

		for (const std::uint8_t byte : span.span_id().Id())
			id = id << 8 | byte;
		return id;
	}

	/* The root that the context has of this trace; else none. */
	static shared<SpanContext> root_of(const Context &context, const SpanContext &span) noexcept
	{
		namespace nostd = opentelemetry::nostd;
		const auto value = context.GetValue(root_key);

		if (!nostd::holds_alternative<shared<SpanContext>>(value))
			return {};
		auto root = nostd::get<shared<SpanContext>>(value);
		return root->trace_id() == span.trace_id() ? root : shared<SpanContext>();
	}

	/* What runs for a span elsewhere runs here for no root yet. */
	static Context with_root(const Context &context) noexcept
	{
		const auto span = opentelemetry::trace::GetSpan(context)->GetContext();
		Context rooted = context;

		if (!span.IsValid() || span.IsRemote() || root_of(context, span).get())
			return rooted;
		return rooted.SetValue(root_key, shared<SpanContext>(new SpanContext(span)));
	}

	void show(const Context &context) const noexcept
	{
		const auto span = opentelemetry::trace::GetSpan(context)->GetContext();
		::weft_context shown;

		::weft_context_read(&shown); // for the tags
		shown.span_id = shown.root_span_id = span.IsValid() ? id_of(span) : 0;
		shown.trace_flags = span.IsValid() ? span.trace_flags().flags() : 0;
		std::memset(shown.trace_id, 0, sizeof(shown.trace_id));
		if (span.IsValid())
			std::memcpy(shown.trace_id, span.trace_id().Id().data(),
				    sizeof(shown.trace_id));
		if (const auto root = root_of(context, span); span.IsValid() && root.get())
			shown.root_span_id = id_of(*root);
		write(shown, span.IsValid() ? &context : nullptr);
	}

	void write(const ::weft_context &shown, const Context *context) const noexcept
	{
		std::vector<std::string> values(labels_.size());
		update all(shown);

		for (std::size_t i = 0; i < labels_.size(); i++) {
			if (context && opentelemetry::baggage::GetBaggage(*context)->GetValue(
					       labels_[i], values[i]))
				all.set(labels_[i], values[i]);
			else
				all.remove(labels_[i]);
		}
		all.apply();
	}

	const std::vector<std::string> labels_;
	const shared<RuntimeContextStorage> inner_;
};

/** Contexts are kept by a storage that tells weft. Before the program's first span. */
inline void otel_install(std::vector<std::string> labels = {})
{
	using storage = opentelemetry::context::RuntimeContextStorage;

	opentelemetry::context::RuntimeContext::SetRuntimeContextStorage(
		opentelemetry::nostd::shared_ptr<storage>(new otel_storage(std::move(labels))));
}

} // namespace weft

#endif
