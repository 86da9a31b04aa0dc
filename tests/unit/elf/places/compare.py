#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares elf_module_places() with addr2line, eu-addr2line and llvm-symbolizer.

    compare.py [--show N] [--every N] [--names FILE] [--keep DIRECTORY] SHOW_PLACES FILE
               [OPTION...] [-- ORACLE_FILE]

Every instruction address of FILE (every Nth with --every), its places by SHOW_PLACES OPTION...
FILE, and by each oracle on ORACLE_FILE (FILE itself unless given). An address agrees when as many functions are named,
and of each the name, the file and the line are the same, with at least one of the oracles;
how often each agrees is printed. Names of one address by the symbol table of --names FILE
are the same. What others say of a file is kept in --keep DIRECTORY, and not asked for again.
Exit 1 when an address agrees with none.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys


def run(command, text):
    out = subprocess.run(command, input=text, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False).stdout
    if "\n_Z" not in out:
        return out
    return subprocess.run(["c++filt"], input=out, stdout=subprocess.PIPE, text=True,
                          check=True).stdout  # what an oracle's own demangler cannot read


KEPT = []


def run_on(path, command, text):
    """What a command that ends with the path says; perhaps what it has said before."""
    if not KEPT:
        return run([*command, path], text)
    asked = repr((command, os.path.realpath(path), os.stat(path).st_mtime_ns, text))
    kept = os.path.join(KEPT[0], hashlib.sha256(asked.encode()).hexdigest())
    if not os.path.exists(kept):
        out = run([*command, path], text)
        with open(kept, "w", encoding="utf-8", newline="") as file:
            file.write(out)
    with open(kept, encoding="utf-8", newline="") as file:
        return file.read()


def addresses(path, every):
    """Instructions of the sections that hold code of the program itself."""
    found = []
    text = run_on(path, ["objdump", "-d", "--no-show-raw-insn"], "")
    wanted = False
    for line in text.splitlines():
        if line.startswith("Disassembly of section"):
            wanted = ".plt" not in line
        match = re.match(r" +([0-9a-f]+):\t", line)
        if match and wanted:
            found.append(int(match.group(1), 16))
    return found[::every]


def drop_brackets(text, opening, closing):
    out, depth = [], 0
    for at, char in enumerate(text):
        if char == opening:
            depth += 1
        elif char == closing and depth:
            depth -= 1
        elif not depth:
            out.append(char)
    return "".join(out)


def plain(name):
    """The last word of a function's name: tools differ in what they put around it."""
    name = name.split("@")[0]
    match = re.search(r"operator\s*(\(\)|\[\]|[^\w\s(]+|new\b|delete\b|\"\"\s*\w+|)", name)
    if match and not re.search(r"\w$", name[:match.start()]):
        # "operator< <int>" and "operator<<int>" may be the same
        return "operator" + re.sub("^<.*", "<", match.group(1))
    name = name.replace("(anonymous namespace)", "").replace("{lambda", "lambda{")
    name = re.sub(r"\[clone .*?\]|\[abi:\w+\]|\{clone .*?\}", "", name)
    name = re.sub(r"\.(cold|part|constprop|isra|lto_priv|llvm)\b.*", "", name)
    name = drop_brackets(drop_brackets(name, "(", ")"), "<", ">")
    name = re.sub(r"\s+(const|volatile|&+)+$", "", name.strip())
    return re.split(r"::|\s", name.strip())[-1].lstrip("_*&") if name.strip() else name


def place(function, where):
    where = re.sub(r" \(discriminator \d+\)| \(inlined by\)", "", where.strip())
    where = re.sub(r"^(.*:\d+):\d+$", r"\1", where)  # a column
    path, _, line = where.rpartition(":")
    line = int(line) if line.isdigit() else 0
    path = "??" if path in ("??", "") else os.path.normpath(path)
    # Directory 0 is the one of compilation: where that is relative, tools put it twice.
    path = re.sub(r"^([^/]+)/\1/", r"\1/", path)
    return plain(function.strip()), path, line


