"""Holds two listening sockets as systemd does, and the program behind them.

socket_holder.py USHERD.SOCK ADMIN.SOCK PROGRAM ARGUMENT...

On SIGHUP it asks the program to stop (SIGTERM) and, when it has ended, starts it again with the
same sockets; on SIGTERM it stops it and ends. It writes "started PID" and "ended STATUS".
"""

import ctypes
import os
import signal
import socket
import sys

paths, command = sys.argv[1:3], sys.argv[3:]
sockets = []
for path in paths:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(4096)
    sockets.append(listener)

for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
    signal.signal(number, lambda number, frame: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD])


def start():
    child = os.fork()
    if child == 0:
        # PR_SET_PDEATHSIG: nothing is left over when the test is killed.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        high = [os.dup(listener.fileno()) for listener in sockets]
        for place, descriptor in enumerate(high):
            # Not inheritable by default; dup2 makes it so.
            os.dup2(descriptor, 3 + place, inheritable=True)
        os.environ.update(
            LISTEN_PID=str(os.getpid()),
            LISTEN_FDS="2",
            LISTEN_FDNAMES="usherd.sock:usherd-admin.sock",
        )
        os.execv(command[0], command)
    print("started", child, flush=True)
    return child


def end(child):
    _, status = os.waitpid(child, 0)
    print("ended", os.waitstatus_to_exitcode(status), flush=True)


child = start()
while True:
    number = signal.sigwait([signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD])
    if number == signal.SIGCHLD:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            print("ended", os.waitstatus_to_exitcode(status), flush=True)
            child = start()
        continue
    os.kill(child, signal.SIGTERM)
    end(child)
    if number == signal.SIGTERM:
        break
    child = start()
