"""oh-my-pi 18.2 under Bun: files that both read, and random operations that both carry out."""
import pathlib
import re

import case
import files
import known
import omp_files
import packages
import pi
import pi_files

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = ".omp/agent/sessions/--w-project--"
CWD = "/w/project"
INTRODUCED = re.compile(r"\A.*?(?=<summary>)", re.S)


def place(grove, found, book):
    at = case.Place(grove, "omp", book)
    at.folder = at.scratch.home / FOLDER
    at.folder.mkdir(parents=True)
    home = at.scratch.root / "theirs"
    at.theirs = home / FOLDER
    at.theirs.mkdir(parents=True)
    # It has its own home, because it notes there which session a terminal used last.
    at.start([found.path(packages.BUN), str(HERE / "omp.ts"), found.path(packages.OMP)], HOME=str(home))
    return at


# --- reading -----------------------------------------------------------------

def plain(context):
    """Keeps the members that both report; members that are not set may be missing."""
    if case.is_error(context):
        return context
    keys = ("messages", "thinkingLevel", "models", "injectedTtsrRules", "mode", "modeData", "serviceTier")
    return {k: context[k] for k in keys if context.get(k) not in (None, [], {})}


def for_a_model(messages):
    """Removes the introductions of summaries, which each program words differently, and the
    times of messages that are only made for the model.
    """
    if case.is_error(messages):
        return messages
    out = []
    for message in messages:
        if isinstance(message.get("timestamp"), int) and message["timestamp"] >= files.epoch(10 ** 10):
            message = {k: v for k, v in message.items() if k != "timestamp"}
        if isinstance(message.get("content"), list):
            message["content"] = [{**b, "text": INTRODUCED.sub("", b["text"])} if isinstance(b, dict) and isinstance(b.get("text"), str)
                                  and "<summary>" in b["text"] else b for b in message["content"]]
        out.append(message)
    return out


def ask_grove(at, path, leaves):
    context = at.ask("context", path)
    tree = at.ask("tree", path, "--flat")
    llm = at.ask("context", path, "--llm")
    answers = {
        "leaf": context if case.is_error(context) else context.get("leaf"),
        "context": plain(context),
        "llm": for_a_model(llm if case.is_error(llm) else llm["messages"]),
        "tree": tree if case.is_error(tree) else pi.rows_of(tree),
        "name": at.ask("name", path).get("name"),
    }
    for leaf in leaves:
        answers["context at " + leaf] = plain(at.ask("context", path, "--leaf", leaf))
    return answers


def ask_omp(at, path, leaves):
    copy = at.write(at.theirs / path.name, path.read_bytes())
    answers = at.driver.ask(ask="read", path=str(copy), leaves=leaves, timeout=30)
    copy.unlink(missing_ok=True)
    if case.is_error(answers):
        return answers
    for q in answers:
        if q.startswith("context"):
            answers[q] = plain(answers[q])
    answers["llm"] = for_a_model(answers["llm"])
    return answers


def compare_file(at, file, leaves, kind):
    path = at.folder / "2024-03-01T09-00-00-000Z_s.jsonl"

    def with_file(ask):
        def asked(some):
            at.write(path, some.bytes())
            try:
                return ask(at, path, leaves)
            finally:
                path.unlink()
        return asked
    case.compare_answers(at, kind, file, with_file(ask_omp), with_file(ask_grove), known.OMP)


def reader(at, rng):
    """Compares how both read a random file."""
    one_file(at, rng, omp_files.session(rng, rng.random() < 0.5), "reader")


def variant(at, rng):
    """Compares how both read a changed session of grove's tests."""
    one_file(at, rng, pi_files.variant(rng, "compat/xcsh/*/in/**/*.jsonl", "golden/xcsh*/*.case", "golden/omp*/*.case"),
             "variant")


def one_file(at, rng, file, kind):
    leaves = pi.some_leaves(rng, file)
    try:
        compare_file(at, file, leaves, kind)
    except case.Different as wrong:
        leaves = [leaf for leaf in leaves if leaf in wrong.question]
        raise case.smaller(at, file, lambda f: compare_file(at, f, leaves, kind), wrong)


