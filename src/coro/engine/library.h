/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that is loaded when it is used: linked, the clients of two database servers and all
 * that they need would cost every run of the command three times its start.
 *
 *	#define CALLS(X) X(PQexec) X(PQclear)
 *	static struct { LIBRARY_FIELDS(CALLS) } pq;
 *	static const char *const calls[] = {LIBRARY_NAMES(CALLS)};
 *	rc = library_open("libpq.so.5", calls, sizeof(calls) / sizeof(*calls), &pq);
 *	pq.PQexec(...);
 */
#ifndef WEFT_CORO_LIBRARY_H
#define WEFT_CORO_LIBRARY_H

#include <stddef.h>

#define LIBRARY_FIELD(call) __typeof__ (&(call))(call);
#define LIBRARY_FIELDS(calls) calls(LIBRARY_FIELD)
#define LIBRARY_NAME(call) #call,
#define LIBRARY_NAMES(calls) calls(LIBRARY_NAME)

/* @table: a pointer for each of the @count @names, in order. 0; -ELIBACC: it cannot be loaded, or
 * one is missing, and @why says what. It stays loaded. */
int library_open(const char *file, const char *const *names, size_t count, void *table, char *why,
		 size_t room);

#endif
