/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work for tenants, a span for each order, by the guards of weft/weft.hpp:
 *
 *     c++ -std=c++17 -O2 -o orders orders.cpp -pthread -lweft
 *     weft record -o orders.jfr -- ./orders
 *     weft report --by label:tenant orders.jfr
 */
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

static std::uint64_t price(std::uint64_t items)
{
	std::uint64_t sum = items;

	for (std::uint64_t i = 0; i < items * 20'000; i++)
		sum = (sum << 7 | sum >> 57) * 31 ^ i;
	return sum;
}

static std::uint64_t handle(std::uint64_t order, std::string_view tenant)
{
	const weft::span span(order, order);
	const weft::label label("tenant", tenant);

	return price(1 + order % 5);
}

int main(int argc, char **argv)
{
	const std::uint64_t orders = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
	std::vector<std::thread> workers;

	for (std::string_view tenant : {"acme", "globex", "initech"})
		workers.emplace_back([=] {
			std::uint64_t sum = 0;

			for (std::uint64_t order = 1; order <= orders; order++)
				sum += handle(order, tenant);
			std::printf("%016llx\n", static_cast<unsigned long long>(sum));
		});
	for (auto &worker : workers)
		worker.join();
}
