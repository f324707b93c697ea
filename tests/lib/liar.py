"""A server on the loopback interface that gives the answers a test wants, true or false.

A Liar has sessions and answers questions about them honestly, unless the test replaces the
answer to one kind of question: liar.on["list"] = fn(say, query). The kinds are list, about,
lines, file, put and events. `say` is the reply; what it sends goes out at once, and an answer
may take as long as the test likes.
"""
import json
import socket
import threading
import urllib.parse


class Session:
    def __init__(self, sid, lines, dialect="claude", cwd="/proj/ledger", files=(), logs=()):
        self.id, self.lines, self.dialect, self.cwd = sid, lines, dialect, cwd
        self.files, self.logs = dict(files), dict(logs)
        self.about = {}                  # members of the description that replace the true ones

    def item(self):
        return {"id": self.id, "key": self.id, "cwd": self.cwd}

    def describe(self):
        return {"id": self.id, "key": self.id, "dialect": self.dialect, "agent": self.dialect, "cwd": self.cwd,
                "file": f"{self.id}.jsonl", "leafEntryId": None, "old": False, "seq": len(self.lines), "generation": 1,
                "logs": [{"sub": s, "seq": len(x), "generation": 1} for s, x in self.logs.items()],
                "files": [{"name": n, "size": len(x)} for n, x in self.files.items()], **self.about}


class Say:
    """The reply to one request."""

    def __init__(self, peer):
        self.peer = peer
        self.sent = 0

    def raw(self, data):
        self.peer.sendall(data)
        self.sent += len(data)

    def head(self, *headers, status=200):
        self.raw("".join([f"HTTP/1.1 {status} x\r\n", *(h + "\r\n" for h in headers), "Connection: close\r\n\r\n"]).encode())

    def whole(self, body, *headers, status=200):
        self.head(f"Content-Length: {len(body)}", *headers, status=status)
        self.raw(body)

    def json(self, value, *headers, status=200):
        self.whole(json.dumps(value).encode(), *headers, status=status)

    def fail(self, status, code, message):
        self.json({"error": {"code": code, "message": message}}, status=status)

    def lines(self, lines, seq=None, generation=1):
        self.whole(b"".join(x + b"\n" for x in lines), f"Grove-Seq: {len(lines) if seq is None else seq}",
                   f"Grove-Generation: {generation}")

    def chunk(self, data):
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))


class Liar:
    def __init__(self, *sessions):
        self.sessions = {s.id: s for s in sessions}
        self.on = {}
        self.asked = []                  # (method, path, query)
        self.bodies = []                 # the bodies of the PUT requests
        self.sent = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.closed = False
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.closed = True
        self.listener.close()

    def serve(self):
        while not self.closed:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()

    def talk(self, peer):
        say = Say(peer)
        try:
            peer.settimeout(120)
            data = b""
            while b"\r\n\r\n" not in data:
                more = peer.recv(65536)
                if not more:
                    return
                data += more
            head, body = data.split(b"\r\n\r\n", 1)
            want = 0
            for line in head.split(b"\r\n")[1:]:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    want = int(value)
            while len(body) < want:
                body += peer.recv(1 << 20)
            method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
            self.answer(say, method, target, body)
        except OSError:
            pass
        finally:
            self.sent += say.sent
            peer.close()

    def answer(self, say, method, target, body):
        path, _, query = target.partition("?")
        q = {k: v[-1] for k, v in urllib.parse.parse_qs(query).items()}
        parts = [urllib.parse.unquote(p) for p in path.removeprefix("/api/v1/").split("/")]
        self.asked.append((method, path, q))
        if parts[0] == "sessions":
            return self.tell("list", say, q)
        if parts[0] == "events":
            return self.tell("events", say, q)
        s = self.sessions.get(parts[1] if len(parts) > 1 else "")
        if not s and method == "GET":
            return say.fail(404, "NOTFOUND", "there is no such session")
        if method != "GET":
            self.bodies.append((parts, q, body))
            return self.tell("put", say, q, s, parts, body)
        if len(parts) == 2:
            return self.tell("lines", say, q, s)
        return self.tell("about", say, q, s) if len(parts) == 3 else self.tell("file", say, q, s, "/".join(parts[3:]))

    def tell(self, kind, say, q, *more):
        (self.on.get(kind) or getattr(self, "tell_" + kind))(say, q, *more)

    def tell_list(self, say, q):
        say.json({"sessions": [s.item() for s in self.sessions.values()], "next": None})

    def tell_events(self, say, q):
        say.fail(404, "NOTFOUND", "no")

    def tell_about(self, say, q, s):
        say.json(s.describe())

    def tell_lines(self, say, q, s):
        of = s.logs.get(q["sub"], []) if "sub" in q else s.lines
        after = int(q.get("after", 0))
        say.lines(of[after:], len(of))

    def tell_file(self, say, q, s, name):
        if name in s.files:
            say.whole(s.files[name])
        else:
            say.fail(404, "NOTFOUND", "no such file")

    def tell_put(self, say, q, s, parts, body):
        say.fail(409, "CONFLICT", "the log has another length")


def claude_line(sid, nr, text="hi", cwd="/proj/ledger", **more):
    """Returns an entry of a Claude session whose parent is the entry before it."""
    uuid = "bbbbbbbb-0000-4000-8000-%012d"
    return json.dumps({"type": "user", "uuid": uuid % nr, "parentUuid": uuid % (nr - 1) if nr > 1 else None,
                       "sessionId": sid, "cwd": cwd, "timestamp": "2026-01-01T00:00:00.000Z",
                       "message": {"role": "user", "content": text}, **more}).encode()


def pi_lines(sid, *texts, cwd="/proj/ledger"):
    """Returns the lines of a pi session, beginning with its header."""
    time = "2026-01-01T00:00:00.000Z"
    return [json.dumps({"type": "session", "version": 3, "id": sid, "timestamp": time, "cwd": cwd}).encode()] + [
        json.dumps({"type": "message", "id": "%08x" % (i + 1), "parentId": "%08x" % i if i else None, "timestamp": time,
                    "message": {"role": "user", "content": x}}).encode() for i, x in enumerate(texts)]
