"""Runs `grove mcp` at the other end of a pipe, with sessions for it to read."""
import json
import os
import pathlib
import select
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
sys.dont_write_bytecode = True
import scratch  # noqa: E402

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
          "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}


class World(scratch.Scratch):
    def __init__(self, grove):
        super().__init__("mcp")
        self.grove = os.path.abspath(grove)
        self.env = self.environment()

    def run_grove(self, *words, stdin=b""):
        status, out, err = self.run([self.grove, *words], self.env, stdin)
        assert status == 0, (words, status, out, err)
        return out.decode()

    def session(self, messages, dialect="pi"):
        """Creates a session with these messages, each (role, text); returns its path."""
        made = json.loads(self.run_grove("new", "--dialect", dialect, "--cwd", str(self.work), "--json",
                                         *(["--now"] if dialect == "pi" else [])))
        lines = [json.dumps({"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]})
                 for role, text in messages]
        self.run_grove("append", made["path"], stdin=("\n".join(lines) + "\n").encode())
        return made["path"]


class Server:
    def __init__(self, world, *words, begin="2025-11-25"):
        self.process = subprocess.Popen([world.grove, "mcp", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=world.env, cwd=world.work)
        self.buffer = b""
        self.next = 0
        self.version = begin
        if begin and begin < "2026":
            self.begun = self.ask("initialize", {"protocolVersion": begin, "capabilities": {},
                                                 "clientInfo": {"name": "test", "version": "1"}})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def line(self, seconds=30):
        """Returns the next line, or None if none comes in time or at all."""
        end = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        self.size = len(line)
        return json.loads(line)

    def request(self, method, params=None):
        self.next += 1
        message = {"jsonrpc": "2.0", "id": self.next, "method": method}
        if self.version and self.version >= "2026":
            params = dict(params or {}, _meta=MODERN)
        if params is not None:
            message["params"] = params
        self.send(message)
        return self.next

    def ask(self, method, params=None):
        asked = self.request(method, params)
        answer = self.line()
        assert answer and answer["id"] == asked, answer
        return answer

    def call(self, tool, **args):
        """Returns the text of a tool's answer, and whether the tool failed."""
        result = self.ask("tools/call", {"name": tool, "arguments": args})["result"]
        assert [c["type"] for c in result["content"]] == ["text"]
        return result["content"][0]["text"], result["isError"]

    def read(self, tool, **args):
        text, failed = self.call(tool, **args)
        assert not failed, text
        return json.loads(text)

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(30)
        self.process.stdout.close()
        return status


def run(cases, grove):
    """Runs each case, a function, with a world of its own. Prints TAP."""
    failed = 0
    for nr, case in enumerate(cases, 1):
        world = World(grove)
        try:
            case(world)
            print(f"ok {nr} - {case.__doc__}")
        except Exception as why:  # noqa: BLE001
            import traceback
            failed += 1
            print(f"not ok {nr} - {case.__doc__}")
            print("# " + "".join(traceback.format_exception(why)).replace("\n", "\n# "))
        world.remove()
    print(f"1..{len(cases)}")
    return failed != 0
