/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread-local variable, in a program or in a library. A neighbour before it, so that its offset
 * is not 0; ALIGNMENT and PAD_BYTES give the block an awkward shape.
 */
#ifndef ALIGNMENT
#define ALIGNMENT 8
#endif
#ifndef PAD_BYTES
#define PAD_BYTES 24
#endif

__thread _Alignas(ALIGNMENT) char the_neighbour[PAD_BYTES] = {1};
#ifdef IS_HIDDEN
__attribute__((visibility("hidden")))
#endif
__thread long the_variable = 5;

void *the_variable_of_this_thread(void);

void *the_variable_of_this_thread(void)
{
	the_neighbour[0]++;
	the_variable++;
	return &the_variable;
}
