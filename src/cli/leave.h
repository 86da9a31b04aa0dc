/* SPDX-License-Identifier: Apache-2.0 */
/* A verb that is interrupted leaves no half of a file. */
#ifndef WEFT_CLI_LEAVE_H
#define WEFT_CLI_LEAVE_H

/* SIGINT, SIGTERM and SIGHUP end the process as ever, but first its outputs that are not complete
 * (base/output.h) are removed. Those that are ignored stay so. */
void leave_no_half_files(void);

#endif
