/* SPDX-License-Identifier: Apache-2.0 */
/* See by_libdw.h. */
#include "by_libdw.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

struct by_libdw {
	struct stepper *stepper;
	Dwfl *dwfl;
	unsigned int maps_number;
	const struct stepper_stop *stop;
	uint64_t *frames;
	size_t count, max;
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	struct by_libdw *d = arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = d;
	return d->stop->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *arg)
{
	struct by_libdw *d = arg;

	(void)dwfl;
	for (const struct unwind_memory *m = d->stop->memory; m; m = m->next)
		if (address >= m->address && m->size >= sizeof(*out) &&
		    address - m->address <= m->size - sizeof(*out)) {
			memcpy(out, m->bytes + (address - m->address), sizeof(*out));
			return true;
		}
	return stepper_read(d->stepper, address, out, sizeof(*out)) == sizeof(*out);
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct by_libdw *d = arg;
	Dwarf_Word words[17];

	memcpy(words, d->stop->regs.r, 16 * sizeof(words[0]));
	words[16] = d->stop->regs.pc;
	return dwfl_thread_state_registers(thread, 0, 17, words);
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct by_libdw *d = arg;
	Dwarf_Addr pc;
	bool is_activation;

	if (d->count == d->max || !dwfl_frame_pc(frame, &pc, &is_activation))
		return DWARF_CB_ABORT;
	d->frames[d->count++] = pc;
	return DWARF_CB_OK;
}

static int open_again(struct by_libdw *d, unsigned int maps_number)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .debuginfo_path = &no_path};
	static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
						      .get_thread = get_thread,
						      .memory_read = read_word,
						      .set_initial_registers = set_registers};
	pid_t pid = stepper_pid(d->stepper);

	if (d->dwfl)
		dwfl_end(d->dwfl);
	d->dwfl = dwfl_begin(&callbacks);
	d->maps_number = maps_number;
	return d->dwfl && dwfl_linux_proc_report(d->dwfl, pid) == 0 &&
	       dwfl_report_end(d->dwfl, NULL, NULL) == 0 &&
	       dwfl_attach_state(d->dwfl, NULL, pid, &threads, d);
}

struct by_libdw *by_libdw_new(struct stepper *s)
{
	struct by_libdw *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	d->stepper = s;
	return d;
}

void by_libdw_free(struct by_libdw *d)
{
	if (d->dwfl)
		dwfl_end(d->dwfl);
	free(d);
}

size_t by_libdw_walk(struct by_libdw *d, const struct stepper_stop *stop, uint64_t *frames,
		     size_t max)
{
	d->stop = stop;
	if ((!d->dwfl || d->maps_number != stop->maps_number) && !open_again(d, stop->maps_number))
		return 0;
	d->frames = frames;
	d->max = max;
	d->count = 0;
	dwfl_getthread_frames(d->dwfl, stop->tid, take_frame, d);
	return d->count;
}
