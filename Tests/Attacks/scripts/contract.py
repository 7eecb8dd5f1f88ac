"""Breaks details of the socket's contract: spelling of ids and methods, fields, journal, order.

Findings: L.9

    contract.py PROGRAMS
"""

import json
import sys

from attack import refused, succeeded
from harness import SILENT, Daemon, Place, start_flow

IDS = ["5.0", "-0", "1e2", "123456789012345678901234567890", '"\\u0073"']


def cancelled(connection, flow, identifier, spelling):
    """Makes a call that waits, cancels it with a spelling of its id, and returns the raw reply."""
    wait = json.dumps({"flow": flow["id"], "revision": flow["revision"], "timeoutMs": 60000})
    connection.send_line(
        b'{"jsonrpc":"2.0","id":%s,"method":"flow.wait","params":%s}' % (identifier, wait.encode()))
    connection.send_line(
        b'{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":%s}}' % spelling)
    try:
        return connection.file.readline()
    except TimeoutError:
        return b"no reply"


with Place() as place:
    daemon = Daemon(place, sys.argv[1], SILENT)
    flow = start_flow(daemon.connect(), "silent")
    for spelling in IDS:
        line = cancelled(daemon.connect(), flow, spelling.encode(), spelling.encode())
        if b'"cancelled"' not in line:
            succeeded(f"a call of id {spelling} is not cancelled: {line.decode()}")
    line = cancelled(daemon.connect(), flow, b'"\\u0073"', b'"s"')
    if b'"id":"\\u0073"' not in line:
        succeeded(f"the id is not echoed as it was sent: {line.decode()}")

    caller = daemon.connect()
    for method in ["to\N{KELVIN SIGN}en.list", "registration.checkUser\N{KELVIN SIGN}ey", "system.statu\u017f"]:
        code = caller.reply(method, {}).get("error", {}).get("code")
        if code != -32601:
            succeeded(f"{method} is taken for another method: {code}")

    admin = daemon.admin()
    bad = [
        (caller, "token.get", {"provider": "silent", "minValidSeconds": -9223372036854775809}),
        (caller, "flow.wait", {"flow": flow["id"], "revision": 10**30}),
        (admin, "policy.check", {"uid": 1 << 40, "method": "flow.list"}),
    ]
    for connection, method, params in bad:
        data = connection.reply(method, params)["error"]["data"]
        if data["reason"] != "invalid_params" or not data.get("field"):
            succeeded(f"{method} of {params} is not refused by invalid_params with a field: {data}")

    before = len(daemon.log().splitlines())
    for _ in range(100):
        caller.reply("localAuth.status")
    if (lines := len(daemon.log().splitlines()) - before) > 10:
        succeeded(f"100 calls of localAuth.status write {lines} lines to the journal")

    for method in caller.reply("rpc.discover")["result"]["methods"]:
        required = [bool(each.get("required")) for each in method["params"]]
        if required != sorted(required, reverse=True):
            succeeded(f"{method['name']} lists an optional parameter before a required one")
    refused(f"{len(IDS)} ids, 3 look-alikes, {len(bad)} bad values, {lines} lines for 100 calls")
