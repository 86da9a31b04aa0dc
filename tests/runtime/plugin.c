/* SPDX-License-Identifier: Apache-2.0 */
/* One of two libraries that are loaded and unloaded in turn; PLUGIN_ROOM makes them differ. */
#include <string.h>

void plugin_work(void (*back)(void));

static volatile int sink;

#ifdef PLUGIN_DATA
/* Moves the unwind data, and with it what the loader says of the library. */
extern const char plugin_data[PLUGIN_DATA];
const char plugin_data[PLUGIN_DATA] = "data";
#endif

static __attribute__((noinline)) void deeper(void (*back)(void), int depth)
{
	volatile char room[PLUGIN_ROOM];

	room[depth % PLUGIN_ROOM] = (char)depth;
	if (depth)
		deeper(back, depth - 1);
	else
		back();
	sink += room[depth % PLUGIN_ROOM];
}

void plugin_work(void (*back)(void))
{
	deeper(back, 5);
	sink++;
}
