#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rooms.py SOURCE BUILD: the walls of src/, by the table docs/rooms.txt.

Symbols are read from the objects: a file may use those of its own room, of rooms before its own
within the same, and of the rooms that the table lets it use. So it is with headers that a file
includes. No more than CIRCLE_MAX files may stand in a circle of uses. A room has at most FILES_MAX
files, and a head header of its own name that names each of them. docs/rooms.svg is what `rooms.py
SOURCE --draw` prints.
"""
import collections
import json
import os
import re
import subprocess
import sys

FILES_MAX = 35
CIRCLE_MAX = 6
# Rooms whose head header has another name; customlabels.h is a public one.
OTHER_HEADS = {"elf": "module.h", "cli": "commands.h", "customlabels": "current.h"}


class Table:
    def __init__(self, path):
        self.uses, self.inside, self.text, self.plane = {}, collections.defaultdict(list), {}, {}
        self.exempt = set()
        room = plane = None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if m := re.match(r"# plane: (\w+)", line):
                    plane = m[1]
                elif m := re.match(r"! (\S+) (\S+) \|", line):
                    self.exempt.add((m[1], m[2]))
                elif m := re.match(r"  (\w+) \| (.*)", line):
                    self.inside[room].append(m[1])
                    self.text[f"{room}/{m[1]}"] = m[2]
                elif m := re.match(r"(\w+):([^|]*)\| (.*)", line):
                    room = m[1]
                    self.uses[room], self.text[room], self.plane[room] = m[2].split(), m[3], plane

    def place(self, file):
        """(room, number of the room inside it); files at the top of a room stand above all."""
        parts = file.split("/")
        inside = self.inside[parts[0]]
        if len(parts) == 2:
            return parts[0], len(inside)
        return parts[0], inside.index(parts[1])

    def allows(self, user, used):
        room, number = self.place(user)
        other, other_number = self.place(used)
        return other_number <= number if room == other else other in self.uses[room]


def objects(source, build):
    """Source below src/ -> objects made of it."""
    found = collections.defaultdict(list)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as text:
        for c in json.load(text):
            file = os.path.relpath(os.path.join(c["directory"], c["file"]), os.path.join(source, "src"))
            made = os.path.join(c["directory"], c.get("output", ""))
            if c.get("output", "").startswith("src/") and not file.startswith("..") and os.path.isfile(made):
                found[file].append(made)
    return found


def symbols(found):
    """Source -> (what its objects define, what they want of others)."""
    home = {path: file for file, made in found.items() for path in made}
    defined, wanted = collections.defaultdict(set), collections.defaultdict(set)
    out = subprocess.run(["nm", "-A", *home], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        path, _, said = line.rpartition(":")
        words = said.split()
        if words[-2] in "Uw":
            wanted[home[path]].add(words[-1])
        elif words[-2] in "TDBRVWC":
            defined[home[path]].add(words[-1])
    return {file: (defined[file], wanted[file] - defined[file]) for file in found}


def interposed(source):
    """What libweft.so and libweft-waits.so export: hooks stand before libc's functions."""
    names = set()
    for library in ("libweft", "libweft-waits"):
        with open(os.path.join(source, "tests", "abi", library + ".syms"), encoding="utf-8") as listed:
            names.update(listed.read().split())
    return names


def uses_of(table, found, source):
    """(user, used) -> symbols. What two rooms define is taken from where it may be taken."""
    homes, wanted, hooks = collections.defaultdict(list), {}, interposed(source)
    for file, (defined, wanted[file]) in symbols(found).items():
        is_hook = file.startswith(("runtime/hooks/", "waits/"))
        for s in defined:
            if s.startswith("weft_") or not is_hook or s not in hooks:
                homes[s].append(file)
    uses = collections.defaultdict(set)
    for file, names in wanted.items():
        for s in names:
            at = [h for h in homes.get(s, []) if h != file]
            if at and (file, s) not in table.exempt:
                own = [h for h in at if h.split("/")[0] == file.split("/")[0]]
                right = [h for h in own or at if table.allows(file, h)]
                uses[file, (right or own or at)[0]].add(s)
    return uses


def circles(files, uses):
    """Strongly connected components of more than one file (Tarjan 1972)."""
    after = collections.defaultdict(list)
    for user, used in uses:
        after[user].append(used)
    number, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(v):
        number[v] = low[v] = len(number)
        stack.append(v)
        on_stack.add(v)
        for w in after[v]:
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on_stack:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            circle = []
            while not circle or circle[-1] != v:
                circle.append(stack.pop())
                on_stack.discard(circle[-1])
            if len(circle) > 1:
                found.append(sorted(circle))

    sys.setrecursionlimit(10000)
    for f in sorted(files):
        if f not in number:
            visit(f)
    return found


def rooms_on_disk(source):
    """Folder below src/ -> its sources."""
    found = collections.defaultdict(list)
    for folder, _, names in os.walk(os.path.join(source, "src")):
        for n in names:
            if n.endswith((".c", ".h")):
                found[os.path.relpath(folder, os.path.join(source, "src"))].append(n)
    return found


def unknown(table, rooms):
    for room in sorted(rooms):
        parts = room.split("/")
        if parts[0] not in table.uses or (len(parts) > 1 and parts[1] not in table.inside[parts[0]]) \
                or len(parts) > 2:
            yield f"src/{room} is no room of docs/rooms.txt"


