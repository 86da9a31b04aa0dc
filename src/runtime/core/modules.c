/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which modules are loaded, and from when to when: for a collector that cannot read /proc/PID/maps
 * (non-dumpable targets, foreign namespaces), and for samples in code that has been unloaded by the
 * time the collector sees them. Called by the constructor and around each dlclose (hook_modules.c);
 * the loader's counters of loads and unloads tell when nothing has changed.
 */
#include "runtime/core/runtime.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "runtime/core/loaded_object.h"
#include "runtime/core/sys.h"

static WEFT_LARGE char path_room[4096];

/* By the current working directory, which the program may have changed since it loaded @path. */
static const char *absolute_path(const char *path)
{
	size_t length;

	/* libc's own passes no gate (sys.h) */
	if (weft_rt_is_careful() || !getcwd(path_room, sizeof(path_room)))
		return path;
	length = strlen(path_room);
	if (length + 1 + strlen(path) >= sizeof(path_room))
		return path;
	path_room[length] = '/';
	memcpy(path_room + length + 1, path, strlen(path) + 1);
	return path_room;
}

static const char *module_path(const struct dl_phdr_info *info)
{
	long bytes;

	if (info->dlpi_name && info->dlpi_name[0])
		return info->dlpi_name[0] != '/' && strchr(info->dlpi_name, '/')
			       ? absolute_path(info->dlpi_name)
			       : info->dlpi_name;
	bytes = sys_call4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path_room,
			  sizeof(path_room) - 1);
	path_room[bytes > 0 ? bytes : 0] = 0;
	return path_room;
}

/* Modules ever seen; any beyond are not logged. Guarded by the log's lock. */
#define KNOWN_MAX 2048

struct known {
	uint64_t start, end, bias, path;
	uint8_t is_loaded, is_seen;
};

static WEFT_LARGE struct known known[KNOWN_MAX];
static uint32_t known_count;
static uint64_t looked_ns, epoch;
static unsigned long long adds_seen, subs_seen;

struct look {
	uint64_t now_ns;
	int is_first; /* by the constructor: logged as WEFT_LOG_MODULE */
	int is_begun, is_idle;
};

/* The entry of a module, made when new; NULL: no room. */
static struct known *modules_find_known(const struct weft_log_module *module, const char *path)
{
	uint64_t hash = hash_fnv(path, strlen(path));

	for (uint32_t i = 0; i < known_count; i++) {
		const struct known *k = &known[i];

		if (k->start == module->start && k->end == module->end && k->bias == module->bias &&
		    k->path == hash)
			return &known[i];
	}
	if (known_count == KNOWN_MAX)
		return NULL;
	known[known_count] = (struct known){module->start, module->end, module->bias, hash, 0, 0};
	return &known[known_count++];
}

static void modules_append(uint16_t type, const struct known *k, const void *data, uint32_t bytes,
			   const char *path)
{
	struct weft_log_record record = {.type = type, .id = (uint32_t)(k - known) + 1};

	weft_log_append(WEFT_LOG_MODULES, &record, data, bytes, path,
			path ? (uint32_t)strlen(path) : 0);
}

static void modules_append_loaded(const struct look *look, const struct known *k, int is_new,
				  const char *path)
{
	struct weft_log_loaded loaded = {
		.since_ns = looked_ns,
		.at_ns = look->now_ns,
		.bias = k->bias,
		.start = k->start,
		.end = k->end,
	};
	struct stat st = {0};

	if (!is_new) {
		modules_append(WEFT_LOG_LOADED, k, &loaded, WEFT_LOG_LOADED_AGAIN_BYTES, NULL);
		return;
	}
	if (sys_call4(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0) {
		loaded.device = st.st_dev;
		loaded.inode = st.st_ino;
	}
	modules_append(WEFT_LOG_LOADED, k, &loaded, sizeof(loaded), path);
}

/* Called under the loader's lock, so that time and counters fit the list. */
static int modules_begin_visit(struct look *look, const struct dl_phdr_info *info, size_t size)
{
	look->is_begun = 1;
	look->now_ns = clock_monotonic_ns();
	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		return 0;
	look->is_idle =
		!look->is_first && info->dlpi_adds == adds_seen && info->dlpi_subs == subs_seen;
	adds_seen = info->dlpi_adds;
	subs_seen = info->dlpi_subs;
	return look->is_idle;
}

static int modules_visit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct look *look = arg;
	struct weft_log_module module;
	uint32_t before = known_count;
	const char *path = NULL;
	struct weft_object object;
	struct known *k;

	if (!look->is_begun && modules_begin_visit(look, info, size))
		return 1;
	weft_object_read(&object, info);
	module = (struct weft_log_module){
		.bias = object.base, .start = object.low, .end = object.high};
	if (module.end)
		path = module_path(info);
	k = path ? modules_find_known(&module, path) : NULL;
	if (!k)
		return 0;
	if (look->is_first)
		modules_append(WEFT_LOG_MODULE, k, &module, sizeof(module), path);
	else if (!k->is_loaded)
		modules_append_loaded(look, k, known_count != before, path);
	k->is_loaded = k->is_seen = 1;
	return 0;
}

static int modules_append_unloaded(const struct look *look)
{
	struct weft_log_loaded times = {.since_ns = looked_ns, .at_ns = look->now_ns};
	int gone = 0;

	for (uint32_t i = 0; i < known_count; i++) {
		if (known[i].is_loaded && !known[i].is_seen) {
			known[i].is_loaded = 0;
			modules_append(WEFT_LOG_GONE, &known[i], &times,
				       WEFT_LOG_LOADED_AGAIN_BYTES, NULL);
			gone = 1;
		}
		known[i].is_seen = 0;
	}
	return gone;
}

int weft_modules_update(void)
{
	struct look look = {0};
	int gone = 0;

	weft_log_lock();
	dl_iterate_phdr(modules_visit_object, &look);
	if (!look.is_idle)
		gone = modules_append_unloaded(&look);
	looked_ns = look.now_ns;
	weft_log_unlock();
	return gone;
}

void weft_modules_epoch_add(uint64_t amount)
{
	__atomic_add_fetch(&epoch, amount, __ATOMIC_RELAXED);
	__atomic_add_fetch(&weft_rt.header->modules_epoch, amount, __ATOMIC_RELEASE);
}

void weft_modules_epoch_replay(void)
{
	store_release(&weft_rt.header->modules_epoch, load_relaxed(&epoch));
}

static void log_command(void)
{
	struct weft_log_record record = {.type = WEFT_LOG_COMMAND};
	char name[16] = "";

	sys_call5(SYS_prctl, 16 /* PR_GET_NAME */, name, 0, 0, 0);
	name[sizeof(name) - 1] = 0;
	weft_log_append(WEFT_LOG_MODULES, &record, name, (uint32_t)strlen(name), NULL, 0);
}

void weft_modules_log(void)
{
	struct look look = {.is_first = 1};

	weft_log_lock();
	log_command();
	dl_iterate_phdr(modules_visit_object, &look);
	for (uint32_t i = 0; i < known_count; i++)
		known[i].is_seen = 0;
	looked_ns = look.now_ns;
	weft_log_unlock();
}
