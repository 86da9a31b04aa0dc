/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that weft record puts into a program. */
#ifndef WEFT_CLI_RECORD_PRELOAD_H
#define WEFT_CLI_RECORD_PRELOAD_H

#include "cli/frame/cli.h"

extern const char *const record_waits[]; /* choices of --waits */

/*
 * record_preload() - what LD_PRELOAD is to name, with colons between: libweft.so, and before it
 * libweft-waits.so where --waits asks for it; then WEFT_WAITS is set in our own environment, which
 * the program gets. 0, or an exit status with the message printed.
 */
int record_preload(const struct cli_args *args, char *preload, size_t bytes);

#endif
