// SPDX-License-Identifier: Apache-2.0
// Calls inlined into one another, in the ways that compilers describe differently.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace fixture
{
struct Widget {
	int value;
	__attribute__((always_inline)) inline int twice(int x) const
	{
		return value * x * 2;
	}
	int draw(int x);
	template <typename T> T scaled(T by)
	{
		return by * value;
	}
};

static inline __attribute__((always_inline)) int helper(int a)
{
	Widget w{a};
	return w.twice(a) + 1;
}

namespace
{
inline int hidden(int a)
{
	return helper(a) * 3;
}
} // namespace

// The test for a cold part: a path that is said to be unlikely.
__attribute__((noinline)) int Widget::draw(int x)
{
	if (__builtin_expect(x < -1000, 0)) {
		std::fprintf(stderr, "%d %d\n", x, helper(x));
		__builtin_abort();
	}
	return hidden(x) + helper(value) + scaled(x);
}

// Never called: with -ffunction-sections the linker throws it away, its entries stay.
__attribute__((noinline)) int discarded(int x)
{
	return helper(x) + hidden(x + 1);
}
} // namespace fixture

extern "C" int fixture_other(int x);

int main(int argc, char **argv)
{
	std::vector<int> numbers;
	std::map<std::string, int> names;
	fixture::Widget widget{argc};

	for (int i = 0; i < argc * 10; i++)
		numbers.push_back(widget.draw(i) + fixture_other(i));
	std::sort(numbers.begin(), numbers.end(), [](int a, int b) { return a % 7 < b % 7; });
	names[argv[0]] = numbers[0];
	std::printf("%zu %d\n", names.size(), numbers[0]);
	return 0;
}
