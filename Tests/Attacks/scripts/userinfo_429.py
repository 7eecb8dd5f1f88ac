"""Blocks another person's token refresh with a userinfo request that the provider answers with 429.

Findings: O.4, M8

    userinfo_429.py PROGRAMS
"""

import sys

from attack import refused, succeeded
from harness import Daemon, Place, Sandbox, must_sign_in, sign_in

with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    daemon = Daemon(place, sys.argv[1], sandbox.provider())
    caller = daemon.connect()
    must_sign_in(caller, user="alice")
    alice = caller.reply("account.list")["result"]["accounts"][0]["id"]
    sandbox.fault("userinfo", {"status": 429, "headers": {"Retry-After": "61"}}, times=None)
    sign_in(caller, user="bob")
    if sandbox.requests("userinfo") < 2:
        succeeded("bob's profile was never asked for: the attack does not test anything")
    reply = caller.reply("token.get", {"account": alice, "forceRefresh": True})
    if "error" in reply:
        succeeded(f"alice's refresh is not sent: {reply['error']['message']}")
    refused("alice's token is refreshed while bob's profile is put off for 61 s")
