# SPDX-License-Identifier: Apache-2.0
"""asyncio's tasks, whose contexts change without a call of attach or detach.

An event loop runs each step of a task, and each callback, within the contextvars.Context that it
has. asyncio's own loops do so in Handle._run(): there the bridge looks what is current in that
context, and afterwards, what is current in the loop. Other loops (uvloop's) are asked for a step
by their method call_soon() and its like, which are wrapped when something is first attached in
such a loop. asyncio.to_thread() runs a function in a copy of the caller's context, in another
thread: it is shown there while the function runs.

Not seen are other ways to enter a context: Context.run() itself, by which frameworks hand work to
threads of their own, tasks that begin eagerly (Python 3.12 and later, until their first step by
the loop), and greenlets. There a thread shows what was attached in it last, until something is
attached, detached or run by the loop again.
"""

import asyncio
import asyncio.events
import functools

_runtime = None  # the one that is followed; the last one, should there be several
_loops = set()  # kinds of loops whose methods are wrapped


def follow(runtime):
    global _runtime

    if _runtime is None:
        _wrap_handles(asyncio.events.Handle)
        asyncio.to_thread = _wrap_to_thread(asyncio.to_thread)
    _runtime = runtime


def follow_running():
    """Follows the loop that runs in this thread, if it is of a kind that is new."""
    loop = asyncio._get_running_loop()
    if loop is None or isinstance(loop, asyncio.BaseEventLoop) or type(loop) in _loops:
        return
    _loops.add(type(loop))
    for name in ("call_soon", "call_soon_threadsafe"):
        _wrap_call(type(loop), name, 0)
    for name in ("call_later", "call_at"):
        _wrap_call(type(loop), name, 1)


def _wrap_call(loop, name, before):
    """A method whose argument after so many others is the callback."""
    call = getattr(loop, name)

    @functools.wraps(call)
    def call_shown(self, *args, **kwargs):
        return call(self, *args[:before], _step, *args[before:], **kwargs)

    try:
        setattr(loop, name, call_shown)
    except TypeError:  # a class of C: it stays as it is
        pass


def _step(callback, *args):
    _runtime.show_current()
    try:
        callback(*args)
    finally:
        _runtime.show(None)


def _wrap_handles(handle):
    run = handle._run

    @functools.wraps(run)
    def run_shown(self):
        _runtime.show_of(self._context)
        try:
            run(self)
        finally:
            _runtime.show_current()

    handle._run = run_shown


def _within(function, *args, **kwargs):
    before = _runtime.shown()
    _runtime.show_current()
    try:
        return function(*args, **kwargs)
    finally:
        _runtime.show(before)


def _wrap_to_thread(to_thread):
    @functools.wraps(to_thread)
    async def to_thread_shown(function, /, *args, **kwargs):
        return await to_thread(_within, function, *args, **kwargs)

    return to_thread_shown
