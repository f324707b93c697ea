"""Claude's Agent SDK: files that both read, sessions that both write."""
import datetime
import json
import os
import pathlib
import unicodedata
import uuid

import case
import claude_files
import driver
import files
import known
import packages

HERE = pathlib.Path(__file__).resolve().parent
NOW = datetime.datetime.now(datetime.timezone.utc).isoformat()      # times in files are earlier than this


def same(what, grove, sdk):
    if not case.equal(sdk, grove):
        raise case.Different(what, sdk, grove)


def project_key(cwd):
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)


class Place(case.Place):
    """A home with grove on one side and the SDK on the other."""

    def __init__(self, grove, found, book):
        super().__init__(grove, "sdk", book)
        self.config = self.scratch.home / ".claude"
        self.env["CLAUDE_CONFIG_DIR"] = str(self.config)
        self.cwd = str(self.scratch.work)
        self.folder = self.config / "projects" / project_key(self.cwd)
        self.start([found.path(packages.NODE), str(HERE / "sdk.mjs"), found.path(packages.SDK)])

    def clear(self):
        for path in sorted(self.folder.rglob("*"), reverse=True) if self.folder.exists() else []:
            path.rmdir() if path.is_dir() else path.unlink()

    def sdk(self, fn, *args):
        reply = self.driver.ask(ask=fn, args=args)
        if "error" in reply:
            raise case.Different(f"{fn}{args}", reply, "done")
        return reply["answer"]

    def json(self, *args):
        return driver.parse(self.must(*args, "--json"))

    def new(self, cwd=None):
        return self.json("new", "--dialect", "claude", "--cwd", cwd or self.cwd)

    def append(self, path, *entries, parent=None, cwd=None):
        lines = "".join(driver.text(e) + "\n" for e in entries)
        more = ["--parent", parent] if parent else []
        return self.must("append", "--dialect", "claude", "--cwd", cwd or self.cwd, path, *more, stdin=lines.encode()).split()

    def compare_messages(self, session, cwd=None):
        shown = self.sdk("getSessionMessages", session["id"], {"dir": cwd or self.cwd})
        ours = self.json("context", session["path"], "--mode", "sdk")
        self.book.add(self.book.answers, (self.peer, "program"), 2)
        same("messages", ours["entryIds"], [m["uuid"] for m in shown])
        same("contents", ours["messages"], [m["message"] for m in shown])

    def compare_lists(self, cwd=None):
        theirs = {s["sessionId"]: their_row(s) for s in self.sdk("listSessions", {"dir": cwd or self.cwd})}
        ours = {s["id"]: our_row(s) for s in self.json("ls", "--cwd", cwd or self.cwd)}
        self.book.add(self.book.answers, (self.peer, "program"))
        same("the list", ours, theirs)


def place(grove, found, book):
    return Place(grove, found, book)


def their_row(s):
    return {"name": s.get("customTitle"), "firstMessage": s.get("firstPrompt") or "(no messages)", "cwd": s.get("cwd")}


def our_row(s):
    return {"name": s.get("name"), "firstMessage": s["firstMessage"], "cwd": s["cwd"]}


# --- reading -----------------------------------------------------------------

def ask_sdk(at, session):
    reply = at.driver.ask(ask="getSessionMessages", args=[session, {"dir": at.cwd}])
    listed = at.driver.ask(ask="listSessions", args=[{"dir": at.cwd}])
    shown = reply.get("answer")
    rows = {s["sessionId"]: their_row(s) for s in listed.get("answer") or []}
    return {
        "messages": reply if shown is None else [m["uuid"] for m in shown],
        "contents": reply if shown is None else [m.get("message") for m in shown],
        "list": rows.get(session),
    }


def ask_grove(at, session, path):
    context = at.ask("context", path, "--mode", "sdk")
    listed = at.ask("ls", "--all")
    rows = {s["id"]: our_row(s) for s in listed} if isinstance(listed, list) else {}
    if not case.is_error(context):
        return {"messages": context["entryIds"], "contents": context["messages"], "list": rows.get(session)}
    return {"messages": context, "contents": context, "list": rows.get(session)}


