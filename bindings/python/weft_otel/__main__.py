# SPDX-License-Identifier: Apache-2.0
"""Runs a program with its OpenTelemetry spans shown in weft.

usage: python3 -m weft_otel FILE|-m MODULE|-c CODE [ARGUMENT]...

The program sees its own arguments, and is __main__, as if python3 had run it.
"""

import os
import runpy
import sys

from . import install


def main():
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help") or (words[0] in ("-m", "-c") and len(words) < 2):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    install()
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c"] + words[2:]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = words
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")


main()
