/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame that every verb stands in: options by tables, help, messages, the terminal. A verb
 * knows the frame; the frame knows no verb by name (cli.h says how one is added).
 *
 * Runs on the command's one thread. A verb never sees a bad value; whatever goes wrong is one line
 * on stderr and an exit status.
 *
 *   cli.h            tables of verbs, and their values
 *   args.c           options, parsed and checked
 *   verbs.c          a verb found by its name
 *   help.c           --help
 *   manual.c         what the manual says of weft as a whole
 *   message.c        messages on stderr
 *   term.c           width and colours
 *   leave.c          interrupted: no half files
 *   locate.c         libraries beside the command
 *   engines.c        what samples, how often
 *   recording_args.c options of verbs that read
 *   settings_args.c  --settings, --set
 */
#ifndef WEFT_CLI_FRAME_ROOM_H
#define WEFT_CLI_FRAME_ROOM_H

#endif
