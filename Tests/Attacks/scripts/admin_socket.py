"""Uses the admin socket as another user, after its mode was opened by mistake.

Findings: L4

    admin_socket.py ADMIN-SOCKET
"""

import sys

from attack import Connection, refused, succeeded, unprepared

try:
    connection = Connection(sys.argv[1])
except PermissionError as error:
    unprepared(f"the socket's mode is not open: {error}")
try:
    connection.send_line(b'{"jsonrpc":"2.0","id":1,"method":"credential.list"}')
except BrokenPipeError:
    pass  # The connection was already refused, and the reply says why.
reply = connection.receive()
if reply is None or "result" in reply:
    succeeded(f"another user gets {reply} in place of a sentence")
if reply["error"]["data"]["reason"] != "permission_denied":
    succeeded(f"another user is not told that it may not: {reply}")
refused(reply["error"]["message"])
