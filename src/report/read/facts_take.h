/* SPDX-License-Identifier: Apache-2.0 */
/* From events of a file to what facts.h keeps of them. */
#ifndef WEFT_REPORT_FACTS_TAKE_H
#define WEFT_REPORT_FACTS_TAKE_H

#include "report/read/decode.h"
#include "report/read/facts.h"
#include "report/read/plan.h"

/* An event whose plan has @role: takes those that tell of the recording itself, and no others. */
void facts_take(struct facts *facts, struct model *model, struct decoder *decoder, enum role role,
		const struct weft_jfr_event_view *e);

#endif
