"""A mail server of the tests: takes what it is given, or fails as it is told.

with Postbox() as postbox: postbox.port, postbox.taken

Before and after that it is away: its port is its own, and refuses.
"""

import socketserver
import threading
from email import message_from_bytes, policy
from email.message import Message

MANNERS = {
    "take": b"250 taken",
    "refuse": b"451 not today",
    "cut": b"",
}


class Postbox(socketserver.ThreadingTCPServer):
    """`manner` is what it does once it has the text: "cut" takes it and says nothing."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        self.manner = "take"
        self.taken: list[Message] = []
        super().__init__(("127.0.0.1", 0), _Visit, bind_and_activate=False)
        self.server_bind()
        self.port = self.server_address[1]
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "Postbox":
        self.server_activate()
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Visit(socketserver.StreamRequestHandler):
    server: Postbox

    def handle(self) -> None:
        self.wfile.write(b"220 postbox\r\n")
        for line in self.rfile:
            command = line[:4].upper().strip()
            if command == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                if not self._take():
                    return
            elif command == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 fine\r\n")

    def _take(self) -> bool:
        text = b"".join(iter(self.rfile.readline, b".\r\n"))
        if self.server.manner != "refuse":
            self.server.taken.append(message_from_bytes(text, policy=policy.default))
        answer = MANNERS[self.server.manner]
        self.wfile.write(answer + b"\r\n" if answer else b"")
        return bool(answer)
