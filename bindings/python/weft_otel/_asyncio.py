# SPDX-License-Identifier: Apache-2.0
"""asyncio's tasks, whose contexts change without a call of attach or detach.

An event loop runs each step of a task, and each callback, within the contextvars.Context that it
has. asyncio's own loops do so in Handle._run(): there the bridge looks what is current in that
context, and afterwards, what is current in the loop. Other loops (uvloop's) are asked for a step
by their method call_soon() and its like, which are wrapped when something is first attached in
such a loop. asyncio.to_thread() and anyio's run a function in a copy of the caller's context, in
another thread: it is shown there while the function runs. A task that begins eagerly (Python 3.12
and later) has its first step within its creator's, which is shown again afterwards.

Not seen are other ways to enter a context: Context.run() itself, by which others hand work to
threads of their own, and greenlets. There a thread shows what was attached in it last, until
something is attached, detached or run by the loop again.
"""

import asyncio
import asyncio.events
import functools
import sys

_runtime = None  # the one that is followed; the last one, should there be several
_loops = set()  # kinds of loops whose methods are wrapped
_anyio = None  # its module of threads, once it is wrapped


def follow(runtime):
    global _runtime

    if _runtime is None:
        _wrap_handles(asyncio.events.Handle)
        asyncio.to_thread = _wrap_to_thread(asyncio.to_thread)
        for name in ("eager_task_factory", "create_eager_task_factory"):
            if hasattr(asyncio, name):
                setattr(asyncio, name, _then_shown(getattr(asyncio, name)))
    _runtime = runtime


def _then_shown(make):
    """For what makes an eager task, or a factory that does."""

    @functools.wraps(make)
    def make_shown(*args, **kwargs):
        made = make(*args, **kwargs)
        if callable(made):
            return _then_shown(made)
        _runtime.show_current()
        return made

    return make_shown


def follow_running():
    """Follows what has come into the program since: anyio, a loop of a new kind in this thread."""
    global _anyio

    if _anyio is None and "anyio.to_thread" in sys.modules:
        _anyio = sys.modules["anyio.to_thread"]
        _anyio.run_sync = _wrap_to_thread(_anyio.run_sync)
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
