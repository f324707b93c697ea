"""Two machines: one runs a server, and the other pushes to it and pulls from it."""
import json
import os
import pathlib
import subprocess
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from world import Suite, World, assistant, same, user, wait_until  # noqa: E402, F401
import scratch  # noqa: E402


class Machine:
    """A machine: a home of its own. `store` None: the agents' own directories."""

    def __init__(self, grove, store=None):
        self.grove = str(grove)
        self.place = scratch.Scratch("machine")
        self.store = store.replace("HERE", str(self.place.work)) if store else None
        if self.store and ":" in self.store:
            self.run("store", "init", self.store, store=False)
        elif self.store:
            pathlib.Path(self.store).mkdir(parents=True, exist_ok=True)

    def words(self, *words, store=True):
        return [self.grove, *map(str, words)] + (["--store", self.store] if store and self.store else [])

    def run(self, *words, text=None, check=True, store=True, cwd=None, **env):
        done = subprocess.run(self.words(*words, store=store), input=text, capture_output=True, text=True,
                              cwd=cwd or self.place.work, env=self.place.environment(**env))
        if check and done.returncode:
            raise AssertionError(f"{words}: {done.returncode}: {done.stderr}{done.stdout}")
        return done

    def start(self, *words, **env):
        return subprocess.Popen(self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.place.work, env=self.place.environment(**env))

    def json(self, *words, **more):
        return json.loads(self.run(*words, "--json", **more).stdout)

    def new(self, dialect="pi", cwd="/proj/ledger", entries=()):
        made = self.json("new", "--dialect", dialect, "--cwd", cwd, *([] if dialect == "claude" else ["--now"]))
        self.append(made["path"] or made["id"], *(entries or (user("hi"), assistant("ho"))), cwd=cwd)
        return made["id"]

    def append(self, what, *entries, cwd=None, check=True):
        words = ["append", what] + (["--cwd", cwd] if cwd else [])
        return self.run(*words, text="".join(json.dumps(e) + "\n" for e in entries), check=check).stdout.split()

    def entries(self, sid):
        done = self.run("log", sid, "--json", check=False)
        return json.loads(done.stdout) if not done.returncode else []

    def ids(self, sid):
        return [i for i in (id_of(e) for e in self.entries(sid)) if i]

    def leaf(self, sid):
        return self.run("leaf", sid).stdout.strip()

    def serve(self, *options, port=0):
        p = subprocess.Popen(self.words("serve", "--quiet", "--listen", f"127.0.0.1:{port}", *options),
                             stdout=subprocess.PIPE, text=True, cwd=self.place.work, env=self.place.environment())
        url = p.stdout.readline().strip().rstrip("/")
        if not url:
            raise AssertionError(f"the server does not start: {p.wait()}")
        return p, url

    def remove(self):
        self.place.remove()


def id_of(entry):
    """Returns the entry's id; None if it only stores the leaf, or is metadata."""
    if entry.get("customType") == "grove.leaf":
        return None
    return entry.get("uuid") if "sessionId" in entry or "uuid" in entry else entry.get("id")


def parent_of(entry):
    return entry.get("parentUuid") if "uuid" in entry else entry.get("parentId")


def is_above(entries, old, new):
    """Returns whether `old` is the entry `new` or one of its ancestors."""
    parents = {(e.get("uuid") or e.get("id")): parent_of(e) for e in entries}
    while new and new != old:
        new = parents.get(new)
    return new == old or not old


def has_sync(grove):
    return (pathlib.Path(grove).resolve().parent / "grove-sync").exists() and \
        (pathlib.Path(grove).resolve().parent / "grove-serve").exists()


def totals(r):
    return r["pushed"], r["pulled"], r["branched"], r["unchanged"], r["failed"]


def logs(m):
    return sorted(p for p in m.place.root.rglob("*.jsonl"))


class Pair:
    """A client, and a server on another machine."""

    def __init__(self, grove):
        self.grove = grove
        self.machines, self.servers = [], []

    def machine(self, store=None):
        m = Machine(self.grove, store)
        self.machines.append(m)
        return m

    def two(self, here=None, there=None, *options):
        a, b = self.machine(here), self.machine(there)
        p, url = b.serve(*options)
        self.servers.append(p)
        return a, b, url

    def close(self):
        for p in self.servers:
            p.kill()
            p.wait()
            p.stdout.close()
        for m in self.machines:
            m.remove()


cases = []


def case(fn):
    cases.append(fn)
    return fn


def main(make):
    """Runs the cases whose names contain the words, each with a world of its own."""
    grove = os.path.realpath(sys.argv[1])
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    failed = passed = 0
    if not has_sync(grove):
        print("this build has no sync")
        sys.exit(77)
    for fn in cases:
        name = fn.__name__.replace("_", " ")
        if only not in name:
            continue
        w = make(grove)
        try:
            fn(w)
            passed += 1
            print(f"ok {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {name}\n{traceback.format_exc()[-1800:]}", flush=True)
        finally:
            w.close()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
