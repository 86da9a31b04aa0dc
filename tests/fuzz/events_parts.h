/* SPDX-License-Identifier: Apache-2.0 */
/* What an input of fuzz_events is made of; see there. Shared with the maker of its seeds. */
#ifndef WEFT_FUZZ_EVENTS_PARTS_H
#define WEFT_FUZZ_EVENTS_PARTS_H

enum events_part {
	EVENTS_PART_TYPE,
	EVENTS_PART_EVENT,
	EVENTS_PART_SETTINGS,
	EVENTS_PART_DRAIN,
	EVENTS_PARTS
};

#endif
