"""An event stream, read as a client reads it."""
import http.client
import json
import socket
import time

from schema import RECORD, check
from world import API, same

DOCUMENT = json.loads(RECORD.read_text())


class Stream:
    """An event stream that is read event by event."""

    def __init__(self, server, path, last=None, room=None, **headers):
        self.c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        if room:
            self.c.sock = socket.socket()
            self.c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            self.c.sock.connect(("127.0.0.1", server.port))
        self.c.putrequest("GET", f"{API}/{path}", skip_host=True, skip_accept_encoding=True)
        self.c.putheader("Host", server.host)
        if last:
            self.c.putheader("Last-Event-ID", last)
        for k, v in headers.items():
            self.c.putheader(k, v)
        self.c.endheaders()
        self.r = self.c.getresponse()
        self.id = None
        same((self.r.status, self.r.getheader("Content-Type")), (200, "text/event-stream"))

    def next(self, live=False):
        """
        Returns the next event: its kind and its data, or None at the end of the stream. Events about
        who has the session open are skipped unless `live` asks for them: any program that a test runs
        may cause one. Comments keep an idle connection open, so the socket's own timeout does not end
        the wait for an event.
        """
        kind, data = None, None
        until = time.monotonic() + 90
        while True:
            assert time.monotonic() < until, "no event came"
            line = self.r.readline().decode()
            if not line:
                return None
            line = line.rstrip("\n")
            if line.startswith("id: "):
                self.id = line[4:]
            elif line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif not line and kind == "live" and not live:
                kind, data = None, None
            elif not line and kind:
                check(data, DOCUMENT["x-events"][kind], DOCUMENT, kind)
                return kind, data

    def begun(self):
        """Waits until the stream is listening: until the server's first line has come."""
        assert self.r.readline().startswith(b":")
        return self

    def appended(self, nr):
        """Returns the ids of that many entries, in however many events they come."""
        ids = []
        while len(ids) < nr:
            kind, data = self.next()
            same(kind, "append")
            same(len(data["id"]), data["n"])
            ids += data["id"]
        return ids

    def close(self):
        self.c.close()
