"""
What grove keeps between runs, and what the first run costs: the program itself
beside the other stores, for bench/run --kept.

Every figure of grove is a whole process, from before its start to after its end,
and its answer is compared with one that nothing kept had a part in. A first run
finds an empty cache directory, a warm one what the run before it left. The
others' figures are what their own programs say of the work alone, without their
start; only ccusage, which says nothing, is a whole process, too.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

GROVE = "grove"


@dataclass(eq=False)
class Work:
    what: str
    corpus: str
    args: tuple        # of grove
    place: tuple       # the variable that tells where the sessions are, and its value
    asked: dict        # peer: how many times faster grove is to be, first and warm; None: not said
    op: str            # as the harness calls it
    count: str = ""    # the manifest's name, if the answer is a list

    def regex(self, peer):
        return f"^{self.op} {peer.replace('.', '[.]')} {self.corpus}$"


def lists(kind, dialect, asked):
    return Work("list", f"{kind}-{dialect}", ("ls", "--all", "--json"), (PLACE[dialect], f"{kind}-{dialect}"), asked,
                "listall" if dialect == "pi" else "list", f"{kind}-{dialect}/manifest-{dialect}.json")


def sums(kind, asked):
    return Work("usage by day", f"{kind}-claude", ("usage", "--json"), (PLACE["claude"], f"{kind}-claude"), asked, "usage-daily")


PLACE = {"pi": "PI_CODING_AGENT_DIR", "claude": "CLAUDE_CONFIG_DIR"}
WORKS = (
    lists("b", "pi", {"pi-1.5.0": (15, 150), "omp-18.2.3": (None, None)}),
    lists("c", "pi", {"pi-1.5.0": (15, 80), "omp-18.2.3": (None, None)}),
    lists("b", "claude", {"claude-sdk": (15, None)}),
    lists("c", "claude", {"claude-sdk": (15, None)}),
    sums("b", {"ccusage-20": (5, 30)}),
    sums("c", {"ccusage-20": (None, None)}),
    Work("open, context", "pi-1200M", ("context", "--json", "single/pi-1200M.jsonl"), (PLACE["pi"], "single/pi-1200M.jsonl"),
         {"pi-1.5.0": (None, None), "omp-18.2.3": (None, None)}, "open"),
)


def peer_ms(r):
    """What the harness' record says of the work."""
    inner = r.get("inner", {})
    if r["op"] == "open":
        return inner["open_ms"] + inner.get("context1_ms", inner["context_ms"])
    return inner.get("list_ms", inner.get("listall_ms", r["wall_ms"]))


class Kept:
    def __init__(self, program, peers, results):
        self.program, self.peers, self.results = os.path.abspath(program), peers, results
        self.corpus = os.environ.get("CORPUS") or sys.exit("set CORPUS to the directory of the harness' data")
        self.answers = {}
        self.tmp = tempfile.mkdtemp(dir=os.environ.get("BENCH_TMP"))

    def grove(self, work, *more):
        """(ms, memory, the answer) of one process."""
        args = [self.program, *(self.corpus + "/" + a if "/" in a else a for a in work.args), *more]
        env = {**os.environ, "HOME": self.tmp, "XDG_CACHE_HOME": self.tmp + "/cache", "NO_COLOR": "1",
               work.place[0]: f"{self.corpus}/{work.place[1]}"}
        with tempfile.TemporaryFile(dir=self.tmp) as out:
            begin = time.perf_counter()
            p = subprocess.Popen(args, env=env, stdout=out, cwd=self.tmp)
            _, status, used = os.wait4(p.pid, 0)
            took = (time.perf_counter() - begin) * 1e3
            p.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            answer = out.read()
        if p.returncode:
            sys.exit(f"{' '.join(args)}: exit status {p.returncode}")
        return took, used.ru_maxrss / 1024, answer

    def check(self, work, answer):
        digest = hashlib.sha256(answer).digest()
        if work not in self.answers:
            self.answers[work] = hashlib.sha256(self.grove(work, "--no-cache")[2]).digest()
            if work.count:
                self.check_list(work, json.loads(answer))
        if digest != self.answers[work]:
            sys.exit(f"{work.what} of {work.corpus}: another answer than without a cache")

    def check_list(self, work, answer):
        with open(f"{self.corpus}/{work.count}") as f:
            manifest = json.load(f)
        counts = manifest["counts"]
        said = sum(n for kind, n in counts.items() if kind.startswith("message/"))
        if len(answer) != len(manifest["sessions"]) or (said and sum(s["messageCount"] for s in answer) != said):
            sys.exit(f"{work.what} of {work.corpus}: not as many sessions or messages as there are")

    def note(self, **record):
        # the harness has written to it meanwhile
        self.results.seek(0, os.SEEK_END)
        self.results.write(json.dumps(record) + "\n")
        self.results.flush()

    def run_grove(self, work, first, warm):
        for state in (*["first"] * first, *["warm"] * warm):
            if state == "first":
                shutil.rmtree(self.tmp + "/cache", ignore_errors=True)
            took, mb, answer = self.grove(work)
            self.check(work, answer)
            self.note(op=work.op, corpus=work.corpus, peer=GROVE, state=state, rc=0, wall_ms=took, rss_mb=mb)

    def run_peers(self, work):
        for peer in work.asked:
            # forks are other work, and take minutes
            subprocess.run([sys.executable, self.peers + "/bench.py", "--only", work.regex(peer), "--reps", "1", "--out", self.results.name],
                           env={**os.environ, "FORK": "0"}, check=True, stdout=sys.stderr)

    def round(self, only, first=3, warm=5):
        for work in WORKS:
            if only.search(f"{work.what} {work.corpus}") and os.path.exists(f"{self.corpus}/{work.place[1]}"):
                self.run_peers(work)
                self.run_grove(work, first, warm)

    def close(self):
        shutil.rmtree(self.tmp, ignore_errors=True)


def least(records, work, peer, state=None):
    of = [r for r in records if (r["op"], r["corpus"], r["peer"], r.get("state")) == (work.op, work.corpus, peer, state) and not r["rc"]]
    return min((r["wall_ms"] if peer == GROVE else peer_ms(r) for r in of if "error" not in r.get("inner", {})), default=None)


def lines(records):
    """One for each work, state and peer: grove, the other, asked, reached."""
    for work in WORKS:
        for i, state in enumerate(("first", "warm")):
            mine = least(records, work, GROVE, state)
            for peer, asked in work.asked.items():
                theirs = least(records, work, peer)
                if mine and theirs:
                    yield work, state, mine, peer, theirs, asked[i], theirs / mine
