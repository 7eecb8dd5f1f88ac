"""Stops one thread of a process until this program or the process ends, as a bug would.

    stop_thread.py PROCESS NAME     the oldest thread whose name starts with NAME; prints "stopped"
"""

import ctypes
import os
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
__WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def trace(request, thread):
    if libc.ptrace(request, thread, None, None):
        sys.exit(f"{thread}: {os.strerror(ctypes.get_errno())}")


process, name = sys.argv[1:]
threads = []
for thread in os.listdir(f"/proc/{process}/task"):
    with open(f"/proc/{process}/task/{thread}/comm") as file:
        if file.read().startswith(name):
            threads.append(int(thread))
if not threads:
    sys.exit(f"no thread is called {name}")
thread = min(threads)
trace(PTRACE_SEIZE, thread)
trace(PTRACE_INTERRUPT, thread)
os.waitpid(thread, __WALL)
print("stopped", flush=True)
# A traced process does not disappear before its tracer has waited for it.
os.waitpid(thread, __WALL)
