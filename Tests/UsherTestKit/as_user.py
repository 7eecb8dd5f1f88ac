"""What another user of this machine does; run it under setpriv.

    as_user.py relay LISTEN TARGET   passes connections at LISTEN on to the Unix socket TARGET, which
                                     sees this process's user at its other end
    as_user.py get URL               prints the status and the page as JSON
    as_user.py connect TARGET        prints "connected" or the name of the error
"""

import errno
import json
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
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def get(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=10) as reply:
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


{"relay": relay, "get": get, "connect": connect}[sys.argv[1]](*sys.argv[2:])
