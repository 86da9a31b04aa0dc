/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in, responses out: see http.h. Sockets are non-blocking. */
#include "http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEND_PATIENCE_MS 2000

struct http_connection *http_open(int fd)
{
	struct http_connection *c = malloc(sizeof(*c));

	if (c) {
		c->fd = fd;
		c->used = 0;
	}
	return c;
}

void http_close(struct http_connection *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c);
}

int http_receive(struct http_connection *c)
{
	ssize_t got;

	if (c->used == sizeof(c->input))
		return -ENOTCONN;
	do
		got = recv(c->fd, c->input + c->used, sizeof(c->input) - c->used, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? 0 : -ENOTCONN;
	if (got == 0)
		return -ENOTCONN;
	c->used += (size_t)got;
	return 1;
}

bool http_text_is(struct http_text text, const char *word)
{
	return text.bytes == strlen(word) && !memcmp(text.at, word, text.bytes);
}

unsigned int http_query_number(struct http_text query, const char *name, unsigned int otherwise)
{
	size_t length = strlen(name);

	for (size_t i = 0; i + length + 1 < query.bytes; i++) {
		bool starts = i == 0 || query.at[i - 1] == '&';

		if (starts && !strncmp(query.at + i, name, length) && query.at[i + length] == '=')
			return (unsigned int)strtoul(query.at + i + length + 1, NULL, 10);
	}
	return otherwise;
}

/* "GET /path?query HTTP/1.1" without its line end. */
static int parse_request_line(struct http_text line, struct http_request *out)
{
	static const char method[] = "GET ", version[] = " HTTP/1.1";
	size_t head = sizeof(method) - 1, tail = sizeof(version) - 1;
	struct http_text target;
	const char *mark;

	if (line.bytes < head + tail + 1 || memcmp(line.at, method, head) ||
	    memcmp(line.at + line.bytes - tail, version, tail))
		return -EBADMSG;
	target = (struct http_text){line.at + head, line.bytes - head - tail};
	mark = memchr(target.at, '?', target.bytes);
	out->path = target;
	out->query = (struct http_text){target.at + target.bytes, 0};
	if (mark) {
		out->path.bytes = (size_t)(mark - target.at);
		out->query = (struct http_text){mark + 1, target.bytes - out->path.bytes - 1};
	}
	return 0;
}

/* The value if the line is this header, else { NULL, 0 }. */
static struct http_text header_value(struct http_text line, const char *name)
{
	size_t length = strlen(name);

	if (line.bytes <= length || line.at[length] != ':' || strncasecmp(line.at, name, length))
		return (struct http_text){NULL, 0};
	for (length++; length < line.bytes && line.at[length] == ' ';)
		length++;
	return (struct http_text){line.at + length, line.bytes - length};
}

static int parse_header(struct http_text line, struct http_request *out)
{
	struct http_text value;

	value = header_value(line, "traceparent");
	if (value.at)
		out->traceparent = value;
	value = header_value(line, "connection");
	if (value.at && value.bytes == 5 && !strncasecmp(value.at, "close", 5))
		out->keep_alive = false;
	value = header_value(line, "content-length");
	if ((value.at && !http_text_is(value, "0")) || header_value(line, "transfer-encoding").at)
		return -EBADMSG; /* a request with a body */
	return 0;
}

int http_parse(const struct http_connection *c, struct http_request *out)
{
	const char *end = memmem(c->input, c->used, "\r\n\r\n", 4);
	const char *at = c->input;
	int rc = 0;

	if (!end)
		return c->used == sizeof(c->input) ? -EBADMSG : 0;
	*out = (struct http_request){.bytes = (size_t)(end - c->input) + 4, .keep_alive = true};
	for (bool first = true; at < end + 2 && !rc; first = false) {
		const char *eol = memmem(at, (size_t)(end + 2 - at), "\r\n", 2);
		struct http_text line = {at, (size_t)(eol - at)};

		rc = first ? parse_request_line(line, out) : parse_header(line, out);
		at = eol + 2;
	}
	return rc ? rc : 1;
}

void http_consume(struct http_connection *c, const struct http_request *request)
{
	c->used -= request->bytes;
	memmove(c->input, c->input + request->bytes, c->used);
}

static int send_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN) {
			struct pollfd room = {.fd = fd, .events = POLLOUT};

			if (poll(&room, 1, SEND_PATIENCE_MS) == 0)
				return -ETIMEDOUT;
		} else if (sent < 0 && errno != EINTR) {
			return -errno;
		} else if (sent > 0) {
			data += sent;
			bytes -= (size_t)sent;
		}
	}
	return 0;
}

static const char *reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 404:
		return "Not Found";
	default:
		return "Bad Request";
	}
}

int http_reply(struct http_connection *c, int status, struct http_text body, bool keep_alive)
{
	char head[256];
	int bytes = snprintf(head, sizeof(head),
			     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			     "Connection: %s\r\n\r\n",
			     status, reason(status),
			     body.bytes && body.at[0] == '{' ? "application/json" : "text/plain",
			     body.bytes, keep_alive ? "keep-alive" : "close");
	int rc = send_all(c->fd, head, (size_t)bytes);

	return rc ? rc : send_all(c->fd, body.at, body.bytes);
}
