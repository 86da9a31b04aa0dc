/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor's findings. A probe tries one thing for real, here and now, and says what it
 * found and what weft makes of it. Probes change nothing that outlives them, and each works
 * whatever the others found.
 *
 *   doctor_finding.c    findings, filled in
 *   doctor_weft.c       weft's own companions
 *   doctor_kernel.c     timers, clocks, perf, memory
 *   doctor_limits.c     resource limits
 *   doctor_access.c     what another process shows
 *   doctor_rendezvous.c the collector's socket
 *   doctor_hooks.c      the preload
 *   doctor_formats.c    formats of contexts
 *   doctor_waits.c      libweft-waits.so
 *   doctor_launch.c     WEFT_RECORD
 */
#ifndef WEFT_CLI_DOCTOR_H
#define WEFT_CLI_DOCTOR_H

#include <stddef.h>
#include <stdint.h>

enum finding_state {
	FINDING_OK,
	FINDING_INFO,    /* neither good nor bad */
	FINDING_LIMITED, /* works, but less well than it could: the choice says how */
	FINDING_MISSING, /* not to be had; fatal if the probe is needed */
};

struct finding {
	enum finding_state state;
	char value[320];  /* what was found */
	char choice[320]; /* what weft does because of it, and why; "" = nothing to say */
	int has_number;
	int64_t number; /* the value for machines, in the probe's unit */
};

struct probe {
	const char *key;   /* in --json: stable */
	const char *title; /* NULL ends a table */
	const char *unit;  /* of the number; NULL = none */
	int needed;        /* recording does not work without it */
	void (*run)(struct finding *out);
};

struct probe_group {
	const char *title; /* NULL ends the table */
	const struct probe *probes;
};

extern const struct probe doctor_kernel[], doctor_access[], doctor_limits[], doctor_weft[];

void doctor_rendezvous(struct finding *out);
void doctor_hooks(struct finding *out);
void doctor_priming(struct finding *out);
void doctor_formats(struct finding *out);
void doctor_waits(struct finding *out);
void doctor_launch(struct finding *out);

/* Fill a finding: finding_set() its value, finding_choose() its choice. */
void finding_set(struct finding *out, enum finding_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void finding_choose(struct finding *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void finding_number(struct finding *out, int64_t number);
/* The value says that @what failed by errno @error. */
void finding_refused(struct finding *out, enum finding_state state, const char *what, int error);

/* The value is the first line of a file, @what it tells. */
void finding_line(struct finding *out, const char *what, const char *path);

/* First line of a file without its end; 0 or -errno. */
int doctor_read_line(const char *path, char *line, unsigned int bytes);
/* The line @name ("SigQ") of /proc/self/status; 0 or -errno. */
int doctor_read_status(const char *name, char *value, unsigned int bytes);
/* How many signals may be queued yet. */
uint64_t doctor_signals_left(void);
/* "256 KiB", "16 MiB", "unlimited" */
const char *doctor_bytes(uint64_t bytes, char *text, unsigned int room);

/* The child's half of the probes of the preload: prints which hooks work. */
int doctor_list_hooks(void);
struct weft_session_header;
void doctor_list_formats(const struct weft_session_header *header);
void doctor_list_waits(void);
/* Run that child, under libweft.so or under @libraries: its output, and its exit status or -errno.
 * With @file it is one that records itself there instead (WEFT_RECORD). */
int doctor_run_preloaded(char *text, size_t room);
int doctor_run_under(const char *libraries, const char *file, char *text, size_t room);

#endif
