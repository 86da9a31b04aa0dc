/* SPDX-License-Identifier: Apache-2.0 */
/* The id of a process or thread in its own PID namespace, out of its `status`. */
#ifndef WEFT_PROC_PID_NAMESPACE_H
#define WEFT_PROC_PID_NAMESPACE_H

#include <stdint.h>

/* @status: the text of its /proc/.../status. The last number of the line NSpid, which is the id in
 * the innermost namespace; @outside where there is no such line. */
int32_t pid_innermost(const char *status, int32_t outside);

#endif
