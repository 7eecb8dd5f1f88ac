"""Makes a client out of `rpc.discover` and of nothing else, and signs a person in with it.

Every call, reply, error and notification is held to the schemas of the document.

Usage: discovered_client.py SOCKET PROVIDER. Ends with status 0 and "all fine" when everything held.
"""

import json
import re
import socket
import sys
import urllib.parse
import urllib.request

from json_schemas import Schemas


class Contract(Schemas):
    """The document of the daemon."""

    def __init__(self, document):
        super().__init__(document)
        self.methods = {method["name"]: method for method in document["methods"]}

    def check_params(self, params, descriptors, path):
        """By-name parameters, as descriptors of OpenRPC."""
        required = [each["name"] for each in descriptors if each["required"]]
        properties = {each["name"]: each["schema"] for each in descriptors}
        self.check(params, {
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": False}, path)

    def check_error(self, error):
        known = self.document["components"]["errors"][error["data"]["reason"]]
        assert error["code"] == known["code"], error
        self.check(error["data"], {"$ref": "#/components/schemas/ErrorData"}, "error.data")

    def flow(self, provider_type, kind):
        """What `x-flows` says of a kind of flow of a provider without modes."""
        found = [each for each in self.document["x-flows"]
                 if (each["providerType"], each["kind"]) == (provider_type, kind)]
        assert len(found) == 1, found
        return found[0]

    def client(self):
        """The source of a class with a function for each method."""
        lines = ["class Client(Connection):"]
        for name, method in self.methods.items():
            params = method["params"]
            words = [each["name"] for each in params if each["required"]]
            words += [f"{each['name']}=None" for each in params if not each["required"]]
            given = ", ".join(f"{each['name']!r}: {each['name']}" for each in params)
            lines += [
                f"    def {name.replace('.', '_')}(self, {', '.join(['*', *words] if words else [])}):",
                f"        {json.dumps(method['summary'])}",
                f"        return self.call({name!r}, {{{given}}})",
            ]
        return "\n".join(lines)


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.data = error["data"]


class Connection:
    def __init__(self, path, contract=None):
        self.contract, self.count, self.events = contract, 0, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(120)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")

    def call(self, method, params):
        params = {name: value for name, value in params.items() if value is not None}
        if self.contract:
            descriptors = self.contract.methods[method]["params"]
            self.contract.check_params(params, descriptors, method)
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        while "id" not in (reply := json.loads(self.lines.readline())):
            self.notified(reply)
        assert reply["id"] == self.count, reply
        if "error" in reply:
            self.contract.check_error(reply["error"])
            raise Refused(reply["error"])
        if self.contract:
            result = self.contract.methods[method]["result"]["schema"]
            self.contract.check(reply["result"], result, f"{method} →")
        return reply["result"]

    def notified(self, message):
        known = {each["name"]: each for each in self.contract.document["x-notifications"]}
        descriptors = known[message["method"]]["params"]
        self.contract.check_params(message["params"], descriptors, message["method"])
        self.events.append(message["params"].get("event"))


class Redirected(Exception):
    pass


class Person(urllib.request.HTTPRedirectHandler):
    """Signs in with a browser that does not reach the daemon: the way of a client behind SSH."""

    def __init__(self, redirect_uri):
        self.redirect_uri = redirect_uri

    def redirect_request(self, request, file, code, message, headers, url):
        if url.startswith(self.redirect_uri):
            raise Redirected(url)
        return super().redirect_request(request, file, code, message, headers, url)

    def redirected(self, url):
        browser = urllib.request.build_opener(self)
        forms = [
            ("login", {"username": "alice", "password": "alice-password", "action": "login"}),
            ("consent", {"decision": "allow"}),
        ]
        try:
            page = browser.open(url, timeout=120)
            for path, fields in forms:
                html = page.read().decode()
                hidden = dict(re.findall(r'name="(transaction|csrf)" value="([^"]*)"', html))
                form = urllib.parse.urlencode({**hidden, **fields}).encode()
                page = browser.open(urllib.parse.urljoin(page.geturl(), path), form, timeout=120)
        except Redirected as end:
            return end.args[0]
        raise AssertionError("the provider did not redirect the browser back")


def answer(step):
    """The input for a step, found by the step's type alone."""
    assert step["type"] == "openURL", step
    return {"type": "openURL", "redirectURL": Person(step["redirectURI"]).redirected(step["url"])}


def main(path, provider):
    contract = Contract(Connection(path).call("rpc.discover", {}))
    names = {"Connection": Connection}
    exec(contract.client(), names)
    client = names["Client"](path, contract)
    client.rpc_hello(protocol=[1], client={"name": "discovered", "version": "1"})
    client.events_subscribe(topics=["flow", "account"])
    kind = contract.flow(client.provider_get(provider=provider)["type"], "authorize")
    try:
        client.token_get(provider=provider)
        raise AssertionError("there is a token before anybody signed in")
    except Refused as refusal:
        start = refusal.data["next"]["params"]
    contract.check(start["params"], kind["params"], "params")
    flow = client.flow_start(**start, waitMs=30000)["flow"]
    while flow["status"] == "active":
        if flow["step"]["type"] == "wait":
            flow = client.flow_wait(
                flow=flow["id"], revision=flow["revision"], timeoutMs=30000)["flow"]
        else:
            flow = client.flow_submit(
                flow=flow["id"], revision=flow["revision"], input=answer(flow["step"]),
                waitMs=30000)["flow"]
    assert flow["status"] == "succeeded", flow
    contract.check(flow["result"], kind["result"], "result")
    token = client.token_get(provider=provider)
    assert token["account"] == flow["result"]["account"] and token["accessToken"], "no token"
    client.account_list()
    client.flow_list(provider=provider)
    for _ in range(1000):
        if {"started", "finished", "added"} <= {event["what"] for event in client.events}:
            break
        client.system_status()
    else:
        raise AssertionError(f"events are missing: {client.events}")
    print("all fine")


if __name__ == "__main__":
    main(*sys.argv[1:])
