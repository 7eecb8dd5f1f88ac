"""Talks to usherd as a program in another language does: a JSON-RPC library from PyPI for the
messages, a plain socket for the lines, a few lines of HTTP for the person at the browser.

Usage: any_client.py SOCKET PROVIDER. Ends with status 0 and "all fine" when everything held.
"""

import json
import re
import socket
import sys
import urllib.parse
import urllib.request

from jsonrpcclient import Error, Ok, notification, parse, request, request_uuid


class Usherd:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        line = self.lines.readline()
        assert line.endswith(b"\n"), "the daemon closed the connection"
        return parse(json.loads(line))

    def call(self, method, **params):
        message = request(method, params)
        self.send(message)
        reply = self.receive()
        assert reply.id == message["id"], (reply.id, message["id"])
        return reply

    def result(self, method, **params):
        reply = self.call(method, **params)
        assert isinstance(reply, Ok), reply
        return reply.result


def page(url, form=None):
    data = urllib.parse.urlencode(form).encode() if form else None
    with urllib.request.urlopen(url, data, timeout=120) as reply:
        return reply.geturl(), reply.read().decode()


def sign_in(url):
    """What a person does in a browser, redirects followed to the daemon's own page."""
    at, html = page(url)
    for path, fields in [
        ("login", {"username": "alice", "password": "alice-password", "action": "login"}),
        ("consent", {"decision": "allow"}),
    ]:
        hidden = dict(re.findall(r'name="(transaction|csrf)" value="([^"]*)"', html))
        assert len(hidden) == 2, html
        at, html = page(urllib.parse.urljoin(at, path), {**hidden, **fields})
    assert "Signed in" in html, html


def check_errors(usherd):
    error = usherd.call("no.such")
    assert isinstance(error, Error) and error.code == -32601, error
    error = usherd.call("flow.get", flow="flw_none")
    assert isinstance(error, Error) and error.code == 1001, error
    assert error.data["reason"] == "not_found" and error.data["retryable"] is False, error
    error = usherd.call("token.get", provider=PROVIDER)
    assert error.data["reason"] == "interaction_required", error
    # The error says which call mends it.
    assert error.data["next"]["method"] == "flow.start", error
    return error.data["next"]["params"]


def check_batch(usherd):
    calls = [
        request("system.status"),
        notification("system.status"),
        request_uuid("provider.get", {"provider": PROVIDER}),
        request("no.such"),
    ]
    usherd.send(calls)
    replies = list(usherd.receive())
    assert [reply.id for reply in replies] == [calls[i]["id"] for i in (0, 2, 3)], replies
    assert [type(reply) for reply in replies] == [Ok, Ok, Error], replies


def check_flow(usherd, params):
    flow = usherd.result("flow.start", waitMs=60000, **params)["flow"]
    assert flow["step"]["type"] == "openURL", flow
    assert usherd.result("flow.get", flow=flow["id"])["flow"] == flow
    sign_in(flow["step"]["url"])
    while flow["status"] == "active":
        flow = usherd.result(
            "flow.wait", flow=flow["id"], revision=flow["revision"], timeoutMs=15000
        )["flow"]
    assert flow["status"] == "succeeded", flow
    return flow["result"]["account"]


PROVIDER = sys.argv[2]


def main():
    usherd = Usherd(sys.argv[1])
    hello = usherd.result(
        "rpc.hello", protocol=[1], client={"name": "any_client", "version": "1"}
    )
    assert hello["protocol"] == 1, hello
    providers = usherd.result("provider.list")["providers"]
    assert PROVIDER in [provider["name"] for provider in providers], providers
    start = check_errors(usherd)
    check_batch(usherd)
    account = check_flow(usherd, start)
    token = usherd.result("token.get", provider=PROVIDER)
    assert token["account"] == account and token["accessToken"], "no token"
    print("all fine")


main()
