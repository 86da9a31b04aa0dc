/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What weft inspect and weft metadata print: the same facts as text for people and as JSON.
 *
 * Runs on the command's one thread. Printing changes nothing.
 *
 *   inspect_show.c  what is shown, words for it
 *   inspect_text.c  a table for people
 *   inspect_json.c  JSON
 *   metadata.h      both forms of types
 *   metadata_text.c types as Java declares them
 *   metadata_json.c types as JSON
 */
#ifndef WEFT_CLI_INSPECT_ROOM_H
#define WEFT_CLI_INSPECT_ROOM_H

#endif
