"""Uses an account that the caller's rule excludes, by a call that does not name the account.

Findings: H1

    unnamed_account.py SOCKET PROVIDER

The provider is a wallet at which a person has signed in. The caller's rule has `accounts = [...]`
without that person's account.
"""

import sys

from attack import Connection, refused, succeeded, unprepared

path, provider = sys.argv[1:]
connection = Connection(path)

accounts = connection.reply("account.list")["result"]["accounts"]
if accounts:
    unprepared(f"the rule lets the caller see {len(accounts)} accounts")

payment = {
    "method": "POST",
    "path": "/wallets/wlt_alice/payments",
    "body": {"amount": "20.00", "currency": "EUR", "payee": "Bakery"},
    "operation": {"summary": "Pay", "amount": "20.00 EUR", "payee": "Bakery"},
}
tries = [
    ("flow.start", {"provider": provider, "kind": "operation", "params": payment, "waitMs": 5000}),
    ("flow.start", {"provider": provider, "kind": "operation", "params": payment | {"account": None}}),
    ("token.get", {"provider": provider}),
    ("token.revoke", {"provider": provider}),
    ("account.forget", {"provider": provider}),
]
reasons = []
for method, params in tries:
    reply = connection.reply(method, params)
    if "result" in reply:
        flow = reply["result"].get("flow", {})
        succeeded(f"{method} acted with the excluded account: {flow.get('status')} {flow.get('result')}")
    if "there are" in reply["error"]["message"]:
        succeeded(f"{method} tells of excluded accounts: {reply['error']['message']}")
    reasons.append(reply["error"]["data"]["reason"])
refused(", ".join(reasons))
