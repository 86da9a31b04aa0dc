# SPDX-License-Identifier: Apache-2.0
# gdb's own answer, by libthread_db: "TID ADDRESS", or "TID errno ENODATA" where it has none.
import gdb

for thread in gdb.selected_inferior().threads():
    thread.switch()
    try:
        answer = hex(int(gdb.parse_and_eval("&the_variable")))
    except gdb.error:
        answer = "errno ENODATA"
    print("tls", thread.ptid[1], answer)
