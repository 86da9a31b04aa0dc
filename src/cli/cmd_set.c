/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft set: changes settings of events while a process is recorded. It asks the collector once,
 * over the socket through which processes join it (weft/abi/rendezvous.h); the session of the
 * process has the path.
 */
#include "base/text/visible.h"
#include "cli/frame/cli.h"
#include "collector/process/carrier.h"
#include "report/show/json_value.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <weft/abi/rendezvous.h>
#include <weft/jfr_settings.h>

#define PATIENCE_S 10

static const struct cli_option options[] = {
	{"all", 0, CLI_FLAG,
	 .help = "In all processes of the recording, and those that join later, not in this one "
		 "alone"},
	{"json", 0, CLI_FLAG, .help = "Print the answer as JSON"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft set 1234 shop.Order#enabled=false", "No more of these events from now on"},
	{"weft set 1234 'weft.*Wait#threshold=0 ns' 'weft.*Wait#select=if-context'",
	 "Every wait inside of spans, however short"},
	{"weft set --all 1234 jdk.ExecutionSample#select=if-context",
	 "CPU samples inside of spans alone, in children too"},
	{NULL, NULL},
};

struct reply {
	struct weft_set_answer head;
	char text[WEFT_SET_TEXT_MAX + 1];
};

/* All operands but the first, as lines. */
static int cmd_set_read_lines(const struct cli_args *args, struct weft_jfr_settings *s,
			      const char **lines)
{
	char **operand = cli_operands(args);

	for (size_t i = 1; operand[i]; i++)
		if (weft_jfr_settings_string(s, WEFT_JFR_FROM_SET, operand[i]))
			return cli_usage("%s", weft_jfr_settings_error(s));
	*lines = weft_jfr_settings_lines(s);
	if (!*lines)
		return cli_error("%s", strerror(ENOMEM));
	if (strlen(*lines) > WEFT_SET_TEXT_MAX)
		return cli_usage("more than %d bytes of settings", WEFT_SET_TEXT_MAX);
	return CLI_DONE;
}

/* ---- the collector */

static int find_socket(pid_t pid, struct sockaddr_un *address)
{
	struct carrier c;
	int rc = carrier_look(&c, pid);

	if (rc == -ENOENT)
		return cli_error("process %d: it does not carry weft", (int)pid);
	if (rc)
		return cli_error("process %d: %s", (int)pid, strerror(-rc));
	if (carrier_state(&c) != CARRIER_RECORDED)
		return cli_error("process %d: nobody records it (%s)", (int)pid,
				 carrier_state_text(carrier_state(&c)));
	c.header.socket_path[sizeof(c.header.socket_path) - 1] = 0;
	if (!c.header.socket_path[0] || strlen(c.header.socket_path) >= sizeof(address->sun_path))
		return cli_error("process %d: its recorder does not say where it listens",
				 (int)pid);
	strcpy(address->sun_path, c.header.socket_path);
	return CLI_DONE;
}

static int send_question(int fd, pid_t pid, const char *lines)
{
	struct weft_set question = {
		.magic = WEFT_SET_MAGIC,
		.version = WEFT_RENDEZVOUS_VERSION,
		.pid = (int32_t)pid,
		.text_bytes = (uint32_t)strlen(lines),
	};
	struct iovec parts[] = {{&question, sizeof(question)},
				{(char *)(uintptr_t)lines, question.text_bytes}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int take_answer(int fd, struct reply *out)
{
	struct iovec parts[] = {{&out->head, sizeof(out->head)}, {out->text, WEFT_SET_TEXT_MAX}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n = recvmsg(fd, &message, 0);

	if (n < 0)
		return errno == EWOULDBLOCK ? -ETIMEDOUT : -errno;
	if (n == 0)
		return -ECONNRESET;
	if (n < (ssize_t)sizeof(out->head) || out->head.magic != WEFT_SET_MAGIC ||
	    out->head.version != WEFT_RENDEZVOUS_VERSION ||
	    sizeof(out->head) + out->head.text_bytes != (size_t)n)
		return -EPROTO;
	out->text[out->head.text_bytes] = 0;
	return 0;
}

/* 0 or -errno. */
static int cmd_set_ask(const struct sockaddr_un *address, pid_t pid, const char *lines,
		       struct reply *out)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
	    connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		rc = -errno;
	else
		rc = send_question(fd, pid, lines);
	if (rc == 0)
		rc = take_answer(fd, out);
	close(fd);
	return rc;
}

/* ---- telling */

static json_t *type_list(const char *text)
{
	json_t *list = json_array();

	for (const char *at = text; list && *at;) {
		size_t bytes = strcspn(at, "\n");

		json_array_append_new(list, json_stringn(at, bytes));
		at += bytes + (at[bytes] == '\n');
	}
	return list;
}

static int tell_json(pid_t pid, const struct reply *reply)
{
	json_t *all = json_pack("{s:i, s:i, s:i, s:o}", "version", 1, "pid", (int)pid, "changed",
				reply->head.status, "types", type_list(reply->text));

	return cli_written(json_emit(all, stdout, JSON_INDENT(2)));
}

static int cmd_set_tell(const struct cli_args *args, pid_t pid, const struct reply *reply)
{
	if (reply->head.status < 0)
		return cli_error("process %d: %s", (int)pid,
				 reply->text[0] ? reply->text : strerror(-reply->head.status));
	if (cli_flag(args, "json"))
		return tell_json(pid, reply);
	for (const char *at = reply->text; *at; at += *at == '\n') {
		size_t bytes = strcspn(at, "\n");

		visible_print(stdout, at, bytes);
		putchar('\n');
		at += bytes;
	}
	if (reply->head.status == 0)
		puts("no event type known by now has changed");
	return CLI_DONE;
}

static int cmd_set_set(const struct cli_args *args, pid_t pid, const char *lines)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct reply reply = {.head = {.status = 0}};
	int status = find_socket(pid, &address), rc;

	if (status)
		return status;
	rc = cmd_set_ask(&address, cli_flag(args, "all") ? 0 : pid, lines, &reply);
	if (rc)
		return cli_error("process %d: its recorder: %s", (int)pid,
				 rc == -EACCES ? "the recording is another user's" : strerror(-rc));
	return cmd_set_tell(args, pid, &reply);
}

static int run(const struct cli_args *args)
{
	struct weft_jfr_settings *s = weft_jfr_settings_new(NULL);
	const char *lines = NULL;
	pid_t pid = 0;
	int status = CLI_DONE;

	if (!s)
		status = cli_error("%s", strerror(ENOMEM));
	else if (cli_pid(cli_operand(args, 0), &pid))
		status = cli_usage("'%s' is no process id", cli_operand(args, 0));
	if (status == CLI_DONE)
		status = cmd_set_read_lines(args, s, &lines);
	if (status == CLI_DONE && lines)
		status = cmd_set_set(args, pid, lines);
	weft_jfr_settings_free(s);
	return status;
}

const struct cli_command cmd_set = {
	.name = "set",
	.summary = "Change settings of events while a program is recorded",
	.operands = "PID EVENT#SETTING=VALUE...",
	.operands_min = 2,
	.operands_max = -1,
	.description =
		"Changes settings of event types in a process that is being recorded, however its "
		"recording was begun: weft record, weft record -p, WEFT_RECORD. They hold at once, "
		"for types that the program has used and for those that it will, and before all "
		"that was set when the recording began. The types that have changed are printed.\n"
		"\n"
		"EVENT is the name of a type, in which * is anything and ? any one character; "
		"without a dot it is the last part of the name. SETTING is enabled, threshold, "
		"throttle, stackTrace, select, or, of the JDK's periodic events, period. All that "
		"is given is set, or nothing.\n"
		"\n"
		"Only the user whose recording it is, and root, may do this.",
	.options = options,
	.examples = examples,
	.run = run,
};
