"""Requests a part of the scope, and checks that other programs still get the whole scope.

Findings: O.1

Usage: narrow_scope.py SOCKET PROVIDER. A user has signed in. The provider limits a rotated refresh
token to the scope of the refresh that returned it.
"""

import sys

from attack import Connection, refused, succeeded

path, provider = sys.argv[1:3]
attacker, victim = Connection(path), Connection(path)
whole = victim.reply("token.get", {"provider": provider})["result"]["scope"]
part = whole.split()[0]
answer = attacker.reply("token.get", {"provider": provider, "scope": part})
after = victim.reply("token.get", {"provider": provider, "forceRefresh": True})
if after.get("result", {}).get("scope") != whole:
    succeeded(f"another program gets {after} in place of a token for {whole}")
if "result" in answer:
    succeeded("a token for a part of the scope was fetched from a provider that binds it")
data = answer["error"]["data"]
refused(f"{data['reason']}, field {data.get('field')}")
