/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a session's logs: tag values, tag names, the command, modules. A log is read from where
 * the last reading stopped up to its head, and every record checked; at the first malformed one the
 * rest of the log is abandoned, and counted once. One thread at a time; allocates.
 */
#ifndef WEFT_BASE_DICTIONARY_H
#define WEFT_BASE_DICTIONARY_H

#include <weft/abi/session.h>

struct dictionary;

/* Called for each record; @data has @bytes bytes and is not terminated. */
typedef void (*log_take)(void *arg, const struct weft_log_record *record, const uint8_t *data);

/*
 * log_read() - reads the records between *position and @head of a log of @room bytes at @log, and
 * advances *position. 0, or -EBADMSG: the log is malformed (*position is then @room, so that
 * nothing more is read).
 */
int log_read(const uint8_t *log, uint64_t room, uint64_t head, uint64_t *position, log_take take,
	     void *arg);

struct dictionary *dictionary_new(void);
void dictionary_free(struct dictionary *d);

/* A log_take() for the strings and tag names of the dictionary log. */
void dictionary_take(void *arg, const struct weft_log_record *record, const uint8_t *data);

/* Value of a tag by id, or NULL. Lives as long as the dictionary. */
const char *dictionary_string(const struct dictionary *d, uint32_t id);

/* Name of a tag number, or NULL. */
const char *dictionary_tag_name(const struct dictionary *d, unsigned int number);

#endif
