/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, and the account of CPU time, as JSON: members of docs/report.md. */
#ifndef WEFT_REPORT_JSON_ACCOUNT_H
#define WEFT_REPORT_JSON_ACCOUNT_H

#include "report/read/facts.h"

#include <jansson.h>

json_t *json_clocks(const struct facts *f);
json_t *json_account(const struct facts *f);
json_t *json_times(const struct facts *f);

/* NAME, NAME_low, NAME_high: a share and the ends of its interval, null where it has none. */
void json_set_share(json_t *o, const char *name, const struct amount *part,
		    const struct amount *whole, int is_sampled);

#endif
