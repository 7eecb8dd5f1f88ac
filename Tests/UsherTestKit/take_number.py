"""Runs a command with a free process id, as after the ids have wrapped around.

    take_number.py NUMBER UID COMMAND [ARGUMENT...]

Needs root, and Linux 5.5 or newer (clone3 with set_tid). Ends with the command; if it is killed, the
command is killed, too.
"""

import ctypes
import os
import signal
import sys

CLONE3 = 435
PR_SET_PDEATHSIG = 1

number, user, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
libc = ctypes.CDLL(None, use_errno=True)
numbers = (ctypes.c_int32 * 1)(number)
# flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
# cgroup
arguments = (ctypes.c_uint64 * 11)(
    0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(numbers), 1, 0)
result = libc.syscall(CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
if result < 0:
    sys.exit(f"number {number}: {os.strerror(ctypes.get_errno())}")
if result == 0:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.execv(command[0], command)
os.waitpid(number, 0)
