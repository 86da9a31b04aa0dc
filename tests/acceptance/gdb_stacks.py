# SPDX-License-Identifier: Apache-2.0
# For gdb: a line for each thread, "TID PC...", what has no frame of its own (inlined, or left by
# a jump, which gdb tells from debug information) left out.
import gdb

gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry off")

for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.ptid[1]):
    thread.switch()
    frame, pcs = gdb.newest_frame(), []
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append("%x" % frame.pc())
        frame = frame.older()
    print("weft-stack", thread.ptid[1], " ".join(pcs))
