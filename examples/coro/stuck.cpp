/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as coroutines of C++20, one of which never comes back: what stuck.c does, with the same
 * arguments, for
 *
 *   weft coro run --extended -o stuck.jsonl -- stuck-cpp --lose
 *   weft coro report --stuck 500ms stuck.jsonl
 */
#include "executor.hpp"

#include <weft/context.h>
#include <weft/labels.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

using namespace std::chrono_literals;

struct request {
	unsigned number;
	bool loses;
	reply answer;

	request(unsigned n, bool is_lossy) : number(n), loses(is_lossy)
	{
	}
};

static std::atomic<unsigned> served;
static std::atomic<std::uint64_t> sum;
static mailbox<std::shared_ptr<request>> box;

[[gnu::noinline]] static std::uint64_t compute(std::uint64_t seed, unsigned rounds)
{
	for (unsigned i = 0; i < rounds * 1000; i++)
		seed = ((seed << 7) | (seed >> 57)) * 31 ^ i;
	return seed;
}

[[gnu::noinline]] static void works_for(const request &one)
{
	static const char *const routes[] = {"/cart", "/checkout", "/search"};

	::weft_context_set(0x1000 + one.number, 0x1000 + one.number);
	::weft_label_set("route", routes[one.number % 3]);
}

static task store()
{
	for (;;) {
		const auto one = co_await box.receive();

		one->answer.put(compute(one->number, 50));
	}
}

static task serve(std::shared_ptr<request> one)
{
	works_for(*one);
	std::uint64_t value = compute(one->number, 200);

	box.send(one);
	if (one->loses) {
		while (!one->answer.is_there()) /* what it saw is old when it waits */
			co_await everything.sleep(1ms);
		value += co_await one->answer.take_unseen();
	} else {
		value += co_await one->answer.take();
	}
	co_await everything.sleep(std::chrono::milliseconds(one->number % 4));
	sum += compute(value, 200);
	served++;
}

static task host(unsigned requests, unsigned loses)
{
	store();
	for (unsigned i = 1; i <= requests; i++) {
		serve(std::make_shared<request>(i, i == loses));
		co_await everything.sleep(1ms);
	}
	for (int left = 100; left > 0 && served < requests;) {
		const auto question = std::make_shared<request>(0, false);

		box.send(question); /* the store is seen to be well meanwhile */
		co_await question->answer.take();
		co_await everything.sleep(10ms);
		left -= served + 1 >= requests;
	}
	everything.stop();
}

int main(int argc, char **argv)
{
	const bool is_lossy = argc > 1 && std::string_view(argv[1]) == "--lose";
	const auto number = [&](int n, unsigned otherwise) {
		const long given = argc > n + is_lossy
					   ? std::strtol(argv[n + is_lossy], nullptr, 10)
					   : otherwise;

		return given > 0 && given <= 1000000 ? static_cast<unsigned>(given) : 0;
	};
	const unsigned requests = number(1, 60), threads = number(2, 3);

	if (!requests || !threads) {
		std::fprintf(stderr, "usage: stuck-cpp [--lose] [REQUESTS [THREADS]]\n");
		return 2;
	}
	host(requests, is_lossy ? (requests + 1) / 2 : 0);
	everything.run(threads);
	std::printf("served %u of %u (%llx)\n", served.load(), requests,
		    static_cast<unsigned long long>(sum.load()));
}