def compare_file(at, file, kind):
    path = at.folder / f"{file.session}.jsonl"

    def with_file(ask):
        def asked(some):
            at.write(path, some.bytes())
            try:
                return ask()
            finally:
                path.unlink()
        return asked
    case.compare_answers(at, kind, file, with_file(lambda: ask_sdk(at, file.session)),
                         with_file(lambda: ask_grove(at, file.session, path)), known.SDK)


def reader(at, rng):
    """Compares how both read a random transcript."""
    at.clear()
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    one_file(at, claude_files.transcript(rng, session, at.cwd, rng.random() < 0.6), "reader")


def variant(at, rng):
    """Compares how both read a changed transcript of grove's tests."""
    at.clear()
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    one_file(at, claude_files.variant(rng, session, at.cwd), "variant")


def one_file(at, file, kind):
    try:
        compare_file(at, file, kind)
    except case.Different as wrong:
        raise case.smaller(at, file, lambda f: compare_file(at, f, kind), wrong)


def random_file(at, rng):
    at.clear()
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    if rng.random() < 0.4:
        return claude_files.variant(rng, session, at.cwd)
    return claude_files.transcript(rng, session, at.cwd, rng.random() < 0.3)


AGENT = "a0123456789abcdef"


def ask_agent(at, file, path):
    """Returns the messages of a sub-agent's own file: the SDK's and grove's."""
    at.write(at.folder / f"{file.session}.jsonl", driver.text(file.before).encode() + b"\n")
    at.write(path, file.bytes())
    reply = at.driver.ask(ask="getSubagentMessages", args=[file.session, AGENT, {"dir": at.cwd}])
    context = at.ask("context", path, "--mode", "sdk")
    path.unlink()
    shown = reply.get("answer")
    theirs = reply if shown is None else {"messages": [m["uuid"] for m in shown], "contents": [m.get("message") for m in shown]}
    ours = context if case.is_error(context) else {"messages": context["entryIds"], "contents": context["messages"]}
    return theirs, ours


def agent(at, rng):
    """Compares how both read a sub-agent's file."""
    file = random_file(at, rng)
    file.before = {"type": "user", "uuid": file.uuid(), "parentUuid": None, "isSidechain": False, "sessionId": file.session,
                   "cwd": at.cwd, "message": {"role": "user", "content": "go"}}
    for record in file.entries():
        if "uuid" in record:
            record.update(isSidechain=True, agentId=AGENT)
    path = at.folder / file.session / "subagents" / f"agent-{AGENT}.jsonl"
    path.parent.mkdir(parents=True)

    def compare(some):
        case.compare_answers(at, "agent", some, lambda f: ask_agent(at, f, path)[0], lambda f: ask_agent(at, f, path)[1], known.AGENT)
    try:
        compare(file)
    except case.Different as wrong:
        raise case.smaller(at, file, compare, wrong)


def place_of(at, rng):
    """The SDK finds what grove stores for a random directory, whatever name the directory is given."""
    cwd = files.directory(rng, [at.scratch.work, at.scratch.home])
    session = at.new(cwd)
    at.append(session["path"], user("hello"), cwd=cwd)
    found = at.sdk("listSessions", {"dir": cwd})
    at.book.add(at.book.answers, (at.peer, "place"))
    pathlib.Path(session["path"]).unlink()
    if os.path.realpath(cwd) != unicodedata.normalize("NFC", os.path.realpath(cwd)):
        at.book.add(at.book.known, (at.peer, known.COMPOSED.row))
    elif session["id"] not in [s["sessionId"] for s in found]:
        raise case.Different("the place of a session in " + cwd, [s["sessionId"] for s in found], session)


# --- writing -----------------------------------------------------------------

def user(text):
    return {"role": "user", "content": text}


def reply(*texts, calls=()):
    blocks = [{"type": "text", "text": t} for t in texts]
    blocks += [{"type": "tool_use", "id": c, "name": "Bash", "input": {"command": c}} for c in calls]
    return {"role": "assistant", "model": "m", "content": blocks, "usage": {"input_tokens": 1, "output_tokens": 1}}


def result(call):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": call}]}


def boundary(**metadata):
    return {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "level": "info",
            "compactMetadata": {"trigger": "manual", "preTokens": 1, **metadata}}


def summary(text):
    return {"type": "user", "isCompactSummary": True, "isVisibleInTranscriptOnly": True,
            "message": {"role": "user", "content": text}}


