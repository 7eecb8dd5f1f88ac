"""Breaks a rule of OpenID Connect as a provider, and checks that the daemon reports which one.

Findings: O.6

    broken_rule.py PROGRAMS
"""

import sys

from attack import refused, succeeded
from harness import Daemon, Place, Sandbox, sign_in

LIE = "https://elsewhere.example"

with Place() as place:
    sandbox = Sandbox(place, sys.argv[1])
    daemon = Daemon(place, sys.argv[1], sandbox.provider())
    caller = daemon.connect()
    tries = [
        ({"claims": {"iss": LIE}}, [LIE, sandbox.base + "/oidc"]),
        ({"claims": {"aud": "somebody-else"}}, ["somebody-else", "usher"]),
        ({"alg": "none"}, ["none"]),
    ]
    for made, words in tries:
        sandbox.control("POST", "settings", {"idToken": made})
        flow, _ = sign_in(caller)
        if flow["status"] == "succeeded":
            succeeded(f"signed in with an ID token of {made}")
        message = flow["failure"]["message"]
        for word in words:
            if word not in message:
                succeeded(f"{made} is told as: {message}")
            if word not in daemon.log():
                succeeded(f"the journal does not tell {word}")
    refused(message)