def place_of(at, rng):
    """Compares where sessions of a random directory are. Each program has its own home, so
    only directories outside of it have the same place for both.
    """
    cwd = files.directory(rng, [at.scratch.work, at.scratch.root, pathlib.Path(at.env["TMPDIR"])])
    pi.same_place(at, cwd, at.driver.ask(ask="place", cwd=cwd), at.ask("new", "--dialect", "omp", "--cwd", cwd))


# --- writing -----------------------------------------------------------------

class Session:
    """One session that both write in turn."""

    def __init__(self, at, rng):
        self.at, self.rng = at, rng
        messages = [pi_files.user(rng, 0), pi_files.assistant(rng, 1)]
        if rng.random() < 0.5:
            made = at.driver.ask(ask="create", cwd=CWD, dir=str(at.folder), messages=messages)
            self.path = pathlib.Path(at.peer_did("create", made)["path"])
        else:
            made = at.ask("new", "--dialect", "omp", "--cwd", CWD)
            self.path = pathlib.Path(at.peer_did("new", made)["path"])
            for message in messages:
                self.append({"type": "message", "message": message})

    def append(self, entry, parent=None):
        more = ["--parent", parent] if parent else []
        return self.at.must("append", self.path, "--cwd", CWD, *more, stdin=pi.driver.text(entry).encode() + b"\n").strip()

    def by_omp(self, step):
        step = dict(step)
        parent = step.pop("parent", None)
        self.at.peer_did(step["type"], self.at.driver.ask(ask="take", path=str(self.path), parent=parent, step=step))

    def by_grove(self, step):
        step = dict(step)
        parent = step.pop("parent", None)
        if step["type"] == "name":
            self.at.must("name", self.path, "--", step["name"])
        elif step["type"] == "label":
            self.at.must("label", "--", self.path, step["targetId"], *([step["label"]] if "label" in step else []))
        elif step["type"] == "branch_summary":
            self.at.must("leaf", self.path, step["at"] or "root", "--summary", step["summary"])
        else:
            self.append(step, parent)


def random_step(rng, entries, ms):
    ids = [e["id"] for e in entries]
    kind, own = omp_files.body(rng, ms, ids, ids)
    if kind in ("session_init", "reset_boundary", "unheard_of"):
        return {"type": "name", "name": files.spoken(rng, 4)}
    step = {"type": kind, **own}
    if kind == "label":
        step["targetId"] = rng.choice(ids)
        if "label" in step:
            step["label"] = files.spoken(rng, 3)
    if kind == "branch_summary":
        return {"type": kind, "at": rng.choice([rng.choice(ids[:-1] or [None]), None]), "summary": files.spoken(rng)}
    if kind == "compaction":
        step["firstKeptEntryId"] = rng.choice(ids)
    if rng.random() < 0.2 and kind in ("message", "custom", "custom_message"):
        step["parent"] = rng.choice(ids + ["root"])
    return step


def entries_of(path):
    return [e for e in pi.entries_of(path) if e.get("type") not in ("title", "title_change")]


def same_reading(at, path, what):
    theirs, ours = ask_omp(at, path, []), ask_grove(at, path, [])
    if case.is_error(theirs):
        raise case.Different(f"reading after {what}", theirs, ours, path.read_bytes())
    last = pi.entries_of(path)[-1]
    if last.get("customType") == "grove.leaf" and theirs["leaf"] == last["id"]:
        theirs["leaf"] = last["parentId"]
    short = [e["shortSummary"] for e in pi.entries_of(path) if e.get("shortSummary")]
    if theirs["name"] is None and short:
        theirs["name"] = short[-1]
        at.book.add(at.book.known, (at.peer, known.SHORT_SUMMARY.row))
    for q in ("leaf", "context", "llm", "tree", "name"):
        at.book.add(at.book.answers, (at.peer, "program"))
        if not case.equal(theirs[q], ours[q]):
            raise case.Different(f"{q} after {what}", theirs[q], ours[q], path.read_bytes())


def fork(session, what):
    at, rng = session.at, session.rng
    leaf = rng.choice(entries_of(session.path))["id"] if rng.random() < 0.6 else None
    if rng.random() < 0.5:
        if leaf:
            answer = at.driver.ask(ask="branch", path=str(session.path), leaf=leaf)
        else:
            answer = at.driver.ask(ask="fork", path=str(session.path), cwd=CWD, dir=str(at.folder))
        made = at.peer_did("fork", answer)["path"]
    else:
        made = at.peer_did("fork", at.ask("fork", session.path, *(["--leaf", leaf] if leaf else [])))["path"]
    made = pathlib.Path(made)
    if made.exists():
        same_reading(at, made, what)
        made.unlink()


