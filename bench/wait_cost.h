/* SPDX-License-Identifier: Apache-2.0 */
/* What wait-cost measures, in the order in which it prints it. */
#ifndef BENCH_WAIT_COST_H
#define BENCH_WAIT_COST_H

enum wait_case {
	WAIT_MUTEX,
	WAIT_MUTEX_BARE,
	WAIT_READ_LOCK,
	WAIT_READ_LOCK_BARE,
	WAIT_WRITE_LOCK,
	WAIT_WRITE_LOCK_BARE,
	WAIT_SEMAPHORE,
	WAIT_SEMAPHORE_BARE,
	WAIT_CALL,
	WAIT_CALL_BARE,
	WAIT_CASE_COUNT,
};

#endif
