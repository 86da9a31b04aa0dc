/* SPDX-License-Identifier: Apache-2.0 */
/* For verbs that write a file: an interruption leaves no half of it, and it never replaces the file
 * that it is made from. */
#ifndef WEFT_CLI_LEAVE_H
#define WEFT_CLI_LEAVE_H

/* SIGINT, SIGTERM and SIGHUP end the process as ever, but first its outputs that are not complete
 * (base/output.h) are removed. Those that are ignored stay so. */
void leave_no_half_files(void);

/* @handler once at the first of those signals; the next has its default action. */
void leave_by(void (*handler)(int signo));

/* @signo does not end the process: the write that it was for fails, and that is told. A program
 * that is run has its own action, for none keeps a handler through an exec. */
void leave_not_by(int signo);

/* Is an output's name that of standard output, "-" or NULL? What messages call it. */
int is_standard_output(const char *path);
const char *output_name(const char *path);

/* Is @to the regular file @from, by whatever name? Writing would destroy it. */
int would_overwrite(const char *from, const char *to);

/* The same, or that file when there is one: names of one place in one directory. */
int would_take_place(const char *a, const char *b);

/* CLI_DONE, or the usage error: @to is the program at the path @program, or a file that one of
 * @words names, which it is to be run with. */
int refuse_to_overwrite(const char *to, const char *program, char *const *words);

#endif
