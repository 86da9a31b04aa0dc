/* SPDX-License-Identifier: Apache-2.0 */
/* threads LIBRARY COUNT MS: opens LIBRARY, then begins threads the C++ way. */
#include <cstdlib>
#include <dlfcn.h>
#include <thread>
#include <vector>

#include "latecomer.h"

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	if (argc != 4 || !dlopen(argv[1], RTLD_NOW))
		return 1;
	for (int i = 0; i < std::atoi(argv[2]); i++)
		threads.emplace_back(burn_ms, std::atol(argv[3]));
	for (auto &thread : threads)
		thread.join();
	return 0;
}