def without_head(source, rooms):
    for room, names in sorted(rooms.items()):
        name = os.path.basename(room)
        heads = [name + ".h", OTHER_HEADS.get(room)]
        head = next((h for h in heads if h in names), None)
        if not head:
            yield f"src/{room} has no {name}.h"
            continue
        with open(os.path.join(source, "src", room, head), encoding="utf-8") as text:
            said = text.read().split("*/\n#ifndef")[0]
        if room == "cli":
            continue  # a verb is a file: cmd_VERB.c
        for n in sorted(names):
            stem = n[:-2]
            if n != head and not re.search(rf"\b{stem}\.[ch]\b", said) and not (
                    n.endswith(".h") and stem + ".c" in names):
                yield f"src/{room}/{head} does not name {n}"


def included_up(table, source, rooms):
    """Inline functions, macros and types leave no symbol: within a room headers have an order, too."""
    for room, names in sorted(rooms.items()):
        for file in sorted(f"{room}/{n}" for n in names):
            with open(os.path.join(source, "src", file), encoding="utf-8") as text:
                for used in re.findall(r'^#include "(\w+/(?:\w+/)*\w+\.h)"', text.read(), re.M):
                    if os.path.isfile(os.path.join(source, "src", used)) \
                            and (file, used) not in table.exempt and not table.allows(file, used):
                        yield f"{file} includes {used}"


def draw(table):
    """The two planes, rooms stacked as they stand on each other."""
    width, line, pad = 430, 17, 8
    columns = {"inside": 20, "outside": 40 + width}
    out = []

    def text(x, y, s, weight="normal", size=12, fill="#222"):
        s = s.replace("&", "&amp;").replace("<", "&lt;")
        out.append(f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{fill}">{s}</text>')

    def box(x, y, w, h, fill):
        out.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4" fill="{fill}" stroke="#888"/>')

    def room(name, x, y, w, fill):
        inside = table.inside[name]
        h = line * (len(inside) + 1) + pad
        box(x, y, w, h, fill)
        text(x + pad, y + line - 2, name, "bold")
        text(x + pad + 105, y + line - 2, table.text[name])
        for i, sub in enumerate(reversed(inside)):
            text(x + 2 * pad, y + line * (i + 2) - 2, sub, fill="#444")
            text(x + pad + 105, y + line * (i + 2) - 2, table.text[f"{name}/{sub}"], fill="#666")
        return y + h + 4

    heights = {plane: sum(line * (len(table.inside[r]) + 1) + pad + 4 for r, p in table.plane.items() if p == plane)
               for plane in columns}
    ground = 40 + max(heights.values())
    for plane, x in columns.items():
        y = ground - heights[plane]
        text(x, y - 12, {"inside": "inside the program", "outside": "outside: the command"}[plane], "bold", 15)
        for name in reversed([r for r, p in table.plane.items() if p == plane]):
            y = room(name, x, y, width, "#eef4fb" if plane == "inside" else "#f6f3ea")
    y = ground + 6
    for name in reversed([r for r, p in table.plane.items() if p == "both"]):
        y = room(name, 20, y, 2 * width + 20, "#eef6ee")
    text(20, 28, "Higher rooms use lower ones, never the other way round.", fill="#666")
    text(20, 46, "Between the planes: shared memory and one socket, nothing else.", fill="#666")
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * width + 60} {y + 6}" '
            f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="#fff"/>\n')
    return head + "\n".join(out) + "\n</svg>\n"


def main():
    source = sys.argv[1]
    table = Table(os.path.join(source, "docs", "rooms.txt"))
    if sys.argv[2] == "--draw":
        sys.stdout.write(draw(table))
        return 0
    rooms = rooms_on_disk(source)
    if strange := list(unknown(table, rooms)):
        print("not ok 1 - every folder is a room\n#", "\n# ".join(strange), "\n1..1")
        return 1
    found = objects(source, sys.argv[2])
    uses = uses_of(table, found, source)
    with open(os.path.join(source, "docs", "rooms.svg"), encoding="utf-8") as drawn:
        is_drawn = drawn.read() == draw(table)
    checks = {
        "every folder is a room": strange,
        "objects were found": [] if len(found) > 300 else [f"only {len(found)}"],
        f"no room has more than {FILES_MAX} files": [
            f"src/{r} has {len(n)}" for r, n in sorted(rooms.items()) if len(n) > FILES_MAX],
        "each has a head header that names its files": list(without_head(source, rooms)),
        "no arrow leads up": [f"{a} uses {b}: {' '.join(sorted(s))}" for (a, b), s in sorted(uses.items())
                              if not table.allows(a, b)],
        "no header is included from above": list(included_up(table, source, rooms)),
        f"no circle of more than {CIRCLE_MAX} files": [
            " ".join(c) for c in circles(found, uses) if len(c) > CIRCLE_MAX],
        "the picture is of this table (rooms.py SOURCE --draw)": [] if is_drawn else ["docs/rooms.svg is another"],
    }
    for n, (name, wrong) in enumerate(checks.items(), 1):
        print("not ok" if wrong else "ok", n, "-", name)
        for w in wrong:
            print("#", w)
    print(f"1..{len(checks)}")
    return any(checks.values())


sys.exit(main())
