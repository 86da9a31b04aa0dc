/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sum/partition.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int partition_init(struct partition *p, size_t width)
{
	*p = (struct partition){.index = map_new(), .width = width};
	return p->index ? 0 : -ENOMEM;
}

void partition_free(struct partition *p)
{
	map_free(p->index);
	free(p->tuple);
	free(p->samples);
	memset(p, 0, sizeof(*p));
}

static int is_last(const struct partition *p, const uint32_t *rows)
{
	return p->count &&
	       memcmp(p->tuple + p->last * p->width, rows, p->width * sizeof(*rows)) == 0;
}

static int add_new(struct partition *p, const uint32_t *rows)
{
	uint32_t *tuple =
		array_grown(p->tuple, (p->count + 1) * p->width, &p->tuple_room, sizeof(*tuple));
	uint64_t *samples;

	if (!tuple)
		return -ENOMEM;
	p->tuple = tuple;
	samples = array_grown(p->samples, p->count + 1, &p->sample_room, sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	p->samples = samples;
	memcpy(tuple + p->count * p->width, rows, p->width * sizeof(*rows));
	samples[p->count++] = 0;
	return 0;
}

int partition_add(struct partition *p, const uint32_t *rows, uint64_t samples)
{
	uint64_t *at;

	if (!is_last(p, rows)) {
		at = map_put(p->index, rows, p->width * sizeof(*rows), NULL);
		if (!at || (!*at && add_new(p, rows)))
			return -ENOMEM;
		if (!*at)
			*at = p->count;
		p->last = (size_t)*at - 1;
	}
	p->samples[p->last] += samples;
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

/* Samples that one would be right about who knows a row of the first key and says the second's
 * row that is met most with it. */
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
	struct pair *pair = calloc(p->count + 1, sizeof(*pair));
	uint64_t all = 0, least = UINT64_MAX;

	if (!pair)
		return -ENOMEM;
	for (int way = 0; way < 2; way++) {
		uint64_t right;

		all = 0;
		for (size_t i = 0; i < p->count; i++) {
			const uint32_t *tuple = p->tuple + i * p->width;

			pair[i] = (struct pair){tuple[way ? b : a], tuple[way ? a : b],
						p->samples[i]};
			all += p->samples[i];
		}
		right = told(pair, p->count);
		least = right < least ? right : least;
	}
	free(pair);
	return all && (double)least >= PARTITION_ALIKE * (double)all;
}
