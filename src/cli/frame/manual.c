/* SPDX-License-Identifier: Apache-2.0 */
/* What the manual says about the command as a whole. */
#include "cli/frame/cli.h"

const char cli_version[] = WEFT_VERSION;

const char cli_description[] =
	"weft ties everything that a profiler sees to the work it was done for. A program says,\n"
	"in a nanosecond, that it now works for trace T and span S; every CPU sample then carries\n"
	"that answer, and a person can ask which request burnt the CPU, and where.\n"
	"\n"
	"weft record runs a program and writes a recording, weft report shows what is in it, weft\n"
	"convert hands it to other tools. Recordings are JFR files, which other tools read too.";

const struct cli_example cli_environment[] = {
	{"WEFT_RECORD",
	 "With libweft.so in LD_PRELOAD: the recording's file; the program starts a collector "
	 "by itself. In a recorded program's children it is ignored: they join"},
	{"WEFT_SETTINGS", "Settings of events for what is recorded: .jfc files or profiles, and "
			  "EVENT#SETTING=VALUE, with commas between"},
	{"WEFT_WAITS",
	 "Waits that libweft-waits.so makes events of, where it is preloaded: locks,io; "
	 "unset: both"},
	{"WEFT_QUIET", "Set to anything but nothing: a program that WEFT_RECORD could not record "
		       "says nothing of it on its standard error"},
	{"WEFT_LIB", "The libweft.so to use instead of the one beside the command"},
	{"WEFT_COMMAND", "The weft that WEFT_RECORD starts, instead of the one beside libweft.so"},
	{"WEFT_DIR",
	 "Directory of the collector's socket, instead of $XDG_RUNTIME_DIR/weft or (root) a "
	 "new directory in /tmp"},
	{"WEFT_CACHE", "Directory of caches, instead of $XDG_CACHE_HOME/weft"},
	{"WEFT_HOOKS", "Groups of functions that libweft.so does not stand before in a recorded "
		       "program, each with a minus: -threads,-signals,-exec,-modules"},
	{"WEFT_PRIME_SIGNAL", "The priming signal of a program that carries libweft.so and is not "
			      "recorded yet: urg, rt, a number or none"},
	{"WEFT_PUBLISH", "Formats in which a program shows its contexts: v1,labels,otel or fewer, "
			 "or none; v1,labels unless set"},
	{"WEFT_LABELS_MAX", "Labels of a thread in a program that carries libweft.so, 3 to 32; "
			    "10 unless set"},
	{"WEFT_OTEL_ROOT_KEY", "OpenTelemetry: the attribute that holds the local root span; "
			       "empty: none"},
	{"WEFT_OTEL_SCHEMA", "OpenTelemetry: what readers are told of the format, tlsdesc_v1_dev "
			     "or tls_v1"},
	{"WEFT_SOCKET", "Set by weft for the programs that it records: where their collector is"},
	{"WEFT_FILTERS", "The number of seccomp filters that are known not to kill a program under "
			 "them for what weft asks; set by weft where it has as many itself"},
	{"NO_COLOR", "Set to anything but nothing: no colours"},
	{NULL, NULL},
};

const struct cli_example cli_statuses[] = {
	{"0", "Done"},
	{"1", "Failed; standard error says what and why"},
	{"2", "Wrong usage"},
	{"n", "weft record passes on the status of the program, 128+n when signal n ended it; 126 "
	      "when it cannot be run, 127 when there is none of this name"},
	{NULL, NULL},
};
