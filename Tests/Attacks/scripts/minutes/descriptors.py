"""Ends the daemon by exhausting its descriptors at the port of a sign-in.

Findings: L.1

    descriptors.py PROGRAMS, as root

Six processes of a user without rights hold connections for half a minute, while other processes start
and cancel sign-ins. ../descriptors.py does the same with few descriptors, and at the socket, too.
"""

import collections
import os
import signal
import socket
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from attack import refused, slowness, succeeded, unprepared  # noqa: E402
from harness import SILENT, Daemon, Place, need_root, start_flow  # noqa: E402

# A quarter of the unit's limit: a busy machine opens that many within the 10 s that each is kept.
LIMIT, PROCESSES, SECONDS = 2048, 6, 30
USER = 200_100

need_root("be a user without rights")


def hold(port):
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
    held = collections.deque(maxlen=LIMIT // PROCESSES + 50)
    while os.getppid() == parent:
        end = socket.socket()
        end.setblocking(False)
        end.connect_ex(("127.0.0.1", port))
        held.append(end)
        time.sleep(0.004 if len(held) == held.maxlen else 0)


def work(troubles):
    caller = daemon.connect()  # One connection, because a user who connects too often is refused.
    while time.monotonic() < deadline:
        try:
            flow = start_flow(caller, "silent")
            if flow["status"] == "failed":
                troubles.add(flow["failure"]["reason"])
            else:
                caller.reply("flow.cancel", {"flow": flow["id"]})
        except (OSError, ConnectionError) as error:
            troubles.add(f"{type(error).__name__}: {error}"[:200])
            return


with Place() as place:
    daemon = Daemon(
        place, sys.argv[1], "[limits]\nflow_starts_per_minute = 100000\n" + SILENT,
        launcher=["/usr/bin/prlimit", f"--nofile={LIMIT}:{LIMIT}"])
    flow = start_flow(daemon.connect(), "silent")
    if flow["step"]["type"] != "openURL":
        unprepared(f"no listener is open: {flow}")
    port = urllib.parse.urlsplit(flow["step"]["redirectURI"]).port
    parent, children, troubles, silences = os.getpid(), [], set(), 0
    try:
        for _ in range(PROCESSES):
            children.append(os.fork())
            if children[-1] == 0:
                try:
                    hold(port)
                finally:
                    os._exit(0)
        deadline = time.monotonic() + SECONDS
        workers = [threading.Thread(target=work, args=(troubles,)) for _ in range(3)]
        for each in workers:
            each.start()
        most = 0
        while time.monotonic() < deadline and daemon.is_running():
            time.sleep(0.2)
            most = max(most, len(os.listdir(f"/proc/{daemon.process.pid}/fd")))
            try:
                daemon.admin(timeout=5 * slowness()).reply("system.status")
            except (OSError, ConnectionError):
                silences += 1
        for each in workers:
            each.join()
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if not daemon.is_running():
        succeeded(f"the daemon ended with status {daemon.process.returncode}")
    if silences:
        succeeded(f"the administrator was not answered {silences} times")
    if troubles:
        succeeded(f"other users' sign-ins fail: {sorted(troubles)[:3]}")
    refused(f"the daemon has {most} descriptors at most, and everybody else was served")