def program(at, rng):
    """Random operations on one file, done by the two programs in turn."""
    session = Session(at, rng)
    done = []
    try:
        for number in range(rng.randrange(4, 20)):
            step = random_step(rng, entries_of(session.path), 1000 * number)
            by = rng.choice(["omp", "grove"])
            done.append({"by": by, **step})
            getattr(session, "by_" + by)(step)
            if rng.random() < 0.1:
                moved = rng.choice(entries_of(session.path))["id"]
                at.must("leaf", session.path, moved)
                done.append({"by": "grove", "leaf": moved})
            same_reading(at, session.path, f"step {number} ({step['type']} by {by})")
            if rng.random() < 0.15:
                fork(session, f"a fork after step {number}")
        pi.clean(at, session.path)
    except case.Different as wrong:
        wrong.program = done
        raise
    finally:
        session.path.unlink(missing_ok=True)


def large(rng, message):
    """Now and then makes a message so large that parts of it are stored elsewhere, or cut."""
    if not isinstance(message.get("content"), list) or rng.random() > 0.25:
        return
    if rng.random() < 0.7:
        data = "".join(rng.choice("ABab01+/") for _ in range(rng.choice([1020, 1023, 1024, 1025, 4000])))
        message["content"].append({"type": "image", "data": data + rng.choice(["", "=", "\n"]), "mimeType": rng.choice(["image/png", "image/x-odd"])})
    else:
        size = rng.choice([499952, 499953, 499999, 500000, 500001, 500002])
        end = rng.choice(["", "🙂", "x🙂🙂", "é", "\ud83d"])
        message["content"].append({"type": "text", "text": "x" * (size - len(end)) + end + rng.choice(["", "tail", "🙂" * 30])})


def same_lines(at, what, theirs, ours):
    """Compares what the two have written, with ids replaced by their order and without present times."""
    at.book.add(at.book.answers, (at.peer, "lines"))
    rows = []
    for path in (theirs, ours):
        entries = [e for e in pi.entries_of(path) if e.get("type") != "title"]
        names = {e["id"]: f"#{n}" for n, e in enumerate(entries)}
        told = pi.by_number(entries, names)
        rows.append([pi.MILLIS.sub("NOW", pi.NOW.sub("NOW", pi.driver.text(e))) for e in told])
    if rows[0] != rows[1]:
        line = next(i for i in range(max(map(len, rows))) if rows[0][i:i + 1] != rows[1][i:i + 1])
        raise case.Different(f"line {line} after {what}", rows[0][line:line + 1], rows[1][line:line + 1], ours.read_bytes()[:100000])


def lines(at, rng):
    """Both take the same steps, each on a file of its own."""
    messages = [pi_files.user(rng, 0), pi_files.assistant(rng, 1)]
    done = []
    a, b = Session.__new__(Session), Session.__new__(Session)
    for session in (a, b):
        session.at, session.rng = at, rng
    a.path = pathlib.Path(at.peer_did("create", at.driver.ask(ask="create", cwd=CWD, dir=str(at.folder), messages=messages))["path"])
    b.path = pathlib.Path(at.peer_did("new", at.ask("new", "--dialect", "omp", "--cwd", CWD))["path"])
    for message in messages:
        b.append({"type": "message", "message": message})
    try:
        same_lines(at, "the first messages", a.path, b.path)
        for number in range(rng.randrange(2, 12)):
            step = random_step(rng, [{"id": n} for n in range(len(entries_of(a.path)))], 1000 * number)
            if step["type"] == "message":
                large(rng, step["message"])
            done.append(step)
            a.by_omp(pi.by_position(step, entries_of(a.path)))
            b.by_grove(pi.by_position(step, entries_of(b.path)))
            same_lines(at, f"step {number} ({step['type']})", a.path, b.path)
    except case.Different as wrong:
        wrong.program = done
        raise
    finally:
        for session in (a, b):
            session.path.unlink(missing_ok=True)


KINDS = {"reader": (reader, 1.0), "place": (place_of, 0.2), "variant": (variant, 0.5), "lines": (lines, 0.3), "program": (program, 0.3)}
