"""Runs a program as on a kernel before Linux 6.5, which lacks SO_PEERPIDFD.

    old_kernel.py PROGRAM [ARGUMENT...]
"""

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x00050000, 0x7FFF0000
LOAD_WORD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # classic BPF instructions
SO_PEERPIDFD = 77
GETSOCKOPT = {"x86_64": 55, "aarch64": 209}[os.uname().machine]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


steps = b"".join(
    struct.pack("=HBBI", *step)
    for step in [
        (LOAD_WORD, 0, 0, 0),  # the number of the system call
        (IF_EQUAL, 0, 3, GETSOCKOPT),
        (LOAD_WORD, 0, 0, 32),  # its third argument
        (IF_EQUAL, 0, 1, SO_PEERPIDFD),
        (RETURN, 0, 0, SECCOMP_RET_ERRNO | errno.ENOPROTOOPT),
        (RETURN, 0, 0, SECCOMP_RET_ALLOW),
    ])
libc = ctypes.CDLL(None, use_errno=True)
program = Program(len(steps) // 8, steps)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
    sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[1], sys.argv[1:])
