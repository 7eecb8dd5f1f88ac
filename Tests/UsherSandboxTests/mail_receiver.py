"""SMTP server on loopback: prints its port, then each e-mail as one line of JSON.

Refuses recipients that begin with "nobody". Ends at the end of its standard input.
"""

import json
import sys
from email import message_from_bytes, policy

from aiosmtpd.controller import Controller


class Printing:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 there is no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        letter = message_from_bytes(envelope.content, policy=policy.default)
        print(json.dumps({
            "from": envelope.mail_from, "to": envelope.rcpt_tos, "subject": letter["subject"],
            "headerTo": letter["to"], "date": letter["date"], "text": letter.get_content(),
            "defects": [str(defect) for defect in letter.defects],
        }), flush=True)
        return "250 OK"


class AnyPort(Controller):
    """Supports port 0: the controller's own test connection uses the port that was chosen."""

    def _create_server(self):
        server = super()._create_server()

        async def listening():
            running = await server
            self.port = running.sockets[0].getsockname()[1]
            return running

        return listening()


controller = AnyPort(Printing(), hostname="127.0.0.1", port=0)
controller.start()
print(controller.port, flush=True)
sys.stdin.read()
controller.stop()