def conversation(place, rng):
    s = place.new()
    place.append(s["path"], user("hello"), reply("I think", "so"), user("go on"), reply("done"))
    place.compare_messages(s)
    place.compare_lists()
    place.must("name", s["path"], "A title")
    place.compare_lists()


def branches(place, rng):
    s = place.new()
    ids = place.append(s["path"], user("one"), reply("two"), user("three"), reply("four"))
    place.append(s["path"], user("another way"), reply("yes"), parent=ids[1])
    place.compare_messages(s)
    place.append(s["path"], user("from the start"), parent="root")
    place.compare_messages(s)


def parallel_calls(place, rng):
    s = place.new()
    place.append(s["path"], user("both"), reply("now", calls=["t1", "t2"]))
    calls = [json.loads(l)["uuid"] for l in open(s["path"])][-2:]
    place.append(s["path"], result("t1"), parent=calls[0])
    last = place.append(s["path"], result("t2"), parent=calls[1])
    place.append(s["path"], reply("that was it"), parent=last[0])
    place.compare_messages(s)


def compaction(place, rng):
    s = place.new()
    ids = place.append(s["path"], user("one"), reply("two"), user("three"), reply("four"))
    place.append(s["path"], boundary(), summary("all of it"), user("five"), reply("six"))
    place.compare_messages(s)
    anchor = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    kept = boundary(preservedSegment={"headUuid": ids[2], "anchorUuid": anchor, "tailUuid": ids[3]})
    place.append(s["path"], kept, {**summary("again"), "uuid": anchor}, user("seven"), reply("eight"))
    place.compare_messages(s)


def moved(place, rng):
    s = place.new()
    place.append(s["path"], user("hello"), reply("hi"))
    other = place.scratch.work / f"other{rng.getrandbits(32)}"
    other.mkdir()
    s = place.json("mv", s["path"], str(other))
    place.compare_lists(str(other))
    place.compare_messages(s, str(other))


def renamed_by_the_sdk(place, rng):
    s = place.new()
    place.append(s["path"], user("hello"), reply("hi"))
    place.sdk("renameSession", s["id"], "  Theirs ", {"dir": place.cwd})
    same("name", place.must("name", s["path"]).strip(), "Theirs")
    place.must("name", s["path"], "Ours")
    same("title", "Ours", place.sdk("getSessionInfo", s["id"], {"dir": place.cwd})["customTitle"])
    # both write the same lines
    lines = [json.loads(l) for l in open(s["path"]) if "custom-title" in l]
    same("members", list(lines[1]), list(lines[0]))


def numbered(path):
    """Returns the lines of a transcript without present times; ids are replaced by their order."""
    ids, out = {}, []

    def name(value):
        if isinstance(value, dict):
            return {k: name(v) for k, v in value.items()}
        if isinstance(value, list):
            return [name(v) for v in value]
        if isinstance(value, str) and len(value) == 36 and value.count("-") == 4:
            return ids.setdefault(value, f"#{len(ids)}")
        return value

    for line in open(path, encoding="utf-8"):
        out.append(name(json.loads(line)))
    for line in out:
        if str(line.get("timestamp", "")) > NOW:
            del line["timestamp"]
    return out


def forks(place, rng):
    s = place.new()
    ids = place.append(s["path"], user("one"), reply("two", calls=["t1"]), result("t1"), reply("four"))
    place.append(s["path"], user("another way"), reply("yes"), parent=ids[1])
    place.append(s["path"], {"type": "system", "subtype": "informational", "content": "x", "level": "info"},
                 {"type": "attachment", "attachment": {"type": "date", "date": "d"}}, user("more"), reply("sure"))
    for titled in False, True:
        if titled:
            place.must("name", s["path"], "A title")
        ours = place.json("fork", s["path"])
        theirs = place.sdk("forkSession", s["id"], {"dir": place.cwd})
        path = str(pathlib.Path(s["path"]).with_name(theirs["sessionId"] + ".jsonl"))
        place.compare_messages(ours)
        place.compare_messages({"id": theirs["sessionId"], "path": path})
        a, b = numbered(ours["path"]), numbered(path)
        same("lines of a fork", len(a), len(b))
        for x, y in zip(a, b):
            same("a line of a fork", x, y)
    place.compare_lists()


