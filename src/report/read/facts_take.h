/* SPDX-License-Identifier: Apache-2.0 */
/* From events of a file to what facts.h keeps of them: one const table of event types. */
#ifndef WEFT_REPORT_FACTS_TAKE_H
#define WEFT_REPORT_FACTS_TAKE_H

#include "report/read/decode.h"
#include "report/read/facts.h"

struct fact_event {
	struct facts *facts;
	struct decoder *decoder;
	const struct weft_jfr_reader *reader;
	const struct weft_jfr_event_view *event;
};

typedef void fact_taker(const struct fact_event *e);

/* Takes the events of a type into the facts; NULL: they say nothing of the recording itself. */
fact_taker *facts_taker(const char *type);

/* Of jdk.ActiveSetting. Rows of one setting follow each other in time: the newest holds until the
 * next, so samples have to be read with it. */
fact_taker facts_take_setting;

#endif
