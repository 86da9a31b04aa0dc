#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names.py SOURCE: a search for a function's name finds one file of src/.

A frame in a debugger, a symbol in a profile and a word in a message name a function, not its file.
So no two files define the same one, static or not; but for a verb's own `run`, which its table row
names, and files of which a build takes one. Definitions are found as the house's style has them: the
name on a line that begins in the first column, the body's brace likewise.
"""
import collections
import os
import re
import subprocess
import sys

# attributes and INLINE, WEFT_API, ... go before a type; a type may stand on the line before
DEFINITION = re.compile(r"(?:(?:static|inline|[A-Z][A-Z_]+|__attribute__\(\(.*?\)\)) )*"
                        r"(?:[a-z]\w*(?: \w+)* \**(?:const \**)?)?([a-z]\w*)\(")
LINES_OF_HEAD = 12
VERB = re.compile(r"src/cli/(\w+/)?cmd_\w+\.c")
# Of each a build takes one.
ALTERNATIVES = [
    {"src/base/platform_linux.c", "src/base/platform_posix.c"},
]


def definitions(path):
    with open(path, encoding="utf-8") as text:
        lines = text.read().split("\n")
    for i, line in enumerate(lines):
        if not (found := DEFINITION.match(line)):
            continue
        for after in lines[i:i + LINES_OF_HEAD]:
            if after.startswith("{"):
                yield found[1]
                break
            if after.endswith(";"):
                break


def sources():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "src/*.c", "src/*.h"],
                            capture_output=True, text=True)
    return listed.stdout.split() if not listed.returncode else None


def main():
    os.chdir(sys.argv[1])
    paths = sources()
    if paths is None:
        print("1..0 # skip no git tree")
        return 77
    homes, total = collections.defaultdict(set), 0
    for path in filter(os.path.exists, paths):
        for name in definitions(path):
            homes[name].add(path)
            total += 1
    for files in homes.values():  # a header may have what stands in for its .c where that is left out
        files -= {f for f in files if f.endswith(".h")
                  and any(g.endswith(".c") and os.path.dirname(g) == os.path.dirname(f) for g in files)}
    twice = {n: files for n, files in homes.items()
             if len(files) > 1 and files not in ALTERNATIVES
             and not (n == "run" and all(VERB.match(file) for file in files))}
    print("not ok" if total < 1000 else "ok", f"1 - definitions were found ({total})")
    print("not ok" if twice else "ok", "2 - a function's name is defined in one file")
    for name, files in sorted(twice.items()):
        print(f"# {name}: {' '.join(sorted(files))}")
    print("1..2")
    return bool(twice or total < 1000)


sys.exit(main())
