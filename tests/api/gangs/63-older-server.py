#!/usr/bin/env python3
"""63-older-server.py URL CONFIG GROUP VERSION... - an API server of another release: what URL serves, but of GROUP those versions and v1 alone

A kubeconfig for it is written to CONFIG once it listens. Ends with its parent's signal.
"""
import http.client
import http.server
import sys
import urllib.parse

URL, CONFIG, GROUP, *SERVED = sys.argv[1:]
BEHIND = urllib.parse.urlsplit(URL).netloc
HIDDEN_FOR = ("host", "connection", "transfer-encoding", "content-length")


class Door(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer_part(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def forward(self):
        parts = self.path.split("?")[0].split("/")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if parts[1:3] == ["apis", GROUP] and len(parts) > 3 and parts[3] not in (*SERVED, "v1"):
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        behind = http.client.HTTPConnection(BEHIND)
        behind.request(self.command, self.path, body or None, {k: v for k, v in self.headers.items() if k.lower() not in HIDDEN_FOR})
        answer = behind.getresponse()
        self.send_response(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in HIDDEN_FOR:
                self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := answer.read1(65536):
            self.answer_part(data)
        self.answer_part(b"")
        behind.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
server.daemon_threads = True
with open(CONFIG, "w", encoding="utf-8") as config:
    config.write(f"""apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{server.server_port}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
""")
server.serve_forever()
