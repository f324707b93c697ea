"""pi 1.5.2: files that both read, and random operations that both carry out."""
import os
import pathlib
import re

import case
import driver
import files
import known
import packages
import pi_files

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = ".pi/agent/sessions/--w-project--"
CWD = "/w/project"
WRITTEN = 1710000000.125         # the time of every file


def place(grove, found, book):
    at = case.Place(grove, "pi", book)
    at.folder = at.scratch.home / FOLDER
    at.folder.mkdir(parents=True)
    at.theirs = at.scratch.root / "theirs"
    at.theirs.mkdir()
    at.start([found.path(packages.NODE), "--max-old-space-size=100", str(HERE / "pi.mjs"), found.path(packages.PI)])
    return at


# --- reading -----------------------------------------------------------------

def rows_of(tree):
    """Returns the nodes of `tree --json --flat` in the form in which the driver reports pi's."""
    return [[n["entry"].get("id") if isinstance(n["entry"], dict) else None, n["depth"], n.get("label")] for n in tree]


def grove_context(answer):
    if case.is_error(answer):
        return answer
    return {k: answer.get(k) for k in ("messages", "entryIds", "thinkingLevel", "model")}


def list_row(row):
    """Returns what can be compared of a row of a list; the peer's also has a text of all messages."""
    if row is None or case.is_error(row):
        return row
    out = {k: row.get(k) for k in ("id", "cwd", "name", "created", "modified", "messageCount", "firstMessage")}
    if case.is_error(out["created"]):           # a header without a time: pi has an invalid Date
        out["created"] = None
    return out


def ask_grove(at, path, leaves):
    context = at.ask("context", path)
    tree = at.ask("tree", path, "--flat")
    listed = at.ask("ls", "--all")
    row = next((r for r in listed if r["path"] == str(path)), {"error": "not listed"}) if isinstance(listed, list) else listed
    llm = at.ask("context", path, "--llm")
    answers = {
        "leaf": context if case.is_error(context) else context.get("leaf"),
        "context": grove_context(context),
        "llm": llm if case.is_error(llm) else llm["messages"],
        "tree": tree if case.is_error(tree) else rows_of(tree),
        "list": list_row(row),
        "parentSession": row.get("parentSession"),
    }
    for leaf in leaves:
        answers["context at " + leaf] = grove_context(at.ask("context", path, "--leaf", leaf))
    return answers


def ask_pi(at, path, leaves):
    """Lets pi open a copy, since it writes while it reads, and returns its answers and its
    list of the file itself.
    """
    copy = at.write(at.theirs / path.name, path.read_bytes())
    limit = 20
    answers = at.driver.ask(ask="read", path=str(copy), leaves=leaves, timeout=limit)
    listed = at.driver.ask(ask="list", dir=str(path.parent))
    copy.unlink(missing_ok=True)
    row = next((r for r in listed if r["path"] == str(path)), {"error": "not listed"}) if isinstance(listed, list) else listed
    if case.is_error(answers):
        answers = {q: answers for q in ["leaf", "context", "llm", "tree"] + ["context at " + leaf for leaf in leaves]}
    answers["list"] = list_row(row)
    answers["parentSession"] = row.get("parentSessionPath")
    return answers


def compare_file(at, file, leaves, kind="reader"):
    path = at.folder / "2024-03-01T09-00-00-000Z_s.jsonl"

    def with_file(ask):
        def asked(some):
            at.write(path, some.bytes())
            os.utime(path, (WRITTEN, WRITTEN))
            try:
                return ask(at, path, leaves)
            finally:
                path.unlink()
        return asked
    case.compare_answers(at, kind, file, with_file(ask_pi), with_file(ask_grove), known.PI)


def some_leaves(rng, file):
    ids = [e["id"] for e in file.entries() if isinstance(e.get("id"), str) and len(e["id"]) == 8]
    return sorted(set(rng.sample(ids, min(2, len(ids)))))


def reader(at, rng):
    """Compares how both read a random file."""
    odd = rng.random() < 0.5
    one_file(at, rng, pi_files.session(rng, odd, version=rng.choice([3, 3, 3, 3, 99])), "reader")