def pairs(lines):
    """address, function, file:line, function, file:line ... as addr2line -a -i -f writes."""
    out, address, function = {}, None, None
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            address, function = int(line, 16), None
            out[address] = []
        elif address is None or not line:
            continue
        elif function is None:
            function = line
        else:
            out[address].append(place(re.sub(r" inlined at .*", "", function), line))
            function = None
    return out


def ours(command, text):
    out = {}
    for line in run(command, text).splitlines():
        address, function, where = line.split("\t")
        out.setdefault(int(address, 16), []).append(place(function, where))
    return out


def oracles():
    known = {
        "addr2line": ["addr2line", "-a", "-i", "-f", "-C", "-e"],
        "eu-addr2line": ["eu-addr2line", "-a", "-i", "-f", "-C", "-e"],
        "llvm-symbolizer": ["llvm-symbolizer", "-a", "-i", "-f", "-C", "--output-style=GNU",
                            "-e"],
    }
    return {name: command for name, command in known.items() if shutil.which(command[0])}


def read_aliases(path):
    """name -> one name of all those that stand at its address"""
    first, names = {}, {}
    for line in run(["nm", "--format=posix", path], "").splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] in "tTwWi":
            name = plain(words[0])
            names[name] = names.get(first.setdefault(words[2], name), first[words[2]])
    return names


ALIASES = {}


def same_place(mine, theirs):
    if mine[0] != theirs[0] and \
            ALIASES.get(mine[0], mine[0]) != ALIASES.get(theirs[0], theirs[0]):
        return False
    if mine[0] == "??":  # filling between functions, for which the line table has lines
        return True
    # A line of 0 is no line, and a file without one no help.
    if mine[2] == 0 and theirs[2] == 0:
        return True
    return mine[2] == theirs[2] and (mine[1] == theirs[1])


def same(mine, theirs):
    return len(mine) == len(theirs) and all(map(same_place, mine, theirs))


def main():
    words = sys.argv[1:]
    settings = {"--show": "3", "--every": "1", "--names": "", "--keep": ""}
    while words and words[0] in settings:
        settings[words[0]] = words[1]
        words = words[2:]
    show, every = int(settings["--show"]), int(settings["--every"])
    if settings["--names"]:
        ALIASES.update(read_aliases(settings["--names"]))
    KEPT.extend(filter(None, [settings["--keep"]]))
    oracle_file = None
    if "--" in words:
        oracle_file = words[words.index("--") + 1]
        words = words[:words.index("--")]
    program, path, options = words[0], words[1], words[2:]
    asked = addresses(oracle_file or path, every)
    text = "".join("0x%x\n" % a for a in asked)
    mine = ours([program, *options, path], text)
    theirs = {name: pairs(run_on(oracle_file or path, command, text).splitlines())
              for name, command in oracles().items()}
    if not theirs or not asked:
        print("compare: no oracle, or no code", file=sys.stderr)
        return 77
    agreed = dict.fromkeys(theirs, 0)
    alone = []
    for address in asked:
        by = [n for n, t in theirs.items() if same(mine.get(address, []), t.get(address, []))]
        for name in by:
            agreed[name] += 1
        if not by:
            alone.append(address)
    inlined = sum(len(mine.get(a, [])) > 1 for a in asked)
    print("%s: %d addresses, %d inlined; agree: %s; with none: %d" % (
        os.path.basename(path), len(asked), inlined,
        ", ".join("%s %d" % item for item in agreed.items()), len(alone)))
    for address in alone[:show]:
        print("  0x%x weft: %s" % (address, mine.get(address)))
        for name, answer in theirs.items():
            print("    %s: %s" % (name, answer.get(address)))
    return 1 if alone else 0


if __name__ == "__main__":
    sys.exit(main())
