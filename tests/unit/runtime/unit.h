/* SPDX-License-Identifier: Apache-2.0 */
/* What cmocka wants included before it. */
#ifndef TESTS_UNIT_RUNTIME_UNIT_H
#define TESTS_UNIT_RUNTIME_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
