/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sum/books.h"

#include "base/recording.h"

int books_read(const struct facts *f, struct books *out)
{
	if (!f->counter_count)
		return 0;
	*out = (struct books){
		.attempted = facts_value(f, "attempted"),
		.delivered = facts_value(f, RECORDING_COUNTER_DELIVERED),
		.pending = facts_value(f, RECORDING_COUNTER_PENDING),
		.generations = facts_value(f, RECORDING_COUNTER_GENERATIONS),
		.unbalanced = facts_value(f, RECORDING_COUNTER_UNBALANCED),
	};
	out->lost = facts_sum(f, "lost") - out->pending;
	out->difference = out->attempted - out->delivered - out->lost - out->pending;
	return 1;
}

int books_balance(const struct books *b)
{
	return b->difference == 0 && b->unbalanced == 0;
}

static int64_t quantile(const struct facts *f, uint32_t name, double share)
{
	int64_t total = 0, best = 0;

	for (uint32_t i = 0; i < f->bucket_count; i++)
		total += f->buckets[i].name == name ? f->buckets[i].count : 0;
	for (uint32_t i = 0; i < f->bucket_count; i++) {
		const struct fact_bucket *b = &f->buckets[i];
		int64_t below = 0;

		if (b->name != name)
			continue;
		for (uint32_t k = 0; k < f->bucket_count; k++)
			if (f->buckets[k].name == name && f->buckets[k].up_to <= b->up_to)
				below += f->buckets[k].count;
		if ((double)below >= share * (double)total && (!best || b->up_to < best))
			best = b->up_to;
	}
	return best;
}

int64_t books_quantile(const struct facts *f, const char *histogram, double share)
{
	uint32_t name = names_find(&f->model->names, histogram);

	return name ? quantile(f, name, share) : 0;
}
