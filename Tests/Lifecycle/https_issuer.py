"""Serves only the discovery document of an OpenID provider, with HTTPS on 127.0.0.1.

    https_issuer.py PORT CERTIFICATE KEY
"""

import http.server
import json
import ssl
import sys

port, certificate, key = sys.argv[1:]
issuer = f"https://localhost:{port}"
document = json.dumps({
    "issuer": issuer,
    "authorization_endpoint": f"{issuer}/authorize",
    "token_endpoint": f"{issuer}/token",
    "jwks_uri": f"{issuer}/jwks",
    "response_types_supported": ["code"],
    "subject_types_supported": ["public"],
    "id_token_signing_alg_values_supported": ["RS256"],
    "code_challenge_methods_supported": ["S256"],
}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        found = self.path == "/.well-known/openid-configuration"
        body = document if found else b"{}"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        # The server closes connections without TLS's close_notify, so clients need the length.
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
