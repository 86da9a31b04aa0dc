/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int library_open(const char *file, const char *const *names, size_t count, void *table, char *why,
		 size_t room)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; handle && i < count; i++) {
		void *call = dlsym(handle, names[i]);

		if (!call)
			handle = NULL;
		memcpy((char *)table + i * sizeof(void *), &call, sizeof(call));
	}
	if (handle)
		return 0;
	snprintf(why, room, "%s", dlerror());
	return -ELIBACC;
}
