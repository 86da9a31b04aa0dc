# SPDX-License-Identifier: Apache-2.0
"""A program with OpenTelemetry's spans, which knows nothing of weft: 70 % checkout, 30 % search.

    weft record -o orders.jfr -- python3 -m weft_otel orders.py [WAY [SECONDS]]
    weft report --by label:span.name orders.jfr

WAY: plain (a span after the other), nested (both in a request's span), threads, asyncio (tasks
that take turns within their spans), executor (asyncio.to_thread within spans). It prints the CPU
time of each span by its own measure, and the span's id: name milliseconds id.
"""

import asyncio
import sys
import threading
import time

from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider

trace.set_tracer_provider(TracerProvider())
tracer = trace.get_tracer("orders")
WORK = {"checkout": 0.007, "search": 0.003}  # seconds of CPU time in each turn
spent = dict.fromkeys(WORK, 0.0)
ids = {}


def burn(name):
    begin = now = time.thread_time()
    while now - begin < WORK[name]:
        sum(i * i for i in range(200))
        now = time.thread_time()
    spent[name] += now - begin


def span(name):
    return tracer.start_as_current_span(name)


def note(name):
    ids[name] = trace.format_span_id(trace.get_current_span().get_span_context().span_id)


def plain(turns):
    for name in WORK:
        with span(name):
            note(name)
            for _ in range(turns):
                burn(name)


def nested(turns):
    token = context.attach(baggage.set_baggage("tenant", "acme"))
    with span("request"):
        note("request")
        for _ in range(turns):
            for name in WORK:
                with span(name):
                    note(name)
                    burn(name)
    context.detach(token)


def threads(turns):
    def work(name):
        with span(name):
            note(name)
            for _ in range(turns):
                burn(name)

    workers = [threading.Thread(target=work, args=(name,)) for name in WORK]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def tasks(turns):
    async def work(name):
        with span(name):
            note(name)
            for _ in range(turns):
                burn(name)
                await asyncio.sleep(0)

    async def all_of_them():
        await asyncio.gather(*(work(name) for name in WORK))

    asyncio.run(all_of_them())


def executor(turns):
    async def work(name):
        with span(name):
            note(name)
            for _ in range(turns):
                await asyncio.to_thread(burn, name)

    async def all_of_them():
        await asyncio.gather(*(work(name) for name in WORK))

    asyncio.run(all_of_them())


WAYS = {"plain": plain, "nested": nested, "threads": threads, "asyncio": tasks, "executor": executor}


def main():
    way = sys.argv[1] if len(sys.argv) > 1 else "plain"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2
    WAYS[way](int(seconds / sum(WORK.values())))
    for name, key in ids.items():
        print(name, round(1000 * spent.get(name, 0)), key)


main()
