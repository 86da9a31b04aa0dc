/* SPDX-License-Identifier: Apache-2.0 */
/* From events of a file to what facts.h keeps of them. */
#ifndef WEFT_REPORT_FACTS_TAKE_H
#define WEFT_REPORT_FACTS_TAKE_H

#include "report/decode.h"
#include "report/facts.h"
#include "report/plan.h"

/* An event whose plan has @role: takes those that tell of the recording itself, and no others. */
void facts_take(struct facts *facts, struct model *model, struct decoder *decoder, enum role role,
		const struct weft_jfr_event_view *e);

#endif
