/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers. Each costs CPU in its own way, so that a profile has something to show:
 *
 *   /checkout   its own arithmetic: price rules, a sort, a signature     heavy
 *   /compress   deep in libc: sorts all suffixes of a text by qsort      heavy
 *   /search     a regular expression over the catalogue                  medium
 *   /static     copies a page                                            next to nothing
 *   /wait       sleeps, as a call to another service would               none
 *
 * The handlers are never inlined: they are the names that one looks for in
 * the profile.
 */
#include "routes.h"

#include <poll.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HANDLER __attribute__((noinline))
#define PRODUCTS 2000
#define CART_ITEMS 1200
#define PRICE_RULES 60
#define SIGNATURE_ROUNDS 100
#define TEXT_BYTES 6000
#define WAIT_MS 20

static char catalogue[PRODUCTS][96];
static char page[2048];

/* A small generator of the linear congruential kind (Knuth): the same cart, the same order. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

void routes_prepare(void)
{
	static const char *const colour[] = {"red", "green", "blue", "black", "white"};
	static const char *const thing[] = {"chair", "table", "lamp", "shelf", "carpet", "mirror"};
	uint32_t random = 1;

	for (unsigned int i = 0; i < PRODUCTS; i++)
		snprintf(catalogue[i], sizeof(catalogue[i]),
			 "No. %u: %s %s, %u cm wide, %u.%02u EUR", i,
			 colour[next_random(&random) % 5], thing[next_random(&random) % 6],
			 40 + next_random(&random) % 160, 9 + next_random(&random) % 900,
			 next_random(&random) % 100);
	memset(page, '-', sizeof(page));
}

/* ---------------------------------------------------------------- /checkout */

struct item {
	uint32_t product, count, price_cents;
};

static void fill_cart(struct item *cart, uint32_t random)
{
	for (unsigned int i = 0; i < CART_ITEMS; i++) {
		cart[i].product = next_random(&random) % PRODUCTS;
		cart[i].count = 1 + next_random(&random) % 9;
		cart[i].price_cents = 100 + next_random(&random) % 90000;
	}
}

/* Rule r takes r permille off everything whose product and count fall into its class. */
static HANDLER uint64_t apply_price_rules(struct item *cart)
{
	uint64_t total = 0;

	for (uint32_t rule = 1; rule <= PRICE_RULES; rule++)
		for (unsigned int i = 0; i < CART_ITEMS; i++)
			if ((cart[i].product + cart[i].count) % rule == 0)
				cart[i].price_cents -= cart[i].price_cents * rule / 100000;
	for (unsigned int i = 0; i < CART_ITEMS; i++)
		total += (uint64_t)cart[i].price_cents * cart[i].count;
	return total;
}

/* FNV-1a over the order, iterated: what a signature costs. */
static HANDLER uint64_t sign_order(const struct item *cart)
{
	const unsigned char *bytes = (const unsigned char *)cart;
	uint64_t hash = 0xcbf29ce484222325u;

	for (unsigned int round = 0; round < SIGNATURE_ROUNDS; round++)
		for (size_t i = 0; i < CART_ITEMS * sizeof(*cart); i++)
			hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return hash;
}

static int by_price(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->price_cents > y->price_cents) - (x->price_cents < y->price_cents);
}

/* Now and then somebody brings a stack of them: the request that one looks for. */
static unsigned int coupons(unsigned int number)
{
	return number % 401 == 0 ? 1000 : 1;
}

static HANDLER size_t handle_checkout(unsigned int number, char *reply, size_t room)
{
	struct item cart[CART_ITEMS];
	uint64_t total = 0, signature;

	fill_cart(cart, number);
	for (unsigned int i = 0; i < coupons(number); i++)
		total = apply_price_rules(cart);
	qsort(cart, CART_ITEMS, sizeof(*cart), by_price);
	signature = sign_order(cart);
	return (size_t)snprintf(reply, room, "cart %u: %llu.%02llu EUR, signed %016llx\n", number,
				(unsigned long long)total / 100, (unsigned long long)total % 100,
				(unsigned long long)signature);
}

/* ---------------------------------------------------------------- /compress */

static int by_suffix(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct suffixes {
	char text[TEXT_BYTES + 1];
	const char *sorted[TEXT_BYTES];
};

/* How often the byte before a suffix changes, in their order (Burrows, Wheeler 1994). */
static unsigned int count_runs(const struct suffixes *s)
{
	unsigned int runs = 1;

	for (size_t i = 1; i < TEXT_BYTES; i++)
		if (s->sorted[i] > s->text && s->sorted[i - 1] > s->text)
			runs += s->sorted[i][-1] != s->sorted[i - 1][-1];
	return runs;
}

static HANDLER size_t handle_compress(unsigned int number, char *reply, size_t room)
{
	struct suffixes *s = malloc(sizeof(*s));
	uint32_t random = number;
	size_t used;

	if (!s)
		return 0;
	for (size_t i = 0; i < TEXT_BYTES; i++) {
		s->text[i] = "abab abac abad\n"[next_random(&random) % 15];
		s->sorted[i] = s->text + i;
	}
	s->text[TEXT_BYTES] = '\0';
	qsort(s->sorted, TEXT_BYTES, sizeof(s->sorted[0]), by_suffix);
	used = (size_t)snprintf(reply, room, "%d bytes, %u runs\n", TEXT_BYTES, count_runs(s));
	free(s);
	return used;
}

/* ------------------------------------------------------------------ /search */

static HANDLER size_t handle_search(unsigned int number, char *reply, size_t room)
{
	static const char *const patterns[] = {
		"(red|blue) (chair|lamp).* [0-9]+\\.9",
		"(green|black) [a-z]*(e|l).*1[0-9]+ cm",
		"No\\. [0-9]*7: .*(table|shelf)",
	};
	regex_t pattern;
	size_t used = 0;

	if (regcomp(&pattern, patterns[number % 3], REG_EXTENDED | REG_NOSUB))
		return 0;
	for (unsigned int i = 0; i < PRODUCTS; i++) {
		size_t length = strlen(catalogue[i]);

		if (!regexec(&pattern, catalogue[i], 0, NULL, 0) && used + length + 1 < room) {
			memcpy(reply + used, catalogue[i], length);
			used += length;
			reply[used++] = '\n';
		}
	}
	regfree(&pattern);
	return used;
}

/* ---------------------------------------------------------- /static, /wait */

static HANDLER size_t handle_static(unsigned int number, char *reply, size_t room)
{
	size_t bytes = sizeof(page) - number % 1024;

	if (bytes > room)
		bytes = room;
	memcpy(reply, page, bytes);
	return bytes;
}

static HANDLER size_t handle_wait(unsigned int number, char *reply, size_t room)
{
	poll(NULL, 0, WAIT_MS);
	return (size_t)snprintf(reply, room, "waited %d ms for %u\n", WAIT_MS, number);
}

const struct route routes[] = {
	{"/checkout", handle_checkout}, {"/compress", handle_compress}, {"/search", handle_search},
	{"/static", handle_static},     {"/wait", handle_wait},
};
const unsigned int route_count = sizeof(routes) / sizeof(routes[0]);
