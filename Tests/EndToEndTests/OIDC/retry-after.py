"""A token endpoint that answers 503 and asks for a pause; prints its port, then a line a request."""

import http.server
import sys


class Busy(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(int(sys.argv[1]))
        self.send_header("Retry-After", sys.argv[2])
        self.send_header("Content-Length", "0")
        self.end_headers()
        print("asked", flush=True)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Busy)
print(f"port {server.server_address[1]}", flush=True)
server.serve_forever()
