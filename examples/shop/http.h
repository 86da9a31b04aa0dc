/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of HTTP/1.1 (RFC 9112) that the shop speaks: GET requests without a body,
 * kept-alive connections, pipelining. A connection owns its input buffer; a request is a
 * view that points into it and is good until http_consume().
 */
#ifndef SHOP_HTTP_H
#define SHOP_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_INPUT_BYTES 8192

struct http_connection {
	int fd;
	size_t used; /* bytes in input */
	char input[HTTP_INPUT_BYTES];
};

struct http_text {
	const char *at;
	size_t bytes;
};

struct http_request {
	size_t bytes; /* of the whole head, with its empty line */
	struct http_text path, query, traceparent;
	bool keep_alive;
};

/** A new connection that owns @fd; NULL: out of memory, and @fd is still the caller's. */
struct http_connection *http_open(int fd);
void http_close(struct http_connection *c); /* closes the socket, frees; takes NULL */

/** Reads what the socket has. 1: more came; 0: nothing now; -ENOTCONN: the peer is gone. */
int http_receive(struct http_connection *c);

/** 1: @out is the next request; 0: not all of it is here yet; -EBADMSG: not our HTTP. */
int http_parse(const struct http_connection *c, struct http_request *out);
void http_consume(struct http_connection *c, const struct http_request *request);

/** Sends a whole response. 0, or -errno: the connection is of no more use. */
int http_reply(struct http_connection *c, int status, struct http_text body, bool keep_alive);

bool http_text_is(struct http_text text, const char *word);
/** The decimal number after "NAME=" in a query string; @otherwise when it is not there. */
unsigned int http_query_number(struct http_text query, const char *name, unsigned int otherwise);

#endif
