/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sum/partition.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int partition_init(struct partition *p, size_t width)
{
	*p = (struct partition){.tuples = map_new(), .width = width};
	return p->tuples ? 0 : -ENOMEM;
}

void partition_free(struct partition *p)
{
	map_free(p->tuples);
	memset(p, 0, sizeof(*p));
}

int partition_add(struct partition *p, const uint32_t *rows, uint64_t samples)
{
	uint64_t *sum = map_put(p->tuples, rows, p->width * sizeof(*rows), NULL);

	if (!sum)
		return -ENOMEM;
	*sum += samples;
	return 0;
}

struct pair {
	uint32_t from, to;
	uint64_t samples;
};

static int pair_order(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* How many samples have, of all second rows that occur with their first row, the most frequent. */
static uint64_t told(struct pair *pair, size_t count)
{
	uint64_t sum = 0, most = 0, same = 0;

	qsort(pair, count, sizeof(*pair), pair_order);
	for (size_t i = 0; i < count; i++) {
		int is_new = i == 0 || pair[i].from != pair[i - 1].from;

		sum += is_new ? most : 0;
		most = is_new ? 0 : most;
		same = is_new || pair[i].to != pair[i - 1].to ? 0 : same;
		same += pair[i].samples;
		most = same > most ? same : most;
	}
	return sum + most;
}

int partition_alike(const struct partition *p, size_t a, size_t b)
{
	struct pair *pair = calloc(map_count(p->tuples) + 1, sizeof(*pair));
	uint64_t all = 0, least = UINT64_MAX;

	if (!pair)
		return -ENOMEM;
	for (int way = 0; way < 2; way++) {
		size_t cursor = 0, bytes, count = 0;
		const void *tuple;
		uint64_t *samples, right;

		all = 0;
		while (map_next(p->tuples, &cursor, &tuple, &bytes, &samples)) {
			const uint32_t *rows = tuple;

			pair[count++] =
				(struct pair){rows[way ? b : a], rows[way ? a : b], *samples};
			all += *samples;
		}
		right = told(pair, count);
		least = right < least ? right : least;
	}
	free(pair);
	return all && (double)least >= PARTITION_ALIKE * (double)all;
}
