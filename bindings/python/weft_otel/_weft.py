# SPDX-License-Identifier: Apache-2.0
"""The calls of libweft that the bridge makes: include/weft/context.h and labels.h by ctypes.

The library is the one that is in the process already (`weft record` brings it along, or the
program links it); else libweft-late.so, which is made to be loaded late, so that a recording that
comes later finds spans: beside WEFT_LIB, or where the loader looks. Else telling does nothing.

The interpreter's lock is kept during a call, which takes less time than to give the lock away.
"""

import ctypes
import os


class _Context(ctypes.Structure):
    _fields_ = [
        ("span_id", ctypes.c_uint64),
        ("root_span_id", ctypes.c_uint64),
        ("trace_id", ctypes.c_uint8 * 16),
        ("trace_flags", ctypes.c_uint32),
        ("tags", ctypes.c_uint32 * 10),
    ]


class _Label(ctypes.Structure):
    _fields_ = [
        ("key", ctypes.c_char_p),
        ("key_bytes", ctypes.c_size_t),
        ("value", ctypes.c_char_p),
        ("value_bytes", ctypes.c_size_t),
        ("result", ctypes.c_int),
    ]


def _libraries():
    yield None  # all that is in the process
    beside = os.path.dirname(os.environ.get("WEFT_LIB", ""))
    if beside:
        yield os.path.join(beside, "libweft-late.so")
    yield "libweft-late.so"


def _find():
    for name in _libraries():
        try:
            update = ctypes.PyDLL(name).weft_context_update
        except (OSError, AttributeError):
            continue
        update.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
        update.restype = ctypes.c_int
        return update
    return lambda context, labels, count, flags: 0


_update = _find()


class Told:
    """Ids and labels, laid out for the call once and told as often as one likes, by any thread.

    A label whose value is None is removed. Strings are cut by weft.
    """

    __slots__ = ("_context", "_labels", "_strings", "_arguments")

    def __init__(self, span_id, root_id, trace_id, trace_flags, labels):
        trace = (ctypes.c_uint8 * 16)(*trace_id.to_bytes(16, "big"))
        self._context = _Context(span_id, root_id, trace, int(trace_flags))
        self._labels = (_Label * len(labels))()
        self._strings = []
        for place, (key, value) in zip(self._labels, labels):
            place.key, place.key_bytes = self._kept(key)
            if value is not None:
                place.value, place.value_bytes = self._kept(value)
        self._arguments = (
            ctypes.addressof(self._context),
            ctypes.addressof(self._labels),
            len(labels),
            0,
        )

    def _kept(self, text):
        text = str(text).encode("utf-8", "replace")
        self._strings.append(text)
        return text, len(text)

    def tell(self):
        _update(*self._arguments)
