/* SPDX-License-Identifier: Apache-2.0 */
/* Exceptions, thrown through frames with destructors, rethrown, and one of a base class. */
#include <stdexcept>
#include <string>

namespace
{

volatile int destroyed;

struct counted {
	std::string name;
	~counted() { destroyed = destroyed + 1; }
};

__attribute__((noinline)) void throw_below(int depth)
{
	counted here{std::string(20, static_cast<char>('a' + depth))};

	if (depth == 0)
		throw std::runtime_error(here.name);
	throw_below(depth - 1);
	destroyed = destroyed + 1;
}

__attribute__((noinline)) void throw_again(int depth)
{
	try {
		throw_below(depth);
	} catch (const std::runtime_error &) {
		throw;
	}
}

} // namespace

extern "C" void throw_some(int depth)
{
	try {
		throw_again(depth);
	} catch (const std::exception &e) {
		destroyed = destroyed + (e.what()[0] == 'a');
	}
}
