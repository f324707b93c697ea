"""Runs a peer as a process that stays: each question is a line of JSON, and so is each answer."""
import json
import os
import select
import subprocess
import time

LARGE = 2 ** 53


def _whole(text):
    """Converts an integer to a double: losing digits beyond that is a known difference."""
    value = int(text)
    return value if -LARGE <= value <= LARGE else int(float(text)) if len(text) < 300 else float("inf")


def _fraction(text):
    value = float(text)
    return int(value) if value.is_integer() else value


def parse(text):
    """Parses JSON so that numbers can be compared: 1.0 is 1."""
    return json.loads(text, parse_int=_whole, parse_float=_fraction)


def text(value, **more):
    """Returns JSON on one line, with unpaired surrogates as escapes, as JavaScript writes them."""
    out = json.dumps(value, ensure_ascii=False, separators=(",", ":"), **more)
    return "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) < 0xE000 else c for c in out)


def canonical(value):
    """Returns a text that is equal for equal values; true is not 1."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True)


class Driver:
    def __init__(self, argv, env, cwd):
        self.argv, self.env, self.cwd = argv, env, cwd
        self.process = None
        self.rest = b""

    def _start(self):
        self.process = subprocess.Popen(self.argv, env=self.env, cwd=self.cwd, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.rest = b""

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                pipe.close()
            self.process = None

    def ask(self, timeout=60, **question):
        """Returns the answer, or {"error": …}, also if the peer ends or does not answer in time."""
        if not self.process:
            self._start()
        try:
            self.process.stdin.write(text(question).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return self._ended()
        limit = time.monotonic() + timeout
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, limit - time.monotonic()))
            if not ready:
                self.close()
                return {"error": "does not come back"}
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                return self._ended()
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return parse(line)

    def _ended(self):
        said = self.process.stderr.read().decode("utf-8", "replace")[-2000:]
        self.close()
        return {"error": "the program ended: " + said}
