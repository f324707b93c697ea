"""ccusage: tokens and costs of random collections of transcripts, by day and by model."""
import copy
import json
import shutil
import subprocess
import uuid

import case
import claude_files
import driver
import files
import known
import packages
import sdk

MODELS = claude_files.MODELS + ["claude-3-5-haiku-20241022", "<synthetic>", "some-model-of-nobody"]


class Place(case.Place):
    def __init__(self, grove, found, book):
        super().__init__(grove, "ccusage", book)
        self.program_of_theirs = found.path(packages.CCUSAGE)
        self.config = self.scratch.home / ".claude"
        self.env["CLAUDE_CONFIG_DIR"] = str(self.config)

    def theirs(self):
        """Returns ccusage's rows by day, each with its models."""
        done = subprocess.run([self.program_of_theirs, "claude", "daily", "--json", "--offline", "--breakdown", "--timezone", "UTC"],
                              env=self.env, cwd=self.scratch.work, capture_output=True, timeout=120)
        if done.returncode:
            raise case.Different("ccusage", done.stderr.decode(), None)
        return driver.parse(done.stdout)


def place(grove, found, book):
    return Place(grove, found, book)


def numbers(rng):
    out = {"input_tokens": rng.randrange(2000), "output_tokens": rng.randrange(1000)}
    if rng.random() < 0.9:
        out["cache_creation_input_tokens"] = rng.choice([0, rng.randrange(50000)])
        out["cache_read_input_tokens"] = rng.choice([0, rng.randrange(90000)])
    if rng.random() < 0.3:
        whole = out.get("cache_creation_input_tokens", 0)
        hour = rng.randrange(whole + 1)
        out["cache_creation"] = {"ephemeral_5m_input_tokens": whole - hour, "ephemeral_1h_input_tokens": hour}
    if rng.random() < 0.3:
        out["service_tier"] = "standard"
    return out


def spend(file, rng):
    """Gives the replies random token counts and costs; the lines of one reply mostly repeat them."""
    of_reply = {}
    for record in file.entries():
        if record.get("type") != "assistant":
            continue
        message = record["message"]
        reply = of_reply.setdefault(message["id"], {
            "usage": numbers(rng), "model": rng.choice(MODELS), "day": rng.randrange(5), "request": rng.random() < 0.9,
            "name": rng.random() < 0.95, "cost": rng.choice([None] * 9 + [0.5, 0]), "error": rng.random() < 0.05})
        message["usage"] = dict(reply["usage"]) if rng.random() < 0.9 else numbers(rng)
        message["model"] = reply["model"]
        record["timestamp"] = files.iso(file.clock.next() + reply["day"] * 86400000)
        if not reply["request"]:
            del record["requestId"]
        if not reply["name"]:
            del message["id"]
        if reply["cost"] is not None:
            record.update(costUSD=reply["cost"], version="1.0.50")      # later releases do not write it
        if reply["error"]:
            record["isApiErrorMessage"] = True


# Shapes of replies that only matter to readers of conversations; spend() makes those that matter here.
UNBILLED = ("again_later", "odd_reply", "odd_record")


def corpus(at, rng):
    """Creates projects with sessions, sub-agents, and copies of parts of other sessions: {path: transcript}."""
    told = {}
    for _ in range(rng.randrange(1, 4)):
        cwd = f"/w/p{rng.randrange(5)}"
        folder = at.config / "projects" / sdk.project_key(cwd)
        for _ in range(rng.randrange(1, 6)):
            session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
            file = claude_files.transcript(rng, session, cwd, rng.random() < 0.3, without=("again", *UNBILLED))
            file.spelling = None                    # ccusage searches for words before it parses a line
            spend(file, rng)
            if told and rng.random() < 0.3:         # a fork repeats replies
                source = rng.choice(list(told.values()))
                file.lines[:0] = copy.deepcopy(source.entries())
            told[folder / f"{session}.jsonl"] = file
            if rng.random() < 0.2:
                agent = claude_files.transcript(rng, session, cwd, False, without=UNBILLED)
                spend(agent, rng)
                for record in agent.entries():
                    record.update(isSidechain=True, agentId="a0123456789abcdef")
                told[folder / session / "subagents" / "agent-a0123456789abcdef.jsonl"] = agent
    return told


def mend(told):
    """Removes what ccusage is known to count differently, and returns the rows it concerns."""
    rows = set()
    for file in told.values():
        if file.bom:
            file.bom = False
            rows.add(known.BOM_OF_BILL.row)
        for record in file.entries():
            if record.get("type") == "assistant" and "requestId" not in record and "id" in record["message"]:
                record["requestId"] = "req_of_" + record["message"]["id"]
                rows.add(known.NO_REQUEST.row)
        for at, line in enumerate(file.lines):
            if isinstance(line, dict) and "\ud83d" in json.dumps(line, ensure_ascii=False):
                file.lines[at] = json.loads(json.dumps(line, ensure_ascii=False).replace("\ud83d", ""))
                rows.add(known.HALF_PAIR.row)
    return rows


def row(input, output, read, write, cost):
    return {"input": input, "output": output, "cacheRead": read, "cacheWrite": write, "cost": round((cost or 0) * 1e9)}


def their_row(r):
    return row(r["inputTokens"], r["outputTokens"], r["cacheReadTokens"], r["cacheCreationTokens"], r.get("cost", r.get("totalCost")))


def our_rows(answer):
    return {r["key"]: row(r["input"], r["output"], r["cacheRead"], r["cacheWrite"], r["cost"]) for r in answer["rows"]}


def add(a, b):
    return {k: a.get(k, 0) + b[k] for k in b}


def theirs(at, told):
    """Runs ccusage on these transcripts and returns its rows by day and by model."""
    for path, file in told.items():
        at.write(path, file.bytes())
    answer = at.theirs()
    models = {}
    for day in answer["daily"]:
        for model in day["modelBreakdowns"]:
            models[model["modelName"]] = add(models.get(model["modelName"], {}), their_row(model))
    return {"usage by day": {d["date"]: their_row(d) for d in answer["daily"]}, "usage by model": models}


def ours(at):
    by_model = our_rows(at.ask("usage", "--by", "model"))
    if by_model.pop("<synthetic>", None):
        at.book.add(at.book.known, (at.peer, known.SYNTHETIC.row))
    return {"usage by day": our_rows(at.ask("usage", "--by", "day")), "usage by model": by_model}


def totals(at, rng):
    """A collection of transcripts, counted by both."""
    shutil.rmtree(at.config, ignore_errors=True)
    told = corpus(at, rng)
    a, b = theirs(at, told), ours(at)
    at.book.add(at.book.answers, (at.peer, "totals"), sum(map(len, b.values())))
    if case.equal(a, b):
        return
    kept = at.scratch.root / "corpus.tar"
    subprocess.run(["tar", "cf", kept, "-C", at.config, "projects"], check=True)
    for row_of_docs in mend(told):
        at.book.add(at.book.known, (at.peer, row_of_docs))
    a = theirs(at, told)
    for question in a:
        for key in sorted({**a[question], **b[question]}):
            x, y = a[question].get(key), b[question].get(key)
            if not case.equal(x, y):
                raise case.Different(f"{question}: {key}", x, y, kept.read_bytes())


KINDS = {"totals": (totals, 0.5)}
