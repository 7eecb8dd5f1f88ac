"""Makes a person sign in again after a 503 with Retry-After, or shows "Signed in" after a failure.

Findings: O.5

    retry_after.py PROGRAMS
"""

import sys

from attack import refused, succeeded
from harness import Daemon, Place, Sandbox, at_browser, await_flow, sign_in, start_flow

with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    daemon = Daemon(place, sys.argv[1], sandbox.provider())
    caller = daemon.connect()
    sandbox.fault("token", {"status": 503, "headers": {"Retry-After": "1"}}, "authorization_code")
    flow = start_flow(caller)
    first = flow["step"]["url"]
    at_browser(first)
    flow = await_flow(
        caller, flow,
        lambda flow: flow["status"] != "active"
        or flow["step"]["type"] == "openURL" and flow["step"]["url"] != first)
    if flow["status"] != "succeeded":
        succeeded(f"after one 503 the flow is {flow['status']} at {flow['state']}, and asks for "
                  f"{(flow['step'] or {}).get('type')}")
    sandbox.fault(
        "token", {"status": 400, "body": {"error": "invalid_request"}}, "authorization_code", None)
    flow, last = sign_in(caller, user="bob")
    if "Signed in" in last:
        succeeded(f"the browser says “Signed in”, and the flow is {flow['status']}")
    refused("the same code was redeemed after the pause; the browser of a sign-in that fails says so")
