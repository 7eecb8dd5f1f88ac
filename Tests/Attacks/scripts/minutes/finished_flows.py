"""Fills the daemon's memory with finished flows, more than the daemon keeps for one user.

Findings: L.8

    finished_flows.py PROGRAMS
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from attack import Deadline, refused, succeeded, unprepared  # noqa: E402
from harness import SILENT, Daemon, Place, start_flow  # noqa: E402

FLOWS, KEPT = 3000, 1000
SWEEP_SECONDS = 90  # The daemon sweeps once a minute.


def finished(caller):
    return len(caller.reply("flow.list")["result"]["flows"])


with Place() as place:
    daemon = Daemon(place, sys.argv[1], "[limits]\nflow_starts_per_minute = 100000\n" + SILENT)
    caller = daemon.connect()
    for _ in range(FLOWS):
        flow = start_flow(caller, "silent")
        caller.reply("flow.cancel", {"flow": flow["id"]})
    if finished(caller) == 0:
        unprepared("no flow is kept")
    deadline = Deadline(SWEEP_SECONDS)
    while (kept := finished(caller)) > KEPT:
        if deadline.is_over():
            succeeded(f"{kept} finished flows of one user are kept")
        time.sleep(2)
    refused(f"finished_flows_per_user: {kept} of {FLOWS} are kept")
