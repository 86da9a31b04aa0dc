/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_COPIES_TABLE_H
#define WEFT_RUNTIME_COPIES_TABLE_H

/* In the constructor. 1: another copy has begun already, and is this one's master. */
int weft_copies_find_master(void);
/* In the constructor, once there is a session: finds libcustomlabels-weft.so if it is loaded. */
void weft_copies_meet_labels(void);

#endif
