"""Kills the daemon with kill -9 again and again during sign-ins and refreshes, to lose acknowledged
data.

Findings: held in the attack report (§ 3)

    kills.py PROGRAMS

After each start, every acknowledged flow must exist at that revision or a later one, every person who
has signed in must have an account whose token can be refreshed, and the audit log must have no gap.
"""

import os
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from attack import refused, succeeded, unprepared  # noqa: E402
from harness import Daemon, Place, Sandbox, at_browser, await_flow, start_flow  # noqa: E402

SECONDS = 120
LIMITS = ("[limits]\nflow_starts_per_minute = 100000\nfinished_flows_per_user = 100000\n"
          "live_flows_per_user = 100000\nforce_refresh_seconds = 1\n")


class Told:
    """What the daemon has acknowledged."""

    def __init__(self):
        self.lock, self.flows, self.people, self.tokens = threading.Lock(), {}, set(), 0

    def flow(self, flow):
        with self.lock:
            before = self.flows.get(flow["id"], (0, ""))
            self.flows[flow["id"]] = max(before, (flow["revision"], flow["status"]))

    def sample(self):
        with self.lock:
            last = list(self.flows.items())[-60:]
            return last, set(self.people)


def until(deadline, act):
    while time.monotonic() < deadline:
        try:
            act()
        except (OSError, ConnectionError, KeyError, TypeError, ValueError):
            time.sleep(0.05)  # The daemon is not running at the moment.


def sign_in(user):
    caller = daemon.connect()
    flow = start_flow(caller)
    told.flow(flow)
    at_browser(flow["step"]["url"], user)
    flow = await_flow(caller, flow, seconds=10)
    told.flow(flow)
    if flow["status"] == "succeeded":
        told.people.add("usr_" + user)
    caller.close()


def refresh():
    caller = daemon.connect()
    for account in caller.reply("account.list")["result"]["accounts"]:
        reply = caller.reply("token.get", {"account": account["id"], "forceRefresh": True})
        told.tokens += "result" in reply
        # A refresh token that the provider no longer accepts is lost for good.
        if reply.get("error", {}).get("data", {}).get("reason") == "reauthentication_required":
            lost.append(f"the log-in of {account['subject']}: {reply['error']['message']}")
    caller.close()
    time.sleep(0.3)


def check():
    flows, people = told.sample()
    caller = daemon.connect()
    for name, (revision, status) in flows:
        reply = caller.reply("flow.get", {"flow": name})
        flow = reply.get("result", {}).get("flow", {"revision": -1, "status": "not there"})
        if flow["revision"] < revision or status != "active" and flow["status"] != status:
            lost.append(f"flow {name} was {status} at {revision}: {flow['status']}, {flow['revision']}")
    accounts = caller.reply("account.list")["result"]["accounts"]
    gone = people - {account["subject"] for account in accounts}
    if gone:
        lost.append(f"the accounts of {gone}")
    audit = daemon.admin().reply("audit.verify")
    if not audit.get("result", {}).get("whole"):
        lost.append(f"the audit: {audit}")
    caller.close()


with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    # With strict rotation, a kill between the provider's reply and the commit always loses the
    # sign-in.
    sandbox.control("POST", "settings", {"refreshRotation": "graceful"})
    daemon = Daemon(place, sys.argv[1], LIMITS + sandbox.provider())
    told, lost, kills = Told(), [], 0
    deadline = time.monotonic() + SECONDS
    acts = [lambda: sign_in("alice"), lambda: sign_in("bob"), refresh]
    threads = [threading.Thread(target=until, args=(deadline, act)) for act in acts]
    for thread in threads:
        thread.start()
    chance = random.Random()
    while time.monotonic() < deadline and not lost:
        time.sleep(chance.choice([0, 0.05, 0.3, 1, 2]) * chance.random())
        daemon.kill()
        daemon.start()
        kills += 1
        check()
    deadline = 0
    for thread in threads:
        thread.join()
    daemon.kill()
    checked = subprocess.run(
        daemon.command + ["--check-store"], capture_output=True, text=True, timeout=600)
    if checked.returncode != 0:
        lost.append("the store: " + checked.stderr)
    words = f"{kills} kills, {len(told.flows)} flows, {told.tokens} tokens"
    if lost:
        succeeded(f"{words}; lost: {lost[:3]}")
    if not (kills and told.people and told.tokens):
        unprepared(f"nobody could sign in and refresh between kills: {words}")
    refused(f"nothing that was told is lost: {words}")