def one_file(at, rng, file, kind):
    leaves = some_leaves(rng, file)
    try:
        compare_file(at, file, leaves, kind)
    except case.Different as wrong:
        leaves = [leaf for leaf in leaves if leaf in wrong.question]
        raise case.smaller(at, file, lambda f: compare_file(at, f, leaves, kind), wrong)


def variant(at, rng):
    """Compares how both read a changed session of grove's tests."""
    one_file(at, rng, pi_files.variant(rng, "compat/pi/*/in/**/*.jsonl", "golden/pi/*.case"), "variant")


def listing(at, rng):
    """Compares the lists of a directory of random files: the same rows in the same order."""
    paths = []
    for i in range(rng.randrange(2, 12)):
        file = pi_files.session(rng, False)
        paths.append(at.write(at.folder / f"2024-03-01T09-00-{i:02d}-000Z_{i}.jsonl", file.bytes()))
    try:
        theirs = at.driver.ask(ask="list", dir=str(at.folder))
        ours = at.ask("ls", "--all")
        at.book.add(at.book.answers, (at.peer, "listing"), len(paths))
        names = [[pathlib.Path(r["path"]).name for r in rows] for rows in (theirs, ours)]
        times = [[r["modified"] for r in rows] for rows in (theirs, ours)]
        # With equal times, pi sorts by the times of the files.
        if times[0] != times[1] or len(set(times[0])) == len(times[0]) and names[0] != names[1]:
            raise case.Different("the order of a list", list(zip(*([names[0], times[0]]))), list(zip(names[1], times[1])))
    finally:
        for path in paths:
            path.unlink()


