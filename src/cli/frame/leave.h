/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that write a file: interrupted they leave no half of it; none is written over what it is
 * made from. */
#ifndef WEFT_CLI_LEAVE_H
#define WEFT_CLI_LEAVE_H

/* SIGINT, SIGTERM and SIGHUP end the process as ever, but first its outputs that are not complete
 * (base/output.h) are removed. Those that are ignored stay so. */
void leave_no_half_files(void);

/* Is @to, by whatever name, the regular file @from? It would be gone. */
int would_overwrite(const char *from, const char *to);

#endif
