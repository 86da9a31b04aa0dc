/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a person for a password, on the terminal and without an echo. */
#ifndef WEFT_CLI_PASSWORD_H
#define WEFT_CLI_PASSWORD_H

/* @user, @server: whose, for the question; may be NULL. A copy to be freed; NULL when there is no
 * terminal, or nothing was typed. */
char *password_ask(const char *user, const char *server);

#endif
