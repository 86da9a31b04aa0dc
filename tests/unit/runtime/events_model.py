#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What becomes of events: a model of the semantics in weft/event.h, and programs with the results
that they must have, for test_events_semantics.c. It shares nothing with the library.

usage: events_model.py > table

A line is `C0C1C2 R PROGRAM RESULTS`. C0..C2 are the settings of the contextual types by depth, R
those of the regular type; each a letter of SETTINGS. PROGRAM is a string of

    (  a contextual event begins, one deeper      )  it is committed     x  it is cancelled
    d  the innermost ends, to be committed later
    e  a regular event: begin and commit          n  at once             a  with its times
    s  a sample of a handler                      w  a sample from outside
    h  an event of housekeeping                   S  a span is set       Z  it is cleared
    t  the other thread goes on                   r  the coroutine is resumed here   u  suspended

and RESULTS has a letter for each: K committed, X for want of a context, U untriggered, S below its
threshold, T throttled, - nothing to tell.
"""
import itertools
import random
import sys

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
# enabled, select, threshold that nothing reaches, events of its throttle (None: off)
SETTINGS = list(itertools.product((1, 0), ("all", "if-context", "if-triggered"), (0, 1),
                                  (None, 1, 0)))
LETTER = dict(zip(SETTINGS, ALPHABET))


class Flow:
    """A thread, or a coroutine wherever it runs: contexts go with it."""

    def __init__(self):
        self.committed = 0
        self.events = []
        self.span = False

    def in_context(self):
        return self.span or any(e["open"] for e in self.events)


class Model:
    def __init__(self, contextual, regular):
        self.types = list(contextual) + [regular]
        self.used = [0] * len(self.types)
        self.threads = [Flow(), Flow()]
        self.coroutine = Flow()
        self.runs_on = None
        self.thread = 0

    def flow(self):
        return self.coroutine if self.runs_on == self.thread else self.threads[self.thread]

    def last_filters(self, index):
        _, _, never, most = self.types[index]
        if never:
            return "S"
        if most is not None:
            if self.used[index] >= most:
                return "T"
            self.used[index] += 1
        self.flow().committed += 1
        return "K"

    def begin(self):
        flow = self.flow()
        index = len(flow.events)
        enabled = self.types[index][0]
        flow.events.append({"index": index, "open": enabled, "alive": enabled,
                            "since": flow.committed})
        return "-"

    def end(self):
        event = self.flow().events[-1]
        if not event["alive"] or not event["open"]:
            return "-"
        event["open"] = False
        select = self.types[event["index"]][1]
        if select == "if-triggered" and event["since"] == self.flow().committed:
            event["alive"] = False
            return "U"
        return "-"

    def commit(self):
        result = self.end()
        event = self.flow().events.pop()
        return self.last_filters(event["index"]) if event["alive"] else result

    def regular(self):
        enabled, select, _, _ = self.types[3]
        if not enabled:
            return "-"
        if select == "if-context" and not self.flow().in_context():
            return "X"
        return self.last_filters(3)

    def step(self, act):
        flow = self.flow()
        if act in "ena":
            return self.regular()
        if act == "(":
            return self.begin()
        if act == ")":
            return self.commit()
        if act == "d":
            return self.end()
        if act == "x":
            flow.events.pop()
        elif act in "sw":
            flow.committed += 1
        elif act == "h":
            return "K"
        elif act in "SZ":
            flow.span = act == "S"
        elif act == "t":
            self.thread = 1 - self.thread
        elif act == "r":
            self.runs_on = self.thread
        elif act == "u":
            self.runs_on = None
        return "-"


def tell(out, contextual, regular, program):
    model = Model(contextual, regular)
    results = "".join(model.step(act) for act in program)
    letters = "".join(LETTER[c] for c in contextual)
    out.write(f"{letters} {LETTER[regular]} {program} {results}\n")


FLAT = ("e", "n", "a", "SeZ", "SnZe", "ee", "na", "ete", "Stete", "tSete", "rSeue", "SrueZ", "seh")
ONE = ("()", "(e)", "(n)", "(a)", "(ee)", "(s)", "(w)", "(h)", "(x", "(ex", "(de)", "(ed)", "(ede)",
       "e()", "(e)()", "()(e)", "S(e)Z", "(SeZ)", "(tet)", "t(tet)t", "(teste)", "(twt)", "t(e)te",
       "(ru)", "(reu)", "(rue)", "r(uer)u", "r(uere)u", "r(utetr)u", "r(uetre)u", "(rseu)", "r(uwr)u",
       "(rwu)")
TWO = ("(())", "((e))", "(e())", "(()e)", "((e)e)", "(()())", "((e)())", "(()(e))", "((s))",
       "((dw))", "((xe)", "(t(e)te)", "(r(u)re)u", "(r(e)ue)", "((d)e)", "((he)x")
THREE = ("((()))", "(((e)))", "((()e))", "((())e)", "(((e)())())", "((t(e)te))", "(((wd)))",
         "r((ut(e)tr))u")


def is_complete(program):
    """Can it be run: contextual events match on each flow, and none is left open?"""
    depth = {"0": 0, "1": 0, "c": 0}
    thread, runs_on = 0, None
    for act in program:
        flow = "c" if runs_on == thread else str(thread)
        if act == "(":
            depth[flow] += 1
            if depth[flow] > 3:
                return False
        elif act in ")xd":
            if depth[flow] == 0:
                return False
            depth[flow] -= act != "d"
        elif act == "t":
            thread = 1 - thread
        elif act == "r":
            if runs_on is not None:
                return False
            runs_on = thread
        elif act == "u":
            if runs_on != thread:
                return False
            runs_on = None
    return runs_on is None and not any(depth.values())


def by_chance(count):
    """Longer ones, the same in each run."""
    rng = random.Random(4)
    while count:
        program = "".join(rng.choice("((()))eeenashwdxSZtru") for _ in range(rng.randint(6, 24)))
        if is_complete(program):
            count -= 1
            yield program


def main(out):
    off = SETTINGS[0]
    some = [s for s in SETTINGS if s[0] and s[1] != "if-context" and s[3] != 1]
    few = [s for s in some if s[3] is None]
    wide = some + [SETTINGS[18], SETTINGS[1]]
    for regular, program in itertools.product(SETTINGS, FLAT):
        tell(out, (off, off, off), regular, program)
    for one, regular, program in itertools.product(SETTINGS, SETTINGS, ONE):
        tell(out, (one, off, off), regular, program)
    for one, two, regular, program in itertools.product(wide, wide, SETTINGS, TWO):
        tell(out, (one, two, off), regular, program)
    for one, two, three, regular, program in itertools.product(few, few, wide, wide, THREE):
        tell(out, (one, two, three), regular, program)
    rng = random.Random(5)
    for program in by_chance(20000):
        tell(out, [rng.choice(SETTINGS) for _ in range(3)], rng.choice(SETTINGS), program)


if __name__ == "__main__":
    main(sys.stdout)
