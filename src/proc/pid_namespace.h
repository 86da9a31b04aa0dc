/* SPDX-License-Identifier: Apache-2.0 */
/* What a process or thread calls itself, where it lives in a PID namespace of its own. */
#ifndef WEFT_PROC_PID_NAMESPACE_H
#define WEFT_PROC_PID_NAMESPACE_H

#include <stdint.h>

/* @status: text of its /proc/.../status. The innermost number of its NSpid line; @outside where
 * there is none. */
int32_t pid_innermost(const char *status, int32_t outside);

#endif
