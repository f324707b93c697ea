"""A server with its own directories, and ways to send it requests: as a program, or byte by byte."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
sys.dont_write_bytecode = True
import scratch  # noqa: E402

API = "/api/v1"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """Returns the error's code, or None if there is no error."""
        try:
            return self.json["error"]["code"]
        except (ValueError, KeyError, TypeError):
            return None


class World:
    """A home with sessions, and grove to work on them."""

    def __init__(self, grove):
        self.grove = str(grove)
        self.place = scratch.Scratch("server")
        self.store = self.place.work / "store"
        self.store.mkdir()
        self.servers = []

    def run(self, *words, text=None, check=True, store=True, **env):
        args = [self.grove, *map(str, words)] + (["--store", str(self.store)] if store else [])
        done = subprocess.run(args, input=text, capture_output=True, text=True, cwd=self.place.work,
                              env=self.place.environment(**env))
        if check and done.returncode:
            raise AssertionError(f"{args}: {done.returncode}: {done.stderr}{done.stdout}")
        return done

    def new(self, *entries, dialect="pi", cwd="/proj/ledger", store=None, **options):
        words = ["new", "--dialect", dialect, "--cwd", cwd, "--now", "--json"]
        for k, v in options.items():
            words += [f"--{k}", v]
        where = ["--store", store or str(self.store)]
        made = json.loads(self.run(*words, *where, store=False).stdout)
        ids = []
        if entries:
            what = made["path"] or made["id"]
            ids = self.run("append", what, *where, store=False,
                           text="".join(json.dumps(e) + "\n" for e in entries)).stdout.split()
        return made["id"], made["path"], ids

    def serve(self, *options, store=True, wait=True, **env):
        server = Server(self, options, store, env, wait)
        self.servers.append(server)
        return server

    def close(self):
        for s in self.servers:
            s.stop()
        self.place.remove()


class Server:
    def __init__(self, world, options, store, env, wait):
        words = [world.grove, "serve", *map(str, options)]
        if not any(str(o).startswith("--listen") for o in options):
            words += ["--listen", "127.0.0.1:0"]
        if store:
            words += ["--store", str(world.store)]
        self.err = open(world.place.tmp / f"err{len(world.servers)}", "w+")
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=self.err, text=True,
                                        cwd=world.place.work, env=world.place.environment(**env))
        self.url = self.process.stdout.readline().strip() if wait else ""
        found = re.search(r":(\d+)/", self.url)
        self.port = int(found.group(1)) if found else 0
        self.host = f"127.0.0.1:{self.port}"
        self.code = self.url.partition("#t=")[2]

    def errors(self):
        self.err.flush()
        self.err.seek(0)
        return self.err.read()

    def stop(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the server did not stop") from None
        finally:
            self.process.stdout.close()
        return self.process.returncode

    def ask(self, method, path, body=None, headers=None, plain=False):
        """Sends one request. A request that changes something gets the headers that it needs, unless `plain`."""
        all_headers = {"Host": self.host}
        if method not in ("GET", "HEAD") and not plain:
            all_headers.update({"Origin": f"http://{self.host}", "X-Grove": "1"})
        data = body
        if body is not None and not isinstance(body, (bytes, str)):
            data = json.dumps(body)
        if data is not None and not plain:
            all_headers["Content-Type"] = "application/json"
        all_headers.update(headers or {})
        all_headers = {k: v for k, v in all_headers.items() if v is not None}
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            c.putrequest(method, path if path.startswith("/") else f"{API}/{path}", skip_host=True,
                         skip_accept_encoding=True)
            if data is not None:
                data = data.encode() if isinstance(data, str) else data
                all_headers.setdefault("Content-Length", str(len(data)))
            for k, v in all_headers.items():
                c.putheader(k, v)
            c.endheaders(data)
            r = c.getresponse()
            return Answer(r.status, r.headers, r.read())
        finally:
            c.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def raw(self, data, wait=3.0, pause=None):
        """Sends bytes, and returns what comes until the other side closes or `wait` seconds are over."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            got = b""
            try:
                if pause is None:
                    s.sendall(data)
                else:
                    for b in data:
                        s.sendall(bytes([b]))
                        time.sleep(pause)
                while True:
                    part = s.recv(65536)
                    if not part:
                        return got, True
                    got += part
            except (socket.timeout, TimeoutError):
                return got, False
            except (ConnectionResetError, BrokenPipeError):
                return got, True

    def raw_status(self, data, **more):
        got, _ = self.raw(data, **more)
        return int(got.split(b" ", 2)[1]) if got.startswith(b"HTTP/1.") else 0


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


class Suite:
    """Cases are functions whose names are sentences; each gets a World of its own."""

    def __init__(self):
        self.cases = []

    def case(self, fn):
        self.cases.append(fn)
        return fn

    def main(self):
        grove = pathlib.Path(sys.argv[1]).resolve()
        only = sys.argv[2] if len(sys.argv) > 2 else ""
        failed = passed = 0
        if not (grove.parent / "grove-serve").exists():
            print("this build has no server")
            sys.exit(77)
        for fn in self.cases:
            name = fn.__name__.replace("_", " ")
            if only not in name:
                continue
            world = World(grove)
            why = None
            try:
                fn(world)
            except Exception as e:  # a case that raises an exception has failed
                import traceback
                why = "".join(traceback.format_exception(e)[-3:])
            try:
                world.close()
            except AssertionError as e:
                why = why or str(e)
            for s in world.servers:
                if s.process.returncode not in (0, None) and not getattr(s, "may_fail", False) and not why:
                    why = f"the server ended with {s.process.returncode}: {s.errors()[-2000:]}"
            if why:
                failed += 1
                print(f"FAIL {name}\n{why}")
                for s in world.servers[:1]:
                    print(s.errors()[-1500:])
            else:
                passed += 1
                print(f"ok {name}")
            sys.stdout.flush()
        print(f"{passed} passed, {failed} failed")
        sys.exit(1 if failed else 0)


def same(a, b):
    assert a == b, f"{a!r} is not {b!r}"


def wait_until(fn, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if fn():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")
