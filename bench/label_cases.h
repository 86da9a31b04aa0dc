/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What label-cost measures, in the order in which it prints; bench_labels.c says what each is.
 * Every line: name, formats that are on, function of label_cost.c, what it is done to.
 */
#ifndef BENCH_LABEL_CASES_H
#define BENCH_LABEL_CASES_H

#define LABEL_CASES(X)                                                                             \
	X(SAME, SHOWN, set_same)                                                                   \
	X(SAME_REFERENCE, SHOWN, reference_same)                                                   \
	X(OTHER, SHOWN, set_other)                                                                 \
	X(OTHER_REFERENCE, SHOWN, reference_other)                                                 \
	X(FULL, SHOWN, set_full)                                                                   \
	X(FULL_REFERENCE, SHOWN, reference_full)                                                   \
	X(NEW, SHOWN, set_and_remove)                                                              \
	X(NEW_REFERENCE, SHOWN, reference_set_and_remove)                                          \
	X(GET, SHOWN, get)                                                                         \
	X(GET_REFERENCE, SHOWN, reference_read)                                                    \
	X(SAME_OTEL, ALL, set_same)                                                                \
	X(BATCH, SHOWN, update)                                                                    \
	X(BATCH_REFERENCE, SHOWN, reference_update)                                                \
	X(SCOPED, SHOWN, scope_with_label)                                                         \
	X(SCOPE, SHOWN, scope_alone)                                                               \
	X(DECIMAL_V1, V1, two_decimals)                                                            \
	X(IDS_V1, V1, set_ids)                                                                     \
	X(IDS_LABELS, SHOWN, set_ids)                                                              \
	X(IDS_OTEL, OTEL, set_ids)                                                                 \
	X(IDS_ALL, ALL, set_ids)                                                                   \
	X(TRACE_ALL, ALL, set_trace)                                                               \
	X(ATTACH_V1, V1, attach_prepared)                                                          \
	X(ATTACH_SHOWN, SHOWN, attach_prepared)                                                    \
	X(ATTACH_ALL, ALL, attach_prepared)                                                        \
	X(SWAP_ALL, ALL, swap_prepared)                                                            \
	X(SCOPED_ALL, ALL, scope_with_label)                                                       \
	X(BATCH_ALL, ALL, update)                                                                  \
	X(PREPARE, ALL, prepare_and_free)                                                          \
	X(DECIMAL, SHOWN, two_decimals)

#define LABEL_CASE_NAME(name, formats, function) CASE_##name,
enum label_case { LABEL_CASES(LABEL_CASE_NAME) LABEL_CASE_COUNT };

#endif
