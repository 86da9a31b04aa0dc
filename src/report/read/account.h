/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's account of CPU time beside the samples' (weft.ThreadCPU, weft.Clock).
 *
 * A thread that used U ns and is sampled once in a period of P ns is expected to give about U / P
 * independent samples, whose number varies at most as Poisson's does; where one signal stands for
 * several events, by the design effect D (interval.h) more. So what is seen of all threads has the
 * standard error
 *
 *     sqrt(sum of P D U)
 *
 * which is an upper bound: periodic samples see a long run of one thread more evenly than that.
 */
#ifndef WEFT_REPORT_ACCOUNT_H
#define WEFT_REPORT_ACCOUNT_H

#include "report/read/facts.h"

#define ACCOUNT_SURE 3 /* a difference of more standard errors is no chance */

struct account {
	int64_t used_ns, seen_ns, samples;
	double error_ns; /* standard; 0 = no period is known */
	double off;      /* (seen - used) / error_ns */
	int within;      /* is it within ACCOUNT_SURE? */
	/* Threads that used CPU time and have no sample: all of them, or, if the whole is as
	 * expected, those that used too much for this to be chance. */
	uint32_t silent;
	int64_t silent_ns;
	/* Processes that used time in none of the threads with a row, and how much: exec, loading,
	 * the beginnings and ends of threads, threads too brief to be met. */
	uint32_t outside;
	int64_t outside_ns;
};

/* 0: the file does not tell. */
int account_read(const struct facts *f, struct account *out);
/* Is account_effect() more than 1 for any process? It is where a tick is longer than a period. */
int account_has_effects(const struct facts *f);
/* E[W^2] / E[W] of the CPU samples of a process; 1 where nothing is told. */
double account_effect(const struct facts *f, uint32_t process);

enum account_order { ACCOUNT_GAPS, ACCOUNT_SILENT };
/*
 * The rows with the largest gap between used and seen (if the whole is not as expected, only gaps
 * in its direction), or those of silent threads, largest first. Returns how many, at most @room.
 */
size_t account_rows(const struct facts *f, enum account_order order, const struct fact_cpu **out,
		    size_t room);
/*
 * Where the clock is ticks: which threads do these meet more or less often than is due? Their
 * shares are misjudged. On a busy CPU time slices begin at a tick. So a thread that gives the CPU
 * back before the next tick, because it ends or leaves the CPU again and again, is met seldom, and
 * the one that gets the CPU then is met in its stead (docs/accuracy.md#lockstep).
 *
 * A thread that used ACCOUNT_MET_TICKS or more is judged by itself; all others of a process are
 * judged together with what it used beside its threads. Listed are those that are off by
 * ACCOUNT_MET_SURE standard errors, and by ACCOUNT_MET_PART of what was used: what clone and exit
 * cost a brief thread is in no sample.
 */
#define ACCOUNT_MET_TICKS 50
#define ACCOUNT_MET_SURE 3.5
#define ACCOUNT_MET_PART 0.2
struct account_met {
	uint32_t process, thread; /* thread 0: the brief threads of the process together */
	double part, off;         /* seen / used; in standard errors */
};
/* Furthest off first. Returns how many, at most @room. */
size_t account_met(const struct facts *f, struct account_met *out, size_t room);

/* "worker [101]", or "the rest of shop [100]". */
const char *account_name(const struct facts *f, const struct fact_cpu *row, char *out, size_t room);

#endif
