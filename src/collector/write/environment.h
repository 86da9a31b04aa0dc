/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment variables as they may be shown: what looks like a secret is replaced. A recording is
 * passed around; who turns variables on wants to know how a program was configured, not to spread
 * its passwords.
 *
 * Replaced by "[redacted]" are
 *   - the whole value of a variable whose name has one of the words in environment_words
 *     (case does not matter; PWD and OLDPWD, which are directories, are let be);
 *   - the user info of a URL anywhere in a value: scheme://[redacted]@host;
 *   - what stands behind "name=" or "name:" in a value whose name has such a word, to the next
 *     blank (behind a colon: line end), quote, comma, semicolon or ampersand;
 *   - a whole value that holds a private key or a JSON web token.
 * It is a safeguard, not a proof: a password in a variable called X stays.
 */
#ifndef WEFT_COLLECTOR_ENVIRONMENT_H
#define WEFT_COLLECTOR_ENVIRONMENT_H

#include <stddef.h>

#define ENVIRONMENT_REDACTED "[redacted]"
#define ENVIRONMENT_VALUE_MAX 4096 /* bytes; longer ones are cut, with "..." behind */
#define ENVIRONMENT_COUNT_MAX 2048

/* @value as it may be shown, NUL-terminated, to be freed; NULL: out of memory. */
char *environment_shown(const char *name, size_t name_bytes, const char *value, size_t bytes);

/* Calls @take with each NAME=value of the text of /proc/PID/environ, as it may be shown; entries of
 * another form are left out. */
void environment_each(const char *text, size_t bytes,
		      void (*take)(void *arg, const char *name, size_t name_bytes,
				   const char *shown),
		      void *arg);

#endif
