/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_ELF_CFI_RULE_H
#define WEFT_ELF_CFI_RULE_H

#include "elf/module.h"

#include <elfutils/libdw.h>

/* The rule of one row; UNWIND_CFA_NONE for what no rule can hold. */
void cfi_rule_of(Dwarf_Frame *frame, int machine, struct unwind_rule *out);

/* Does the entry say that its caller was interrupted, not calling? */
int cfi_is_signal_frame(Dwarf_Frame *frame);

#endif
