"""Gets tokens that expired while the clock was ahead, or that expire sooner than requested.

Findings: L.7, L.8

    clock.py PROGRAMS
"""

import datetime
import sys
import time

from attack import refused, succeeded, unprepared
from harness import Clock, Daemon, Place, Sandbox, must_sign_in

TEN_YEARS = 3650 * 86_400


def token(caller, **more):
    reply = caller.reply("token.get", {"provider": "demo"} | more)
    if reply.get("error", {}).get("data", {}).get("reason") == "rate_limited":
        # This wait uses a clock that is not moved.
        time.sleep(reply["error"]["data"]["retryAfterMs"] / 1000)
        reply = caller.reply("token.get", {"provider": "demo"} | more)
    if "error" in reply:
        unprepared(f"no token: {reply['error']['message']}")
    return reply["result"]


def days_until(moment):
    end = datetime.datetime.fromisoformat(moment.replace("Z", "+00:00"))
    return (end - datetime.datetime.now(datetime.timezone.utc)).days


# A daemon that started while the clock was ahead must report its real uptime.
with Place() as place:
    clock = Clock(place)
    clock.set(TEN_YEARS)
    daemon = Daemon(place, sys.argv[1], "", env=clock.environment)
    for ahead in [TEN_YEARS, 0, 2 * TEN_YEARS]:
        clock.set(ahead)
        uptime = daemon.connect().reply("system.status")["result"]["uptimeSeconds"]
        if not 0 <= uptime < 3600:
            succeeded(f"the uptime follows the wall clock: {uptime} s")
    daemon.kill()

with Place() as place:
    clock = Clock(place)
    sandbox = Sandbox(place, sys.argv[1])
    sandbox.control(
        "POST", "settings", {"idTokenOnRefresh": False, "accessTokenSeconds": 300})
    config = "[limits]\nforce_refresh_seconds = 1\n" + sandbox.provider()
    daemon = Daemon(place, sys.argv[1], config, env=clock.environment)
    must_sign_in(daemon.connect())

    # A token has the requested time left, or is replaced by a new one.
    clock.set(140)
    first = token(daemon.connect())
    if token(daemon.connect(), minValidSeconds=200)["accessToken"] == first["accessToken"]:
        succeeded("a token with 160 s left is handed out where 200 s are asked for")

    clock.set(TEN_YEARS)
    ahead = token(daemon.connect(), forceRefresh=True)
    if days_until(ahead["expiresAt"]) < 3000:
        unprepared("the daemon's clock does not move")
    clock.set(0)
    for when in ["the clock is set right", "a restart"]:
        now = token(daemon.connect())
        if now["accessToken"] == ahead["accessToken"] or days_until(now["expiresAt"]) > 1:
            succeeded(f"after {when} a token that ended long ago is valid until {now['expiresAt']}")
        if when != "a restart":
            clock.set(2 * TEN_YEARS)
            ahead = token(daemon.connect(), forceRefresh=True)
            daemon.kill()
            clock.set(0)
            daemon.start()
    refused("tokens from the future are fetched anew, before and after a restart")
