/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is loaded, for a collector that cannot read /proc/PID/maps (non-dumpable targets,
 * foreign namespaces). Taken once by the constructor; what is loaded later the collector
 * finds out by itself where it can.
 */
#include "runtime/runtime.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "runtime/sys.h"

static char exe_path[4096];

static void module_extent(const struct dl_phdr_info *info, struct weft_log_module *module)
{
	module->bias = info->dlpi_addr;
	module->start = UINT64_MAX;
	module->end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		if (start < module->start)
			module->start = start;
		if (start + ph->p_memsz > module->end)
			module->end = start + ph->p_memsz;
	}
}

static const char *module_path(const struct dl_phdr_info *info)
{
	long bytes;

	if (info->dlpi_name && info->dlpi_name[0])
		return info->dlpi_name;
	bytes = sys_call4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", exe_path,
			  sizeof(exe_path) - 1);
	exe_path[bytes > 0 ? bytes : 0] = 0;
	return exe_path;
}

static int log_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct weft_log_record record = {.type = WEFT_LOG_MODULE};
	struct weft_log_module module;
	const char *path = module_path(info);

	(void)size;
	module_extent(info, &module);
	record.id = (*(uint32_t *)arg)++;
	if (module.end)
		weft_log_append(WEFT_LOG_MODULES, &record, &module, sizeof(module), path,
				(uint32_t)strlen(path));
	return 0;
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
	uint32_t number = 1;

	weft_log_lock();
	log_command();
	dl_iterate_phdr(log_module, &number);
	weft_log_unlock();
}
