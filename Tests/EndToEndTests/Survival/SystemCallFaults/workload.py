"""Uses every part of usherd that stores something, and records what usherd has acknowledged."""

import copy
import os
import time
import urllib.error
import urllib.parse

from attack import Connection, Deadline, slowness
from harness import at_browser, page

USER, API_KEY, PASSCODE = "alice", "s3cret:freedom/api-key", "pass-493027-code"
GRANTS = ["read.email", "read.firstname"]


class Violation(Exception):
    """A promise that usherd did not keep."""


class Ended(Exception):
    """The process of usherd has ended."""


class Acknowledged:
    """What usherd has acknowledged, and must still have after a restart.

    A value is None while it is not known whether a change was made, because its call failed.
    """

    def __init__(self):
        self.credentials, self.flows, self.accounts, self.tokens = set(), {}, {}, {}
        self.has_passcode, self.is_locked, self.consents, self.audit_rows = None, False, set(), 0

    def copy(self):
        return copy.deepcopy(self)

    def flow(self, flow):
        revision, _ = self.flows.get(flow["id"], (0, ""))
        if flow["revision"] >= revision:
            self.flows[flow["id"]] = flow["revision"], flow["status"]
        elif flow["revision"] < revision:
            raise Violation(f"flow {flow['id']} went back from revision {revision}: {flow}")


class Caller:
    """A program at one of the sockets. Connects again if the connection is closed."""

    def __init__(self, daemon, path, contract):
        self.daemon, self.path, self.contract = daemon, path, contract
        self.connection = None
        # Every line but a successful reply of token.get, which alone may contain a secret.
        self.lines, self.errors, self.lost = [], set(), 0

    def connect(self, timeout):
        deadline = Deadline(20)
        while True:
            if not self.daemon.is_running():
                raise Ended()
            try:
                return Connection(self.path, timeout)
            except OSError as error:
                if deadline.is_over():
                    raise Violation(f"usherd runs, but nobody can connect: {error}") from error
                time.sleep(0.02)

    def attempt(self, method, params=None, seconds=40):
        """Makes a call once. Returns its reply, or None if usherd closed the connection instead."""
        timeout = seconds * slowness()
        self.connection = self.connection or self.connect(timeout)
        try:
            reply = self.connection.reply(method, params)
        except TimeoutError as error:
            raise Violation(f"{method} is not answered within {timeout} s") from error
        except (OSError, ConnectionError):
            self.connection.close()
            self.connection = None
            self.lost += 1
            return None
        if method != "token.get" or "error" in reply:
            self.lines.append(str(reply))
        if "error" in reply:
            self.check(method, reply["error"])
        return reply

    def check(self, method, error):
        reason = error.get("data", {}).get("reason")
        if reason not in self.contract.errors or not error.get("message"):
            raise Violation(f"{method} failed with an error that is not documented: {error}")
        if reason != "rate_limited":
            self.errors.add(f"{method}: {reason}")

    def call(self, method, params=None):
        """Makes a call until it succeeds, as a program does after a fault. Returns the result."""
        reply = None
        for number in range(8):
            time.sleep(0.05 * number * number)
            reply = self.attempt(method, params)
            if reply and "result" in reply:
                return reply["result"]
        raise Violation(f"{method} fails again and again after one fault: {reply}")


class Contract:
    """What the OpenRPC document says about errors."""

    def __init__(self, document):
        self.errors = set(document["components"]["errors"])
        failure = document["components"]["schemas"]["Failure"]["properties"]["reason"]
        self.failures = set(failure["enum"])


