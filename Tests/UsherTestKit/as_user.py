"""Acts as another user of this machine. Run it with setpriv.

    as_user.py relay LISTEN TARGET   forwards connections to LISTEN to the Unix socket TARGET, whose
                                     peer is then this process's user
    as_user.py get URL               prints the status and the page as JSON
    as_user.py connect TARGET        prints "connected" or the name of the error
    as_user.py leave LISTEN TARGET   connects, and leaves the connection to another process, which
                                     forwards a connection to LISTEN to it; prints its own process
                                     id and ends
    as_user.py become PROGRAM LISTEN TARGET
                                     connects, makes a call, and replaces itself by PROGRAM, a
                                     Python, which forwards a connection to LISTEN to it likewise
"""

import errno
import json
import os
import socket
import sys
import threading
import urllib.error
import urllib.request


def pump(source, sink):
    try:
        while chunk := source.recv(65536):
            sink.sendall(chunk)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def relay(listen, target):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(listen)
    listener.listen(64)
    print("relaying", flush=True)
    while True:
        near, _ = listener.accept()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(target)
        except OSError:
            near.close()
            continue
        join(near, far)


def join(near, far):
    pumps = [threading.Thread(target=pump, args=pair) for pair in ((near, far), (far, near))]
    for each in pumps:
        each.start()
    return pumps


def connected(target):
    far = socket.socket(socket.AF_UNIX)
    far.connect(target)
    return far


def forward(listen, descriptor):
    far = socket.socket(fileno=int(descriptor))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(listen)
    listener.listen(1)
    for each in join(listener.accept()[0], far):
        each.join()


def leave(listen, target):
    far = connected(target)
    if os.fork():
        print(os.getpid(), flush=True)
        os._exit(0)
    os.setsid()
    # The caller may wait until these descriptors are closed.
    os.dup2(far.detach(), 3)
    # The descriptors of a test process, which may have high numbers, are inherited.
    os.closerange(4, 1 << 20)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    forward(listen, 3)


def become(program, listen, target):
    far = connected(target)
    far.sendall(b'{"jsonrpc":"2.0","id":"before","method":"system.status"}\n')
    far.makefile().readline()
    descriptor = far.detach()
    os.set_inheritable(descriptor, True)
    os.execv(program, [program, __file__, "forward", listen, str(descriptor)])


def get(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=120) as reply:
            status, page = reply.status, reply.read()
    except urllib.error.HTTPError as error:
        status, page = error.code, error.read()
    print(json.dumps({"status": status, "page": page.decode()}))


def connect(target):
    try:
        socket.socket(socket.AF_UNIX).connect(target)
        print("connected")
    except OSError as error:
        print(errno.errorcode[error.errno])


verbs = [relay, get, connect, leave, become, forward]
{verb.__name__: verb for verb in verbs}[sys.argv[1]](*sys.argv[2:])
