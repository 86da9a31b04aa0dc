/* SPDX-License-Identifier: Apache-2.0 */
/* Resource limits, as this process has them and hands them on. */
#include "cli/doctor/doctor.h"

#include "base/session_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static rlim_t soft_limit(int which)
{
	struct rlimit limit;

	return getrlimit((__rlimit_resource_t)which, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

/* The value is a limit of bytes, or of a number. */
static void set_limit(struct finding *out, rlim_t limit, int is_bytes)
{
	char text[32];

	if (limit != RLIM_INFINITY)
		finding_number(out, (int64_t)limit);
	if (is_bytes || limit == RLIM_INFINITY)
		finding_set(out, FINDING_OK, "%s", doctor_bytes(limit, text, sizeof(text)));
	else
		finding_set(out, FINDING_OK, "%llu", (unsigned long long)limit);
}

/* Signals queued by all processes of this user: the number before the slash of SigQ. */
static unsigned long long queued_signals(void)
{
	char text[64];

	return doctor_read_status("SigQ", text, sizeof(text)) ? 0 : strtoull(text, NULL, 10);
}

uint64_t doctor_signals_left(void)
{
	rlim_t limit = soft_limit(RLIMIT_SIGPENDING);
	unsigned long long used = queued_signals();

	return limit > used ? limit - used : 0;
}

static void probe_sigpending(struct finding *out)
{
	rlim_t limit = soft_limit(RLIMIT_SIGPENDING);
	unsigned long long used = queued_signals(), left = doctor_signals_left();

	set_limit(out, limit, 0);
	if (limit == RLIM_INFINITY)
		return;
	finding_set(out,
		    left >= 128 ? FINDING_OK
		    : left      ? FINDING_LIMITED
				: FINDING_MISSING,
		    "%llu, %llu in use", (unsigned long long)limit, used);
	finding_choose(out,
		       "a timer takes one: weft uses at most half, %llu threads at a time; the "
		       "rest is counted as threads_no_timer",
		       left / 2);
}

static int reserve_works(uint64_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return 0;
	munmap(memory, bytes);
	return 1;
}

static uint64_t session_bytes(uint32_t slots)
{
	struct weft_session_header header = {0};

	return weft_session_layout(&header, slots, 0, 0) ? 0 : header.total_bytes;
}

static void probe_address_space(struct finding *out)
{
	rlim_t limit = soft_limit(RLIMIT_AS);
	uint64_t room = limit == RLIM_INFINITY ? 0 : limit / 8;
	uint32_t slots = weft_session_slots_for(room, 0, 0);
	uint64_t bytes = session_bytes(slots);
	char text[32];

	set_limit(out, limit, 1);
	if (!reserve_works(bytes)) {
		out->state = FINDING_LIMITED;
		finding_choose(out, "%s of address space cannot be reserved: %s",
			       doctor_bytes(bytes, text, sizeof(text)), strerror(errno));
		return;
	}
	if (slots < WEFT_SESSION_SLOTS_MAX)
		out->state = FINDING_LIMITED;
	finding_choose(out, "a session of up to %u threads at a time, %s of address space (%s)",
		       slots, doctor_bytes(bytes, text, sizeof(text)),
		       room ? "an eighth of the limit" : "memory only as it is used");
}

static void probe_file_size(struct finding *out)
{
	rlim_t limit = soft_limit(RLIMIT_FSIZE);

	set_limit(out, limit, 1);
	if (limit == RLIM_INFINITY)
		return;
	out->state = FINDING_LIMITED;
	finding_choose(out, "a recording cannot become larger; the collector makes the session, "
			    "so that the limit does not kill the program");
}

static void probe_open_files(struct finding *out)
{
	rlim_t limit = soft_limit(RLIMIT_NOFILE);

	set_limit(out, limit, 0);
	if (limit < 256)
		out->state = FINDING_LIMITED;
	finding_choose(out, "the collector holds a few for each process that it records, a "
			    "recorded program none");
}

static void probe_core(struct finding *out)
{
	set_limit(out, soft_limit(RLIMIT_CORE), 1);
	out->state = FINDING_INFO;
	finding_choose(out, "the session is left out of core dumps");
}

static void probe_locked(struct finding *out)
{
	set_limit(out, soft_limit(RLIMIT_MEMLOCK), 1);
	out->state = FINDING_INFO;
	finding_choose(out, "mlockall() locks, and is limited by, what is the program's own");
}

const struct probe doctor_limits[] = {
	{"sigpending", "queued signals", NULL, 1, probe_sigpending},
	{"address_space", "address space", "bytes", 0, probe_address_space},
	{"file_size", "file size", "bytes", 0, probe_file_size},
	{"open_files", "open files", NULL, 0, probe_open_files},
	{"core_size", "core size", "bytes", 0, probe_core},
	{"locked_memory", "locked memory", "bytes", 0, probe_locked},
	{NULL, NULL, NULL, 0, NULL},
};
