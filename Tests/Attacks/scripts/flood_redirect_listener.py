"""Security review A.5 and attack report 4.2: a user without rights floods a sign-in's listener.

Findings: A.5, M4

    flood_redirect_listener.py PROGRAMS, as root

Holds 400 silent connections to the listener, and sends requests without the flow's state on as many
connections as possible, so that the kernel's table of connections grows long. The attack succeeds if
the listener keeps more than 64 connections, if calls or sign-ins of another user at another provider
fail or take long, or if the sign-in at the flooded port fails.
"""

import select
import socket
import sys
import threading
import time
import urllib.parse

from attack import PATIENCE, Deadline, refused, succeeded, unprepared
from bystander import Machine
from harness import (
    GROUP, Attackers, Daemon, Place, Sandbox, as_user, at_browser, await_flow, need_root, precede,
    start_flow)

MOST, SILENT = 64, 400
ATTACKER, VICTIM, OTHER = 65_000, 54_001, 54_002
LIMIT = 3
# The times that are always acceptable, in seconds: for a call, a start of a flow, and a sign-in.
LEAST = {"system.status": 0.1, "flow.start": 0.3, "a sign-in": 1.5}
# The most requests and replies, each of which waits for the machine.
EXCHANGES = {"system.status": 1, "flow.start": 5, "a sign-in": 25}

need_root("be three users")


def still_open(held):
    poller = select.poll()
    for each in held:
        poller.register(each, select.POLLIN | select.POLLRDHUP)
    return len(held) - len(poller.poll(100))


def kept():
    """Returns how many silent connections the listener keeps, after five seconds to close them."""
    held = [socket.create_connection(address, timeout=PATIENCE) for _ in range(SILENT)]
    deadline = Deadline(5)
    while (count := still_open(held)) > MOST and not deadline.is_over():
        pass
    return count


def hold(add):
    """Holds silent connections, and replaces those that are closed."""
    held = []
    while True:
        held = held[-SILENT:] + [socket.socket() for _ in range(20)]
        for each in held[-20:]:
            each.setblocking(False)
            each.connect_ex(address)
        add()
        time.sleep(0.01)


def hit(add):
    def requests():
        while True:
            try:
                with socket.create_connection(address, timeout=5) as connection:
                    connection.sendall(REQUEST)
                    if connection.recv(4096):
                        add()
            except OSError:
                pass  # Closed in favour of a newer connection of the flood.

    for _ in range(7):
        threading.Thread(target=requests, daemon=True).start()
    requests()


def timed(times, name, act):
    began = time.monotonic()
    value = act()
    times.setdefault(name, []).append(time.monotonic() - began)
    return value


def signed_in(caller):
    flow = start_flow(caller, "other")
    at_browser(flow["step"]["url"], "bob")
    return await_flow(caller, flow)["status"]


def work():
    """Returns the times of the victim's work, and the first failure."""
    times, caller, end = {}, daemon.connect(), time.monotonic() + 3
    try:
        while time.monotonic() < end:
            for _ in range(20):
                reply = timed(times, "system.status", lambda: caller.reply("system.status"))
                if "result" not in reply:
                    return times, f"system.status: {reply['error']}"
            flow = timed(times, "flow.start", lambda: start_flow(caller, "other"))
            if flow["status"] != "active":
                return times, f"flow.start: {flow['failure']}"
            caller.reply("flow.cancel", {"flow": flow["id"]})
            status = timed(times, "a sign-in", lambda: signed_in(caller))
            if status != "succeeded":
                return times, f"a sign-in: {status}"
            time.sleep(0.15)  # The listener identifies the browser for at most ten sign-ins per second and user.
    except (OSError, KeyError, TypeError) as error:
        return times, f"{type(error).__name__}: {error}"
    return times, None


def judge(alone, beside, machine):
    words, delays = [], []
    for name, least in LEAST.items():
        ours, theirs = max(alone[name]), max(beside[name])
        rest = EXCHANGES[name] * machine["p99"] + machine["slowest"]
        words.append(
            f"{name} {ours * 1e3:.0f} ms alone, {theirs * 1e3:.0f} beside it, "
            f"{rest * 1e3:.0f} for the machine")
        if theirs > max(LIMIT * ours, least) + LIMIT * rest:
            delays.append(name)
    return delays, "another user's slowest " + ", ".join(words)


precede()
with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    limits = "[limits]\nflow_starts_per_minute = 100000\n"
    access = f'[access]\ngroup = "{GROUP}"\n'
    daemon = Daemon(
        place, sys.argv[1], limits + access + sandbox.provider() + sandbox.provider("other"))
    flow = as_user(VICTIM, lambda: start_flow(daemon.connect()))
    parts = urllib.parse.urlsplit(flow["step"]["redirectURI"])
    address = (parts.hostname, parts.port)
    REQUEST = f"GET {parts.path}?state=x HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n\r\n".encode()

    held = as_user(ATTACKER, kept, groups=())
    if held > MOST:
        succeeded(f"the listener holds {held} silent connections")
    rounds = []
    while len(rounds) < 3 and (not rounds or rounds[-1][0]):
        alone, failure = as_user(OTHER, work)
        if failure:
            unprepared(f"another user is not served before the flood: {failure}")
        with Attackers(ATTACKER, [hold, hit]) as attackers, Machine() as machine:
            beside, failure = as_user(OTHER, work)
        if failure:
            succeeded(f"another user is not served during the flood: {failure}")
        if attackers.early:
            unprepared("an attacker has ended by itself")
        rounds.append(judge(alone, beside, machine.delays))
    delays, words = rounds[-1]
    if delays:
        succeeded(f"the flood delays {' and '.join(delays)}: {words}")
    last = as_user(VICTIM, lambda: at_browser(flow["step"]["url"]))
    flow = as_user(VICTIM, lambda: await_flow(daemon.connect(), flow))
    if flow["status"] != "succeeded":
        succeeded(f"the sign-in at the flooded port is {flow['status']}: {last[-300:]}")
    refused(f"{held} of {SILENT} silent connections are held; {attackers.done} requests; {words}")
