# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry's spans as weft's, without a change of the program that makes them.

    python3 -m weft_otel app.py            # or -m module, or -c code
    OTEL_PYTHON_CONTEXT=weft_context       # in the environment of a program that runs otherwise
    weft_otel.install()                    # or in the program, before its first span

While a context with a valid span is current in a thread, that thread has in weft the span's id,
trace id and trace flags, the local root span, and the labels span.name and those that
WEFT_OTEL_LABELS names; while none is, it has none of these. The local root is the first span of
the trace that was attached here: it goes along with the contexts that are made from its own.

What is shown for a context is made when the context is attached: attributes that a span gets
later, and a later name, are not seen before the next attach. Nothing here may break a program:
where libweft is not to be had, or cannot keep a thread's context, nothing is shown.
"""

import os
import threading

from opentelemetry.context.context import Context, _RuntimeContext
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext

from . import _weft

__all__ = ["WeftRuntimeContext", "install"]

_KEY = "weft-shown"
_NAME = "span.name"


def _wanted():
    words = os.environ.get("WEFT_OTEL_LABELS", "").split(",")
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))


class _Shown:
    """What weft is told of a context; it lies in the context, for those that are made from it."""

    __slots__ = ("trace_id", "root_id", "is_remote", "labels", "told")

    def __init__(self, context, span, ids, wanted):
        above = context.get(_KEY)
        if above is not None and above.trace_id != ids.trace_id:
            above = None
        self.trace_id = ids.trace_id
        self.is_remote = ids.is_remote
        self.root_id = above.root_id if above and not above.is_remote else ids.span_id
        self.labels = _labels(context, span, wanted, above.labels if above else {})
        labels = [(_NAME, getattr(span, "name", None))]
        labels += [(key, self.labels.get(key)) for key in wanted]
        self.told = _weft.Told(ids.span_id, self.root_id, ids.trace_id, ids.trace_flags, labels)


def _labels(context, span, wanted, above):
    """The wanted labels: the span's attributes, else baggage, else what a span above it has."""
    if not wanted:
        return above
    from opentelemetry import baggage

    labels = dict(above)
    attributes = getattr(span, "attributes", None) or {}
    for key in wanted:
        value = attributes.get(key)
        if value is None:
            value = baggage.get_baggage(key, context)
        if value is not None:
            labels[key] = str(value)
    return labels


class WeftRuntimeContext(_RuntimeContext):
    """Keeps contexts as another one does, and shows in weft which is current."""

    def __init__(self, inner=None):
        self._inner = inner or ContextVarsRuntimeContext()
        self._wanted = _wanted()
        self._none = _weft.Told(0, 0, 0, 0, [(key, None) for key in (_NAME, *self._wanted)])
        self._thread = threading.local()
        from . import _asyncio  # here, since it is this class that makes use of it

        _asyncio.follow(self)
        self._follow_running = _asyncio.follow_running

    def attach(self, context):
        try:
            context = self._with_shown(context)
        except Exception:  # another library's span, of whatever kind: the program goes on
            pass
        self._follow_running()
        token = self._inner.attach(context)
        self.show(context.get(_KEY))
        return token

    def get_current(self):
        return self._inner.get_current()

    def detach(self, token):
        try:
            self._inner.detach(token)
        finally:
            self.show_current()

    def _with_shown(self, context):
        from opentelemetry import trace  # not at the start: it imports the module that loads this

        span = trace.get_current_span(context)
        ids = span.get_span_context()
        if ids is not None and ids.is_valid:
            return Context({**context, _KEY: _Shown(context, span, ids, self._wanted)})
        if _KEY in context:
            return Context({key: value for key, value in context.items() if key != _KEY})
        return context

    def shown(self):
        """What this thread shows."""
        return getattr(self._thread, "shown", None)

    def show(self, shown):
        if shown is not self.shown():
            self._thread.shown = shown
            (shown.told if shown is not None else self._none).tell()

    def show_current(self):
        self.show(self._inner.get_current().get(_KEY))

    def show_of(self, values):
        """Shows what is current in a contextvars.Context."""
        try:
            self.show(values.run(self._inner.get_current).get(_KEY))
        except RuntimeError:  # it is entered already: it is this thread's own
            self.show_current()


def install():
    """Follows OpenTelemetry's contexts from now on. A second call does nothing."""
    from opentelemetry import context

    if not isinstance(context._RUNTIME_CONTEXT, WeftRuntimeContext):
        context._RUNTIME_CONTEXT = WeftRuntimeContext(context._RUNTIME_CONTEXT)
