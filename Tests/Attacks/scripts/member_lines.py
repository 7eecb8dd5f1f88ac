"""Slows other users with the heaviest lines that a caller with rights may send, up to each limit.

Findings: A.1, H2, M5

    member_lines.py PROGRAMS [MILLISECONDS], as root

A member of access.group sends, on eight connections: batches of 64 calls with long replies, parameters
of the greatest depth, number and length, members with escaped names or thousands of repetitions, long
ids, and lines of 1 MiB. Another member's calls are measured meanwhile.
"""

import json
import sys
import time

from attack import Connection, refused, unprepared
from bystander import floor, judge
from harness import GROUP, SILENT, Attackers, Daemon, Place, as_user, need_root, precede

CONNECTIONS = 8
MEMBER = 54_002
# The default limits of the configuration, minus space for the rest of the call.
DEPTH, VALUES, PARAMS, INPUT, LINE = 28, 4000, 65_000, 262_000, (1 << 20) - 1000

need_root("be two users")


def line(method, params, identifier=b"1"):
    return b'{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}' % (identifier, method, params)


def start(params):
    return line(b"flow.start", b'{"provider":"silent","kind":"authorize","params":%s}' % params)


def submit(value):
    return line(b"flow.submit", b'{"flow":"flw_1","revision":1,"input":%s}' % value)


def escaped(name):
    return b"".join(b"\\u%04x" % letter for letter in name)


def batch(method, params=None):
    call = {"jsonrpc": "2.0", "id": 1, "method": method} | ({"params": params} if params else {})
    return json.dumps([call] * 64).encode()


def deep(element, count):
    return b'{"a":' * DEPTH + b"[" + b",".join([element] * count) + b"]" + b"}" * DEPTH


def members(name, value, count):
    return b"{" + b",".join(b'"%s":%s' % (name(number), value) for number in range(count)) + b"}"


def text(size):
    return b'"' + b"\\u0061" * (size // 6) + b'"'


LINES = {
    "a batch of rpc.discover": batch("rpc.discover"),
    "a batch of flow.list": batch("flow.list"),
    "a batch of account.list": batch("account.list"),
    "a batch of flow.start": batch("flow.start", {"provider": "silent", "kind": "authorize", "params": {}}),
    "a batch of token.get": batch("token.get", {"provider": "silent", "scope": "a b c"}),
    "a batch of long calls": b"[" + b",".join([start(b'{"a":%s}' % text(15_000))] * 64) + b"]",
    "deep params": start(deep(b"{}", VALUES - DEPTH)),
    "deep strings": start(deep(b'"\\u00e9"', VALUES - DEPTH)),
    "deep input": submit(deep(b"[]", VALUES - DEPTH)),
    "many members": start(members(lambda number: b"%d" % number, b"{}", VALUES - 10)),
    "many escaped members": start(members(
        lambda number: escaped(b"%d" % number), b"1", PARAMS // 30)),
    "one member again and again": start(members(lambda number: b"a", b"1", VALUES - 10)),
    "params of escaped names": line(
        b"flow.start", b'{"%s":"silent","%s":"authorize","%s":{"%s":%s}}' % (
            escaped(b"provider"), escaped(b"kind"), escaped(b"params"), escaped(b"a"), text(PARAMS - 100))),
    "the longest input": submit(b'{"type":"fillForm","fields":{"a":%s}}' % text(INPUT - 100)),
    "the longest scope": line(
        b"token.get", b'{"provider":"silent","scope":"%s"}' % (b"a " * (PARAMS // 2))),
    "a long id": line(b"account.list", b"{}", text(LINE - 100)),
    "too many members": start(members(lambda number: escaped(b"%d" % number), b"1", LINE // 40)),
    "too many values": line(b"rpc.cancel", b'{"id":%s}' % deep(b"{}", LINE // 3 - 100)),
}


def send(first):
    def act(add):
        lines, connection = [*LINES.values()], None
        lines = lines[first:] + lines[:first]
        while True:
            for each in lines:
                add()
                try:
                    connection = connection or Connection(daemon.socket)
                    connection.send_line(each)
                    answer = connection.receive()
                except OSError:
                    answer = None
                if answer is None:
                    connection = None
                    time.sleep(0.001)
    return act


def answers():
    """Returns the refusal of each line that is refused."""
    found = {}
    for name, each in LINES.items():
        connection = Connection(daemon.socket)
        connection.send_line(each)
        answer = connection.receive()
        answer = answer[0] if isinstance(answer, list) else answer
        found[name] = "closed" if answer is None else answer.get("error", {}).get("data", {}).get("reason")
    return found


precede()
with Place() as place:
    daemon = Daemon(place, sys.argv[1], f'[access]\ngroup = "{GROUP}"\n{SILENT}')
    reasons = as_user(MEMBER, answers)
    if {"closed", "permission_denied"} & set(reasons.values()):
        unprepared(f"these are not the lines of a caller with rights: {reasons}")
    refused(judge(
        "a member's lines", daemon,
        lambda: Attackers(
            MEMBER, [send(2 * number) for number in range(CONNECTIONS)], groups=(GROUP,)),
        floor(sys.argv[1], *map(float, sys.argv[2:3]))))
