"""Occupies a fixed redirect port with an open sign-in, so that no other user can sign in with it.

Findings: O.3

    shared_redirect.py PROGRAMS

As root, the two sign-ins are of two users; otherwise of one user at two providers.
"""

import contextlib
import os
import random
import socket
import sys
import urllib.parse

from attack import refused, succeeded
from harness import GROUP, Daemon, Place, Sandbox, as_user, at_browser, await_flow, page, start_flow


RUNS_AS_ROOT = os.getuid() == 0


def unused_port():
    """Returns a free port outside of the kernel's range for outgoing connections."""
    while True:
        port = random.randrange(10_000, 30_000)
        with socket.socket() as end, contextlib.suppress(OSError):
            end.bind(("127.0.0.1", port))
            return port


def of(uid, act):
    return as_user(uid, act) if RUNS_AS_ROOT else act()


def sign_in():
    """Signs in, then sends responses for the finished sign-in and, as root, for the other user's."""
    caller = daemon.connect()
    flow = start_flow(caller, "two")
    if (flow["step"] or {}).get("completes") != "loopback":
        return flow, []
    at_browser(flow["step"]["url"])
    pages = []
    for each in [flow] + ([held] if RUNS_AS_ROOT else []):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(each["step"]["url"]).query)
        answer = urllib.parse.urlencode({"code": "stolen", "state": query["state"][0]})
        pages.append(page(f"{query['redirect_uri'][0]}?{answer}"))
    return await_flow(caller, flow), pages


with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    redirect = f'redirect = "http://127.0.0.1:{unused_port()}/callback"'
    access = f'[access]\ngroup = "{GROUP}"\n' if RUNS_AS_ROOT else ""
    daemon = Daemon(
        place, sys.argv[1],
        access + sandbox.provider("one", redirect) + sandbox.provider("two", redirect))
    held = of(54_002, lambda: start_flow(daemon.connect(), "one"))
    flow, pages = of(54_001, sign_in)
    if flow["status"] != "succeeded":
        succeeded(f"another user's open sign-in keeps the port: {flow['step']} {flow['problem']}")
    still = of(54_002, lambda: daemon.connect().reply("flow.get", {"flow": held["id"]}))
    if still["result"]["flow"]["status"] != "active":
        succeeded("the other user's sign-in ended by it")
    for text, words in zip(pages, ["No such sign-in", "Another user's sign-in"]):
        if words not in text:
            succeeded(f"the browser does not say “{words}”: {text}")
    refused("both sign-ins wait at one port, and each gets its own answer")
