/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders against a stock: what an order waited for, and what waits nobody minds.
 *
 * Eight clerks take orders. Each order is a span; in it the clerk reads the price list, takes the
 * goods from their shelf (a mutex each), and writes the order into the ledger, of which there is
 * one, and which is now and then closed for a while by who audits it. Between orders clerks wait
 * for the next one; a porter fills the shelves. Those waits are in no span.
 *
 *   weft record --waits --set '*Wait#select=if-context' -- ./stock
 *   weft view locks weft.jfr
 *   weft print --events LockWait --context weft.jfr
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/event.h>

#define CLERKS 8
#define SHELVES 16

static struct shelf {
	pthread_mutex_t lock;
	int goods;
} shelves[SHELVES];

static pthread_rwlock_t prices_lock = PTHREAD_RWLOCK_INITIALIZER;
static int prices[SHELVES];

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ledger_orders, ledger_sum;

/* Orders that have come and that nobody has taken yet. */
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static uint64_t queue_come, queue_taken;
static int is_closing;

static struct weft_event_type order_placed = {
	.name = "stock.OrderPlaced",
	.label = "Order Placed",
	.category = "Stock",
	.flags = WEFT_EVENT_INSTANT,
	WEFT_EVENT_FIELDS({.name = "order", .kind = WEFT_EVENT_LONG},
			  {.name = "shelf", .kind = WEFT_EVENT_INT},
			  {.name = "price", .kind = WEFT_EVENT_INT}),
};

/* ---- an order */

static int price_of(unsigned int shelf)
{
	int price;

	pthread_rwlock_rdlock(&prices_lock);
	price = prices[shelf];
	pthread_rwlock_unlock(&prices_lock);
	return price;
}

static void take_goods(unsigned int shelf)
{
	pthread_mutex_lock(&shelves[shelf].lock);
	shelves[shelf].goods--;
	usleep(200); /* up the ladder and down again */
	pthread_mutex_unlock(&shelves[shelf].lock);
}

static void write_down(int price)
{
	pthread_mutex_lock(&ledger_lock);
	ledger_orders++;
	ledger_sum += (uint64_t)price;
	pthread_mutex_unlock(&ledger_lock);
}

static void serve(uint64_t order)
{
	unsigned int shelf = (unsigned int)(order * 7 % SHELVES);
	struct weft_span span;
	int price;

	weft_span_begin(&span, "order", order, order);
	price = price_of(shelf);
	take_goods(shelf);
	write_down(price);
	weft_event_emit(&order_placed, WEFT_LONG(order), WEFT_LONG(shelf), WEFT_LONG(price));
	weft_span_end(&span);
}

/* ---- who works there */

static uint64_t next_order(void)
{
	uint64_t order = 0;

	pthread_mutex_lock(&queue_lock);
	while (queue_taken == queue_come && !is_closing)
		pthread_cond_wait(&queue_filled, &queue_lock);
	if (queue_taken < queue_come)
		order = ++queue_taken;
	pthread_mutex_unlock(&queue_lock);
	return order;
}

static void *clerk(void *argument)
{
	for (uint64_t order; (order = next_order());)
		serve(order);
	return argument;
}

static int is_over(void)
{
	int over;

	pthread_mutex_lock(&queue_lock);
	over = is_closing && queue_taken == queue_come;
	pthread_mutex_unlock(&queue_lock);
	return over;
}

static void *porter(void *argument)
{
	for (unsigned int shelf = 0; !is_over(); shelf = (shelf + 1) % SHELVES) {
		pthread_mutex_lock(&shelves[shelf].lock);
		shelves[shelf].goods += 10;
		usleep(500);
		pthread_mutex_unlock(&shelves[shelf].lock);
	}
	return argument;
}

/* A ledger that is being audited is not written in. */
static void *auditor(void *argument)
{
	while (!is_over()) {
		usleep(50000);
		pthread_mutex_lock(&ledger_lock);
		usleep(5000);
		pthread_mutex_unlock(&ledger_lock);
	}
	return argument;
}

static void take_orders(uint64_t orders)
{
	for (uint64_t i = 0; i < orders; i++) {
		usleep(300);
		pthread_mutex_lock(&queue_lock);
		queue_come++;
		pthread_cond_signal(&queue_filled);
		pthread_mutex_unlock(&queue_lock);
	}
	pthread_mutex_lock(&queue_lock);
	is_closing = 1;
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

static void start(pthread_t *thread, const char *name, void *(*work)(void *))
{
	if (pthread_create(thread, NULL, work, NULL) || pthread_setname_np(*thread, name))
		abort();
}

int main(int argc, char **argv)
{
	uint64_t orders = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000;
	pthread_t thread[CLERKS + 2];

	for (int i = 0; i < SHELVES; i++) {
		pthread_mutex_init(&shelves[i].lock, NULL);
		prices[i] = 3 + i;
	}
	for (int i = 0; i < CLERKS; i++)
		start(&thread[i], "clerk", clerk);
	start(&thread[CLERKS], "porter", porter);
	start(&thread[CLERKS + 1], "auditor", auditor);
	take_orders(orders);
	for (int i = 0; i < CLERKS + 2; i++)
		pthread_join(thread[i], NULL);
	printf("%llu orders, %llu in all\n", (unsigned long long)ledger_orders,
	       (unsigned long long)ledger_sum);
	return ledger_orders == orders ? 0 : 1;
}