def by_number(value, names):
    """Returns an answer in which ids are replaced by their place in the file."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [by_number(v, names) for v in value]
    if isinstance(value, dict):
        return {k: by_number(v, names) for k, v in value.items()}
    return value


def migration(at, rng):
    """Compares an old file: grove reads it like pi, which rewrites it, and grove's own
    rewriting gives the same lines.
    """
    file = pi_files.old_session(rng, rng.choice([None, 1, 2]))
    path = at.write(at.folder / "2024-03-01T09-00-00-000Z_s.jsonl", file.bytes())
    copy = at.write(at.theirs / path.name, file.bytes())
    try:
        ours = ask_grove(at, path, [])
        if path.read_bytes() != file.bytes():
            raise case.Different("reading writes", "the file as it was", text_of(path), file.bytes())
        logged = at.peer_did("log", at.ask("log", path))
        theirs = at.peer_did("read", at.driver.ask(ask="read", path=str(copy), leaves=[]))
        names = [{e["id"]: f"#{n}" for n, e in enumerate(rows)} for rows in (entries_of(copy), logged)]
        for q in ("leaf", "context", "tree"):
            at.book.add(at.book.answers, (at.peer, "migration"))
            a, b = by_number(theirs[q], names[0]), by_number(ours[q], names[1])
            if not case.equal(a, b):
                raise case.Different(q, a, b, file.bytes())
        at.must("migrate", path)
        lines = [[driver.canonical(driver.parse(line)) for line in numbered(p) if line] for p in (copy, path)]
        if lines[0] != lines[1]:
            raise case.Different("lines after migrate", *lines, file.bytes())
    finally:
        path.unlink()
        copy.unlink(missing_ok=True)


def same_place(at, cwd, theirs, ours):
    """Checks that both store a new session in the same directory, under a name of the same form."""
    at.book.add(at.book.answers, (at.peer, "place"))
    if "ENAMETOOLONG" in str(theirs.get("error")):
        # Nobody can write there; grove notices when it writes.
        status, _, _ = at.grove("append", ours["path"], "--cwd", cwd, stdin=b'{"role":"user","content":"x"}\n')
        if status == 0:
            raise case.Different("place", theirs, ours)
        return
    theirs, ours = at.peer_did("place", theirs)["path"], at.peer_did("new", ours)["path"]
    a, b = pathlib.Path(theirs), pathlib.Path(ours)
    shape = [re.sub(r"[0-9a-f]", "0", p.name) for p in (a, b)]
    if a.parent.name != b.parent.name or shape[0] != shape[1]:
        raise case.Different("the place of a session in " + cwd, theirs, ours)


def place_of(at, rng):
    """Compares where sessions of a random directory are."""
    cwd = files.directory(rng, [at.scratch.work, at.scratch.home, at.scratch.root])
    same_place(at, cwd, at.driver.ask(ask="place", cwd=cwd), at.ask("new", "--dialect", "pi", "--cwd", cwd))


# --- writing -----------------------------------------------------------------

NOW = re.compile(r"\b(?!2024-)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
MILLIS = re.compile(r'("timestamp":)1[7-9]\d{11}\b')


def names_in(content, mark):
    names = {}
    for at, line in enumerate(content.split("\n")):
        try:
            entry = driver.parse(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            names.setdefault(entry["id"], f"{mark}{at}")
    return names


def text_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="surrogateescape")


def numbered(path, source=None):
    """Returns the lines of a file without present times; ids are replaced by their order in
    this file or in the one it was forked from.
    """
    content = text_of(path)
    names = {**(names_in(text_of(source), "@") if source else {}), **names_in(content, "#")}
    if names:
        content = re.sub("|".join(map(re.escape, sorted(names, key=len, reverse=True))), lambda m: names[m[0]], content)
    content = MILLIS.sub(lambda m: m[0] if m[0][-13:].startswith(("170", "171")) else m[1] + "NOW", NOW.sub("NOW", content))
    return [re.sub(r'"parentSession":"[^"]*"', '"parentSession":"…"', line) for line in content.split("\n")]


class Twins:
    """Three sessions: one written by pi alone, one by grove alone, and one by both in turn."""

    def __init__(self, at, rng):
        self.at, self.rng = at, rng
        message = pi_files.user(rng, 0)
        name = f"{rng.getrandbits(32):08x}"
        self.pi = self.created_by_pi(name + "-a", message)
        self.grove = self.created_by_grove(name + "-b", message)
        self.both = rng.choice([self.created_by_pi, self.created_by_grove])(name + "-c", message)
        self.files = [self.pi, self.grove, self.both]

    def created_by_pi(self, name, message):
        return pathlib.Path(self.at.peer_did("create", self.at.driver.ask(
            ask="create", cwd=CWD, dir=str(self.at.folder), id=name, message=message))["path"])

    def created_by_grove(self, name, message):
        made = self.at.ask("new", "--dialect", "pi", "--cwd", CWD, "--id", name)
        path = pathlib.Path(self.at.peer_did("new", made)["path"])
        self.append(path, {"role": message["role"], **message})
        return path

    def append(self, path, entry, parent=None):
        more = ["--parent", parent] if parent else []
        return self.at.must("append", path, "--cwd", CWD, *more, stdin=driver.text(entry).encode() + b"\n").strip()

    def remove(self):
        for path in self.files:
            path.unlink(missing_ok=True)


def entries_of(path):
    out = []
    for line in path.read_bytes().split(b"\n"):
        try:
            entry = driver.parse(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and entry.get("type") != "session":
            out.append(entry)
    return out


def by_position(step, entries):
    """Returns a step that names entries by number, with the ids of a file in their place."""
    out = dict(step)
    for key in ("targetId", "firstKeptEntryId", "at", "parent"):
        if isinstance(out.get(key), int):
            out[key] = entries[out[key]]["id"]
    return out


def step_by_pi(twins, path, step):
    step = by_position(step, entries_of(path))
    parent = step.pop("parent", None)
    return twins.at.peer_did(step["type"], twins.at.driver.ask(ask="take", path=str(path), parent=parent, step=step))["id"]


def step_by_grove(twins, path, step):
    step = by_position(step, entries_of(path))
    parent = step.pop("parent", None)
    at = twins.at
    if step["type"] == "label" and not parent:
        return at.must("label", "--", path, step["targetId"], *([step["label"]] if "label" in step else [])).strip()
    if step["type"] == "session_info" and not parent:
        at.must("name", path, "--", step["name"])
        return entries_of(path)[-1]["id"]
    if step["type"] == "branch_summary" and set(step) == {"type", "at", "summary"}:
        at.must("leaf", path, step["at"] or "root", "--summary", step["summary"])
        return entries_of(path)[-1]["id"]
    if step["type"] == "branch_summary":
        parent = step.pop("at") or "root"
    return twins.append(path, step, parent)


def random_step(rng, entries, ms, steer=True):
    """Returns a random next step of a program; entries are named by their number."""
    last = len(entries) - 1
    some = rng.randrange(len(entries))
    kind = rng.choices(["message", "thinking_level_change", "model_change", "usage", "compaction", "branch_summary",
                        "custom", "custom_message", "context_edit", "label", "session_info"],
                       [50, 4, 4, 3, 6, 6, 4, 6, 6, 10, 5])[0]
    step = {"type": kind}
    if kind == "message":
        step["message"] = pi_files.message(rng, ms)
    elif kind == "thinking_level_change":
        step["thinkingLevel"] = rng.choice(pi_files.LEVELS)
    elif kind == "model_change":
        step.update(provider="anthropic", modelId="m-3")
    elif kind == "usage":
        step.update(kind="cache", provider="anthropic", model="m-1", usage=pi_files.USAGE)
        if rng.random() < 0.3:
            step["note"] = files.words(rng)
    elif kind == "compaction":
        step.update(summary=files.words(rng), firstKeptEntryId=some, tokensBefore=rng.choice([0, 1000]))
        if rng.random() < 0.3:
            step["details"] = {"a": files.value(rng)}
        if rng.random() < 0.3:
            step["fromHook"] = rng.random() < 0.5
    elif kind == "branch_summary":
        step.update(at=rng.choice([some, None]), summary=files.spoken(rng))
        if step["at"] == last:
            step["at"] = None
    elif kind == "custom":
        step.update(customType="ext", data=files.value(rng))
    elif kind == "custom_message":
        step.update(customType="ext", content=rng.choice([files.words(rng), pi_files.blocks(rng)]), display=rng.random() < 0.7)
        if rng.random() < 0.3:
            step["details"] = files.value(rng)
    elif kind == "context_edit":
        target = editable(rng, entries)
        if target is None:
            return random_step(rng, entries, ms, steer)
        step.update(targetId=target, replacement=pi_files.content_edit(rng))
    elif kind == "label":
        step["targetId"] = some
        if rng.random() < 0.75:
            step["label"] = files.spoken(rng, 3)
    elif kind == "session_info":
        step["name"] = files.spoken(rng, 4)
    if steer and rng.random() < 0.2 and kind in ("message", "custom", "custom_message", "thinking_level_change"):
        step["parent"] = rng.choice([some, "root"])
    return step


def editable(rng, entries):
    """Returns an entry of the active path whose content may be edited."""
    at, way = entries[-1], []
    by_id = {e["id"]: (n, e) for n, e in enumerate(entries)}
    seen = set()
    while at is not None and at["id"] not in seen:
        seen.add(at["id"])
        n, _ = by_id[at["id"]]
        if at["type"] == "custom_message" or at["type"] == "message" and at["message"]["role"] in ("user", "assistant", "toolResult"):
            way.append(n)
        at = by_id.get(at["parentId"], (0, None))[1]
    return rng.choice(way) if way else None


def loosely(line):
    """Returns a line with its numbers as doubles, and its members in their order."""
    try:
        return driver.text(driver.parse(line))
    except ValueError:
        return line


def same_bytes(at, what, theirs, ours, sources=(None, None)):
    at.book.add(at.book.answers, (at.peer, "program"))
    a, b = numbered(theirs, sources[0]), numbered(ours, sources[1])
    if a != b and [loosely(x) for x in a] == [loosely(x) for x in b]:
        at.book.add(at.book.known, (at.peer, known.NUMBERS.row))
    elif a != b:
        line = next(i for i in range(max(len(a), len(b))) if a[i:i + 1] != b[i:i + 1])
        raise case.Different(f"bytes after {what}, line {line + 1}", "\n".join(a[line:line + 1]), "\n".join(b[line:line + 1]),
                             pathlib.Path(ours).read_bytes())


def same_reading(at, path, what):
    """Checks that both read the present file in the same way, and that grove finds nothing wrong with it."""
    lines = path.read_bytes()
    leaves = []
    theirs, ours = ask_pi(at, path, leaves), ask_grove(at, path, leaves)
    # grove ends at the parent of the entry that stores a moved leaf, pi at that entry itself.
    last = entries_of(path)[-1]
    if last.get("customType") == "grove.leaf" and theirs["leaf"] == last["id"]:
        theirs["leaf"] = last["parentId"]
        at.book.add(at.book.known, (at.peer, known.MOVED_LEAF.row))
    for q in ("leaf", "context", "llm", "tree", "list"):
        at.book.add(at.book.answers, (at.peer, "program"))
        if not case.equal(theirs[q], ours[q]):
            raise case.Different(f"{q} after {what}", theirs[q], ours[q], lines)


# Normal for random operations: calls have no results, and branches grow side by side.
ALLOWED = ("unpaired-call", "unpaired-result", "concurrent")


def clean(at, path):
    """Checks that `check` finds nothing wrong with what both wrote."""
    _, out, err = at.grove("check", path, "--json")
    problems = [p for p in driver.parse(out)["problems"] if p["kind"] not in ALLOWED]
    if problems or err:
        raise case.Different("check", "clean", {"problems": problems, "said": err.decode()}, path.read_bytes())


def forks(twins, what):
    """Both make the same fork, and each reads the other's."""
    at, rng = twins.at, twins.rng
    entries = [entries_of(p) for p in twins.files]
    whole = rng.random() < 0.4
    some = rng.randrange(len(entries[0]))

    def by_pi(path, n):
        if whole:
            answer = at.driver.ask(ask="fork", path=str(path), cwd=CWD, dir=str(at.folder))
        else:
            answer = at.driver.ask(ask="branch", path=str(path), leaf=entries[n][some]["id"])
        return pathlib.Path(at.peer_did("fork", answer)["path"])

    def by_grove(path, n):
        more = [] if whole else ["--leaf", entries[n][some]["id"]]
        return pathlib.Path(at.peer_did("fork", at.ask("fork", path, *more))["path"])

    made = []
    try:
        made += [by_pi(twins.pi, 0), by_grove(twins.grove, 1)]
        if not made[0].exists():
            at.book.add(at.book.known, (at.peer, known.SILENT_FORK.row))
        else:
            same_bytes(at, what, made[0], made[1], (twins.pi, twins.grove))
        some = rng.randrange(len(entries[2]))
        made.append(rng.choice([by_pi, by_grove])(twins.both, 2))
        if made[2].exists():
            same_reading(at, made[2], what)
    finally:
        for path in made:
            path.unlink(missing_ok=True)


