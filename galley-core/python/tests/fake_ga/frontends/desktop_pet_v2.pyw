"""Stand-in for GenericAgent's desktop pet: writes what it is told into a file."""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit


class Pet(BaseHTTPRequestHandler):
    def do_GET(self):
        with open(os.environ["FAKE_PET_LOG"], "a", encoding="utf-8") as log:
            for name, value in parse_qsl(urlsplit(self.path).query):
                log.write(f"{name}={value!r}\n")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


HTTPServer(("127.0.0.1", int(os.environ["FAKE_PET_PORT"])), Pet).serve_forever()
