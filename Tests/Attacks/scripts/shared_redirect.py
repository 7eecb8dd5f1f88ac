"""Keeps a fixed redirect port by an open sign-in, so that nobody else can sign in by it.

Findings: O.3

    shared_redirect.py PROGRAMS

As root the two are users of their own; else they are two sign-ins of one user at two providers.
"""

import os
import socket
import sys

from attack import refused, succeeded
from harness import GROUP, Daemon, Place, Sandbox, as_user, sign_in, start_flow


def free_port():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


def of(uid, act):
    return as_user(uid, act) if os.getuid() == 0 else act()


with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    redirect = f'redirect = "http://127.0.0.1:{free_port()}/callback"'
    access = f'[access]\ngroup = "{GROUP}"\n' if os.getuid() == 0 else ""
    daemon = Daemon(
        place, sys.argv[1],
        access + sandbox.provider("one", redirect) + sandbox.provider("two", redirect))
    held = of(54_002, lambda: start_flow(daemon.connect(), "one"))
    flow = of(54_001, lambda: sign_in(daemon.connect(), "two")[0])
    if flow["status"] != "succeeded":
        succeeded(f"another user's open sign-in keeps the port: {flow['step']} {flow['problem']}")
    still = of(54_002, lambda: daemon.connect().reply("flow.get", {"flow": held["id"]}))
    if still["result"]["flow"]["status"] != "active":
        succeeded("the other user's sign-in ended by it")
    refused("both sign-ins wait at one port, and each gets its own answer")