class Workload:
    def __init__(self, daemon, contract, acknowledged=None):
        self.daemon, self.contract = daemon, contract
        self.acknowledged = acknowledged or Acknowledged()
        self.app = Caller(daemon, daemon.socket, contract)
        self.admin = Caller(daemon, daemon.admin_socket, contract)

    def lines(self):
        return self.app.lines + self.admin.lines

    # What is done. Every function returns when usherd has acknowledged it.

    def first_use(self):
        """Uses a new state directory."""
        self.set_credential()
        self.set_passcode()
        self.sign_in("freedom", "authorize", {"grants": GRANTS})
        self.acknowledged.consents.update(GRANTS)
        self.sign_in("demo", "device")
        self.sign_in("demo", "authorize")
        self.use()

    def use(self):
        for account, provider in list(self.acknowledged.accounts.items()):
            if provider == "demo":
                self.token(account)
                self.token(account, refreshed=True)
        self.lock()
        for account in self.acknowledged.tokens:
            self.token(account)
        self.admin.call("system.reload")
        self.acknowledged.audit_rows = self.admin.call("audit.verify").get("last", 0)

    def set_credential(self):
        self.admin.call("credential.set", {"name": "freedom-api-key", "value": API_KEY})
        self.acknowledged.credentials.add("freedom-api-key")

    def set_passcode(self):
        # On the admin socket this replaces a passcode, so it may be repeated.
        self.admin.call("localAuth.setPasscode", {"uid": os.getuid(), "new": PASSCODE})
        self.acknowledged.has_passcode = True

    def token(self, account, refreshed=False):
        before = self.acknowledged.tokens.get(account)
        call = {"account": account}
        if refreshed:
            call["forceRefresh"] = True
            self.acknowledged.tokens[account] = None
        token = self.app.call("token.get", call)["accessToken"]
        if not refreshed and before not in (None, token):
            raise Violation("token.get returned another token than before, without a refresh")
        self.acknowledged.tokens[account] = token

    def lock(self):
        self.acknowledged.is_locked = None
        self.app.call("system.lock")
        self.acknowledged.is_locked = True
        self.expect_locked(True)
        self.acknowledged.is_locked = None
        self.unlock()
        self.acknowledged.is_locked = False

    def unlock(self):
        self.app.call("system.unlock", {"passcode": PASSCODE})

    def expect_locked(self, is_locked):
        status = self.app.call("system.status")
        if status.get("locked", False) != is_locked:
            raise Violation(f"usherd is not in the lock state that it acknowledged: {status}")

    # Sign-ins.

    def sign_in(self, provider, kind, params=None):
        """Signs in; a flow that fails because of the fault is followed by another one."""
        failure = None
        for _ in range(4):
            start = {"provider": provider, "kind": kind, "params": params or {}, "waitMs": 20_000}
            flow = self.app.call("flow.start", start)["flow"]
            flow = self.finish(flow)
            if flow["status"] == "succeeded":
                self.acknowledged.accounts[flow["result"]["account"]] = provider
                return
            failure = flow["failure"]
            if failure["reason"] not in self.contract.failures:
                raise Violation(f"a flow failed with an unknown reason: {failure}")
        raise Violation(f"sign-ins at {provider} fail again and again after one fault: {failure}")

    def finish(self, flow):
        deadline = Deadline(90)
        self.acknowledged.flow(flow)
        while flow["status"] == "active":
            if deadline.is_over():
                raise Violation(f"a flow does not end: {flow}")
            before = flow["revision"]
            self.act(flow)
            call = {"flow": flow["id"], "revision": before, "timeoutMs": 2000}
            flow = self.app.call("flow.wait", call)["flow"]
            self.acknowledged.flow(flow)
        return flow

    def act(self, flow):
        """Does what the step asks of the person."""
        step = flow["step"] or {"type": "wait"}
        try:
            if step["type"] == "openURL":
                at_browser(step["url"], USER)
            elif step["type"] == "displayCode":
                at_browser(step["verificationURIComplete"], USER, step["userCode"])
        except (OSError, urllib.error.URLError):
            return  # The page could not be loaded. The person tries again.
        answer = self.answer(step)
        if answer:
            self.app.attempt("flow.submit", {
                "flow": flow["id"], "revision": flow["revision"], "waitMs": 20_000,
                "input": {"type": step["type"]} | answer})

    @staticmethod
    def answer(step):
        return {
            "choose": lambda: {
                "id": "emailPassword" if step["what"] == "loginMethod" else step["options"][0]["id"]},
            "fillForm": lambda: {"fields": {"email": USER + "@example.com"}},
            "enterPassword": lambda: {"password": USER + "-password"},
            "localAuth": lambda: {"passcode": PASSCODE},
            "consent": lambda: {"granted": [grant["id"] for grant in step["grants"]]},
        }.get(step["type"], lambda: None)()

    # What must still be there.

    def check(self):
        """Checks, without faults, that nothing acknowledged is lost, and that usherd works."""
        known = self.acknowledged
        if known.is_locked is not None:
            self.expect_locked(known.is_locked)
        if self.once(self.app, "system.status").get("locked"):
            self.unlock()
        entries = self.once(self.admin, "credential.list")["credentials"]
        self.expect("credentials", known.credentials, {entry["name"] for entry in entries})
        if known.has_passcode:
            state = self.once(self.app, "localAuth.status")["passcode"]["state"]
            self.expect("the passcode", {"ready"}, {state})
        for name, (revision, status) in known.flows.items():
            flow = self.once(self.app, "flow.get", {"flow": name})["flow"]
            if flow["revision"] < revision or status not in ("active", flow["status"]):
                raise Violation(f"a flow was {status} at {revision}, and is {flow}")
        accounts = {account["id"] for account in self.once(self.app, "account.list")["accounts"]}
        self.expect("accounts", set(known.accounts), accounts)
        consents = self.once(self.app, "consent.list")["consents"]
        self.expect("consents", known.consents, {consent["grant"] for consent in consents})
        for account, token in known.tokens.items():
            now = self.once(self.app, "token.get", {"account": account})["accessToken"]
            if token not in (None, now):
                raise Violation("the token that token.get returned is lost")
            self.once(self.app, "token.get", {"account": account, "forceRefresh": True})
        verified = self.once(self.admin, "audit.verify")
        if not verified["whole"] or verified.get("last", 0) < known.audit_rows:
            raise Violation(f"the audit log had {known.audit_rows} rows: {verified}")

    @staticmethod
    def once(caller, method, params=None):
        reply = caller.attempt(method, params)
        if reply is None or "error" in reply:
            raise Violation(f"{method} fails after a restart without faults: {reply}")
        return reply["result"]

    @staticmethod
    def expect(what, wanted, found):
        if not wanted <= found:
            raise Violation(f"{what}: {wanted - found} of {wanted} are lost")
