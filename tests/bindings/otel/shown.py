# SPDX-License-Identifier: Apache-2.0
"""What weft has for the thread at each step of OpenTelemetry's contexts, read back from libweft."""
import asyncio
import contextvars
import ctypes
import importlib.util
import os
import sys
import threading

import weft_otel

weft_otel.install()

from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider, sampling

weft = ctypes.PyDLL(None if sys.argv[1] == "-" else sys.argv[1])
provider = TracerProvider()
tracer = provider.get_tracer("test")


class Context(ctypes.Structure):
    _fields_ = [("span_id", ctypes.c_uint64), ("root_span_id", ctypes.c_uint64),
                ("trace_id", ctypes.c_uint8 * 16), ("trace_flags", ctypes.c_uint32),
                ("tags", ctypes.c_uint32 * 10)]


def label(key):
    value = ctypes.create_string_buffer(300)
    size = weft.weft_label_get(key.encode(), value, 300)
    return None if size < 0 else value.raw[:size].decode()


def seen():
    """Span, root, trace, flags, name, tenant."""
    now = Context()
    weft.weft_context_read(ctypes.byref(now))
    return (now.span_id, now.root_span_id, int.from_bytes(bytes(now.trace_id), "big"),
            now.trace_flags, label("span.name"), label("tenant"))


NOTHING = (0, 0, 0, 0, None, None)


def of(span, root=None, tenant=None):
    ids = span.get_span_context()
    return (ids.span_id, (root or span).get_span_context().span_id, ids.trace_id,
            int(ids.trace_flags), getattr(span, "name", None), tenant)


def check(what, expected):
    found = seen()
    assert found == expected, (what, found, expected)
    print(what)


def spans():
    check("nothing at first", NOTHING)
    with tracer.start_as_current_span("a") as a:
        check("a span", of(a))
        with tracer.start_as_current_span("b") as b:
            check("one in it", of(b, a))
            with tracer.start_as_current_span("c", context=context.Context()) as c:
                check("another trace in it", of(c))
            check("that one is over", of(b, a))
        try:
            with tracer.start_as_current_span("d"):
                raise ValueError
        except ValueError:
            check("after an exception", of(a))
        token = context.attach(context.Context())
        check("a context without a span", NOTHING)
        context.detach(token)
        with trace.use_span(trace.INVALID_SPAN):
            check("an invalid span", NOTHING)
        check("the first again", of(a))
    check("nothing at the end", NOTHING)


def labels():
    token = context.attach(baggage.set_baggage("tenant", "acme"))
    check("baggage without a span", NOTHING)
    with tracer.start_as_current_span("a") as a:
        check("baggage", of(a, None, "acme"))
        with tracer.start_as_current_span("b", attributes={"tenant": 7}) as b:
            check("an attribute comes first", of(b, a, "7"))
            inner = context.attach(baggage.clear())
            with tracer.start_as_current_span("c") as c:
                check("else that of the span above", of(c, a, "7"))
            context.detach(inner)
    context.detach(token)
    with tracer.start_as_current_span("Zoë " * 100):
        assert label("span.name").startswith("Zoë Zoë") and len(label("span.name")) > 200
    weft.weft_label_set(b"own", b"kept")
    with tracer.start_as_current_span("a"):
        pass
    assert label("own") == "kept"
    check("nothing at the end", NOTHING)


def others():
    remote = trace.SpanContext(1 << 100, 0xabc, True, trace.TraceFlags(1))
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(remote)))
    check("a span elsewhere", (0xabc, 0xabc, 1 << 100, 1, None, None))
    with tracer.start_as_current_span("a") as a:
        check("a span whose parent is elsewhere is the root here", of(a))
        with tracer.start_as_current_span("b") as b:
            check("of those in it", of(b, a))
    context.detach(token)
    unsampled = TracerProvider(sampler=sampling.ALWAYS_OFF).get_tracer("off")
    with unsampled.start_as_current_span("a") as a:
        check("a span that is not sampled", of(a))
    check("nothing at the end", NOTHING)


def threads():
    def work(captured, span, root):
        check("a thread begins with nothing", NOTHING)
        token = context.attach(captured)
        check("a captured context, in another thread", of(span, root))
        context.detach(token)
        check("and nothing", NOTHING)

    with tracer.start_as_current_span("a") as a, tracer.start_as_current_span("b") as b:
        worker = threading.Thread(target=work, args=(context.get_current(), b, a))
        worker.start()
        worker.join()
        check("this thread has its own", of(b, a))


def processes():
    with tracer.start_as_current_span("a") as a:
        child = os.fork()
        if child == 0:
            check("a forked child has its parent's", of(a))
            with tracer.start_as_current_span("b") as b:
                check("and its own", of(b, a))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        check("the parent's stays", of(a))


async def tasks():
    async def work(name):
        check("a task begins with what its creator had", of(outer))
        with tracer.start_as_current_span(name) as span:
            for _ in range(3):
                check("a task's span", of(span, outer))
                await asyncio.sleep(0)
            await asyncio.to_thread(check, "its thread", of(span, outer))
            loop.call_soon(check, "its callback", of(span, outer))
            future = loop.create_future()
            contextvars.Context().run(loop.call_soon, check, "a callback of nobody's", NOTHING)
            loop.call_later(0.001, future.set_result, None)
            await future
            check("after a wait", of(span, outer))

    loop = asyncio.get_running_loop()
    with tracer.start_as_current_span("outer") as outer:
        await asyncio.gather(work("a"), work("b"))
        check("who waited", of(outer))
    same = contextvars.copy_context()
    await loop.create_task(asyncio.sleep(0))
    same.run(check, "nothing at the end", NOTHING)


def around_a_loop():
    loop = asyncio.new_event_loop()
    with tracer.start_as_current_span("a") as a:
        loop.call_soon(check, "a callback", of(a))
        loop.call_soon(loop.stop, context=contextvars.Context())
        loop.run_forever()
        check("around a loop, whose last step was nobody's", of(a))
    loop.close()


async def eager():
    async def work():
        with tracer.start_as_current_span("inner") as inner:
            check("an eager task's first step", of(inner, outer))
            await asyncio.sleep(0)
            check("its next", of(inner, outer))

    loop = asyncio.get_running_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    with tracer.start_as_current_span("outer") as outer:
        task = loop.create_task(work())
        check("its creator", of(outer))
        await task
        check("who waited for it", of(outer))


async def in_anyio():
    import anyio.to_thread

    with tracer.start_as_current_span("a") as a:
        await anyio.to_thread.run_sync(check, "anyio's thread", of(a))
        await anyio.to_thread.run_sync(len, "another call in it", abandon_on_cancel=True)
    await anyio.to_thread.run_sync(check, "and without a span", NOTHING)


async def failing():
    problems = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, what: problems.append(what["exception"]))
    with tracer.start_as_current_span("a") as a:
        loop.call_soon(int, "x")
        await asyncio.sleep(0.001)
        check("after a callback that failed", of(a))
    assert len(problems) == 1


if len(sys.argv) > 2:
    __import__(sys.argv[2]).install()  # uvloop: a loop that is not asyncio's own
spans()
labels()
others()
threads()
processes()
asyncio.run(tasks())
check("after the loop", NOTHING)
asyncio.run(failing())
if len(sys.argv) == 2:  # other loops do not tell what is current around them
    around_a_loop()
if hasattr(asyncio, "eager_task_factory") and len(sys.argv) == 2:  # not with each uvloop
    asyncio.run(eager())
if importlib.util.find_spec("anyio"):
    asyncio.run(in_anyio())
weft_otel.install()
check("a second install", NOTHING)
print("all seen")
