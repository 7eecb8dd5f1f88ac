"""Makes all sign-ins fail after a provider that signs without kid has rotated its key.

Findings: O.5

    rotated_key.py PROGRAMS
"""

import sys

from attack import refused, succeeded
from harness import Daemon, Place, Sandbox, must_sign_in, sign_in

with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    daemon = Daemon(place, sys.argv[1], sandbox.provider())
    caller = daemon.connect()
    sandbox.control("POST", "settings", {"idToken": {"header": {"kid": None}}})
    must_sign_in(caller, user="alice")
    sandbox.control("POST", "keys/rotate", {"removeOld": True})
    fetched = sandbox.requests("jwks")
    flow, _ = sign_in(caller, user="bob")
    if flow["status"] != "succeeded":
        succeeded(f"nobody can sign in with the new key: {flow.get('failure')}")
    refused(f"the keys were fetched {sandbox.requests('jwks') - fetched} times anew")
