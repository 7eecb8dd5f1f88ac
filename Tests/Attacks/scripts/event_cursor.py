"""Detects from the cursor of events.subscribe when another user signs in.

Findings: L.4

    event_cursor.py PROGRAMS, as root
"""

import sys

from attack import refused, succeeded, unprepared
from harness import GROUP, SILENT, Daemon, Place, as_user, need_root, start_flow

need_root("be two users")


def cursor():
    reply = daemon.connect().reply("events.subscribe", {"topics": ["flow", "account", "token"]})
    return reply["result"]["cursor"]


def victim():
    """Starts a sign-in and cancels it."""
    caller = daemon.connect()
    flow = start_flow(caller, "silent")
    return caller.reply("flow.cancel", {"flow": flow["id"]})["result"]["flow"]["status"]


with Place() as place:
    daemon = Daemon(place, sys.argv[1], f'[access]\ngroup = "{GROUP}"\n{SILENT}')
    as_user(54_001, victim)  # The first use of a provider publishes its health to all users.
    seen = [as_user(54_002, cursor)]
    for _ in range(3):
        if as_user(54_001, victim) != "cancelled":
            unprepared("the victim has no flow")
        seen.append(as_user(54_002, cursor))
    if not all(seen):
        unprepared(f"events.subscribe tells no cursor: {seen}")
    if len(set(seen)) > 1:
        succeeded(f"the cursor moves by what another user does: {seen}")
    refused("the cursor stands still while another user starts and cancels three flows")
