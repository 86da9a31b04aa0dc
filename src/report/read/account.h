/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's account of CPU time beside the samples' (weft.ThreadCPU, weft.Clock).
 *
 * Expected is: a thread that used U ns and is sampled once in a period of P ns gives about U / P
 * independent samples, whose number varies like a Poisson's at the most. Where a signal is
 * several events, by the design effect D (interval.h) more. So what is seen of all threads has
 * the standard error
 *
 *     sqrt(sum of P D U)
 *
 * which is an upper bound: of a long run of one thread periodic samples see more evenly.
 */
#ifndef WEFT_REPORT_ACCOUNT_H
#define WEFT_REPORT_ACCOUNT_H

#include "report/read/facts.h"

#define ACCOUNT_SURE 3 /* so many standard errors are no chance */

struct account {
	int64_t used_ns, seen_ns, samples;
	double error_ns; /* standard; 0 = no period is known */
	double off;      /* (seen - used) / error_ns */
	int within;      /* ACCOUNT_SURE */
	/* Threads without any sample: all, or, when the whole is as expected, those that used so
	 * much that this is no chance. */
	uint32_t silent;
	int64_t silent_ns;
	/* Processes, and what they used in no thread's row: exec, loading, what begin and end of
	 * threads cost the kernel, threads too brief to be met. */
	uint32_t outside;
	int64_t outside_ns;
};

/* 0: the file does not tell. */
int account_read(const struct facts *f, const struct model *m, struct account *out);
/* Is it more than 1 for any? Where a tick is longer than a period, one signal is several events. */
int account_has_effects(const struct facts *f);
/* E[W^2] / E[W] of the CPU samples of a process; 1 where nothing is told. */
double account_effect(const struct facts *f, const struct model *m, uint32_t process);

enum account_order { ACCOUNT_GAPS, ACCOUNT_SILENT };
/*
 * The rows of which most is not seen (or seen and not used: where the whole is not as expected,
 * the one of the two that it is), or of threads counted as silent, most first. Returns how many
 * were put, at most @room.
 */
size_t account_rows(const struct facts *f, const struct model *m, enum account_order order,
		    const struct fact_cpu **out, size_t room);
/*
 * By ticks alone: is there somebody whom these meet more or less often than is due? A share of it
 * is misjudged then, as ticks are taken from one thread and given to another. On a busy CPU slices
 * begin at a tick, so a thread that gives the CPU back before the next one is met seldom, and who
 * has it next in its stead: one that lives for less than a tick, or that leaves the CPU between
 * two ticks again and again (docs/accuracy.md#lockstep).
 *
 * A thread is asked for by itself that used ACCOUNT_MET_TICKS or more, all others of a process
 * together with what no thread's row tells. Told is what is ACCOUNT_MET_SURE standard errors off
 * and ACCOUNT_MET_PART of what was used at least: of brief threads what clone and exit cost is in
 * no sample.
 */
#define ACCOUNT_MET_TICKS 50
#define ACCOUNT_MET_SURE 3.5
#define ACCOUNT_MET_PART 0.2
struct account_met {
	uint32_t process, thread; /* thread 0: the brief ones of it, together */
	double part, off;         /* seen / used; in standard errors */
};
/* Those that are furthest off first. Returns how many were put, at most @room. */
size_t account_met(const struct facts *f, const struct model *m, struct account_met *out,
		   size_t room);

/* "worker [101]", or "the rest of shop [100]". */
const char *account_name(const struct model *m, const struct fact_cpu *row, char *out, size_t room);

#endif
