/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coroutine LIBRARY global|local: opens LIBRARY before its first coroutine, whose probe is in this
 * program. Labels are the coroutine's own then. Exits with the number of the first that is not.
 */
#include <dlfcn.h>
#include <string.h>

#include <weft/coro.h>

static int (*set)(const char *key, const char *value);
static ssize_t (*get)(const char *key, char *value, size_t bytes);

static int label_is(const char *expected)
{
	char value[32] = "";

	return get("who", value, sizeof(value) - 1) >= 0 && strcmp(value, expected) == 0;
}

int main(int argc, char **argv)
{
	int is_local = argc > 2 && strcmp(argv[2], "local") == 0;
	void *library = dlopen(argv[1], RTLD_NOW | (is_local ? RTLD_LOCAL : RTLD_GLOBAL));
	struct weft_coro_options options = {.size = sizeof(options), .id = 7};
	struct weft_coro coro;

	if (!library)
		return 1;
	*(void **)&set = dlsym(library, "weft_label_set");
	*(void **)&get = dlsym(library, "weft_label_get");
	if (!set || !get)
		return 2;
	set("who", "thread");
	weft_coro_create(&coro, &options);
	weft_coro_resume(&coro, NULL);
	if (!label_is("thread")) /* inherited */
		return 3;
	set("who", "coroutine");
	weft_coro_suspend(&coro, NULL);
	if (!label_is("thread"))
		return 4;
	weft_coro_resume(&coro, NULL);
	if (!label_is("coroutine"))
		return 5;
	weft_coro_destroy(&coro);
	return label_is("thread") ? 0 : 6;
}
