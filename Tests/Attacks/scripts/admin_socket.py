"""Uses the admin socket as another user, where its mode was opened by mistake.

Findings: L4

    admin_socket.py ADMIN-SOCKET
"""

import sys

from attack import Connection, refused, succeeded

try:
    connection = Connection(sys.argv[1])
    reply = connection.reply("credential.list")
except (ConnectionError, PermissionError) as error:
    refused(str(error))
if "result" in reply:
    succeeded("credential.list was answered")
refused(reply["error"]["data"]["reason"])
