/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendezvous that a killed collector has left behind: sockets that nobody listens at, and the
 * directories made for one alone. Only what is certainly one is removed: of this user, with our
 * names, nothing else beside it, older than a minute, and refusing connections.
 */
#ifndef WEFT_COLLECTOR_STALE_H
#define WEFT_COLLECTOR_STALE_H

/* Below @directory: sockets PID.sock, and directories @prefix and six letters. */
void stale_remove(const char *directory, const char *prefix);

#endif
