/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program one instruction at a time and keeps, beside it, the true stack of each
 * thread: every call instruction adds a return address, and whatever moves SP above it takes
 * it away. That needs no unwind data, and so judges what is read from them.
 *
 * The stacks of a program must not move SP upwards but by returning: an alternate signal
 * stack lies below the others (in .bss, of a program that is not mapped high).
 */
#ifndef WEFT_TEST_STEPPER_H
#define WEFT_TEST_STEPPER_H

#include "unwind/rules.h"

#include <sys/types.h>
#include <sys/user.h>

#define STEPPER_DEPTH 512

struct stepper;

enum stepper_place {
	STEPPER_FIRST = 1,    /* a function's first instruction */
	STEPPER_RETURN = 2,   /* its return */
	STEPPER_HANDLER = 4,  /* below a signal handler */
	STEPPER_ALTERNATE = 8 /* on a stack of its own */
};

struct stepper_stop {
	pid_t tid;
	int is_main; /* thread */
	unsigned int places;
	struct user_regs_struct u;
	struct unwind_registers regs;
	struct unwind_memory memory[2]; /* the stack from the red zone on, and the one before */
	uint64_t truth[STEPPER_DEPTH];
	size_t truth_count;
	unsigned int maps_number; /* grows when mappings may have changed */
};

/*
 * stepper_start() - @argv is run up to its first instruction, in the dynamic loader, or, with
 * @at_entry, in the program. NULL, with errno, where ptrace cannot be used.
 */
struct stepper *stepper_start(char **argv, int at_entry);
/* One more instruction of any thread: 1, or 0 when the program has ended. */
int stepper_next(struct stepper *s, struct stepper_stop *stop);
int stepper_status(const struct stepper *s); /* of wait(), after the end */
const char *stepper_maps(struct stepper *s); /* text of /proc/PID/maps as it was at the stop */
size_t stepper_read(struct stepper *s, uint64_t address, void *out, size_t bytes);
pid_t stepper_pid(const struct stepper *s);
/*
 * Lets another tracer look at the stopped process (of one thread): detached and stopped by a
 * signal in between. 0, or -1 when it ended or moved on.
 */
int stepper_lend(struct stepper *s, struct stepper_stop *stop);
int stepper_take_back(struct stepper *s);
void stepper_free(struct stepper *s); /* kills it */

#endif