def move_leaf(place, path, to):
    """Moves the leaf. grove may refuse a move after which Claude's rules would never end; then nothing is written."""
    before = pathlib.Path(path).read_bytes()
    status, _, said = place.grove("leaf", path, to)
    if status and (status != 1 or pathlib.Path(path).read_bytes() != before):
        raise case.Different(f"leaf to {to}", "moved, or refused", said.decode(), before)


def at_random(place, rng):
    """Appends anything that an application may append, anywhere; after each step both read the same conversation."""
    s = place.new()
    ids = place.append(s["path"], user("first"))
    for step in range(rng.randrange(5, 25)):
        parent = rng.choice(ids) if rng.random() < 0.25 else None
        entries = rng.choice([
            lambda: [user(f"u{step}")],
            lambda: [user(f"u{step}"), reply(f"a{step}")],
            lambda: [reply(*[f"b{step}.{i}" for i in range(rng.randrange(1, 4))])],
            lambda: [reply("c", calls=[f"t{step}"]), result(f"t{step}")],
            lambda: [{"type": "attachment", "attachment": {"type": "date", "date": "d"}}],
            lambda: [{"type": "system", "subtype": "informational", "content": "x", "level": "info"}],
            lambda: [boundary(), summary(f"s{step}")],
            lambda: [{"type": "tag", "tag": f"t{step}"}],
            lambda: [{"type": "user", "isMeta": True, "message": user(f"m{step}")}],
        ])()
        ids += [i for i in place.append(s["path"], *entries, parent=parent) if i != "-"]
        if rng.random() < 0.1:
            move_leaf(place, s["path"], rng.choice(ids))
        place.compare_messages(s)
    place.compare_lists()


def forked(at, file):
    """Both make the same fork; returns its lines."""
    path = at.write(at.folder / f"{file.session}.jsonl", file.bytes())
    reply = at.driver.ask(ask="forkSession", args=[file.session, {"dir": at.cwd}])
    made = at.ask("fork", path)
    out = []
    for answer, copy in ((reply, (reply.get("answer") or {}).get("sessionId")), (made, made.get("id"))):
        copy = at.folder / f"{copy}.jsonl"
        if case.is_error(answer) or not copy.exists():
            out.append({"error": driver.text(answer)})
            continue
        out.append([driver.text(line) for line in numbered(copy)])
        copy.unlink()
    path.unlink()
    return out


def fork(at, rng):
    """Compares forks of a random transcript."""
    file = random_file(at, rng)
    file.spelling, file.bom = None, False

    def compare(some):
        theirs, ours = forked(at, some)
        at.book.add(at.book.answers, (at.peer, "fork"))
        mended = some.copy()
        for row in (known.FORK_GAP, known.SIDE_PROMPT):
            if theirs != ours and row.mend(mended):
                at.book.add(at.book.known, (at.peer, row.row))
                theirs, ours = forked(at, mended)
        if theirs != ours and isinstance(ours, list):
            kept = [line for line in ours if not line.startswith('{"type":"last-prompt"')]
            if len(kept) != len(ours):
                at.book.add(at.book.known, (at.peer, known.FORK_LEAF.row))
                ours = kept
        if case.is_error(theirs) or case.is_error(ours):
            same("a fork", ours, theirs)
        elif theirs != ours:
            line = next(i for i in range(max(len(theirs), len(ours))) if theirs[i:i + 1] != ours[i:i + 1])
            raise case.Different("a line of a fork", theirs[line:line + 1], ours[line:line + 1], some.bytes())
    try:
        compare(file)
    except case.Different as wrong:
        raise case.smaller(at, file, compare, wrong)


SCENES = [conversation, branches, parallel_calls, compaction, moved, renamed_by_the_sdk, forks]


def scene(at, rng):
    """Runs all the tests of writing above, one after another."""
    for fn in SCENES:
        at.clear()
        fn(at, rng)


def program(at, rng):
    at.clear()
    at_random(at, rng)


KINDS = {"reader": (reader, 1.0), "variant": (variant, 0.5), "place": (place_of, 0.2), "agent": (agent, 0.2), "fork": (fork, 0.3), "scene": (scene, 0.005), "program": (program, 0.2)}