def program(at, rng):
    """Random operations, carried out three times."""
    twins = Twins(at, rng)
    done = []
    try:
        same_bytes(at, "the first message", twins.pi, twins.grove)
        for number in range(rng.randrange(3, 14)):
            step = random_step(rng, entries_of(twins.pi), 1000 * number)
            done.append(step)
            what = f"step {number} ({step['type']})"
            step_by_pi(twins, twins.pi, step)
            step_by_grove(twins, twins.grove, step)
            same_bytes(at, what, twins.pi, twins.grove)
            third = random_step(rng, entries_of(twins.both), 1000 * number)
            done.append(third)
            rng.choice([step_by_pi, step_by_grove])(twins, twins.both, third)
            if rng.random() < 0.15:
                moved = rng.choice(entries_of(twins.both))["id"]
                at.must("leaf", twins.both, moved)
                done.append({"leaf": moved})
            same_reading(at, twins.both, what + " by both")
            if rng.random() < 0.15:
                forks(twins, f"a fork after step {number}")
        clean(at, twins.both)
    except case.Different as wrong:
        wrong.program = done
        raise
    finally:
        twins.remove()


KINDS = {"reader": (reader, 1.0), "place": (place_of, 0.2), "variant": (variant, 0.5), "listing": (listing, 0.1), "migration": (migration, 0.2), "program": (program, 0.3)}
