"""Requests tokens of a grant that the provider has revoked, by a forced refresh and from the cache.

Findings: O.2

Usage: dead_grant.py SOCKET PROVIDER. A user has signed in, and the provider has revoked the grant.
"""

import sys

from attack import Connection, refused, succeeded, unprepared

path, provider = sys.argv[1:3]
connection = Connection(path)
for force in [True, False, True, False]:
    answer = connection.reply("token.get", {"provider": provider, "forceRefresh": force})
    if "result" in answer:
        succeeded(f"a token of a dead grant was handed out, forceRefresh {force}")
    code = answer["error"]["code"]
    if code != 1102:
        succeeded(f"a dead grant is answered with {code} in place of 1102, forceRefresh {force}")
tokens = connection.reply("token.list", {"provider": provider})["result"]["tokens"]
if not tokens:
    unprepared("nobody had signed in: there is no token to be dead")
for entry in tokens:
    if entry["token"]["status"] != "dead":
        succeeded(f"a token of a dead grant is listed as {entry['token']['status']}")
refused("1102 for every call, and the list says dead")
