"""Variants of the sessions in grove's tests: the shapes that are known to matter, changed a little."""
import copy
import pathlib
import sys

import driver
import files

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "lib"))
from golden_case import Case  # noqa: E402

MOST = 60000                # bytes; larger files only test size
BOM = b"\xef\xbb\xbf"


def sources(*patterns):
    """Returns the bytes of the tests' session files, also of those inside golden cases."""
    paths = sorted(path for pattern in patterns for path in TESTS.glob(pattern))
    found = []
    for path in paths:
        if path.suffix == ".case":
            found += [content for name, content in Case.read(path).inputs() if name.endswith(".jsonl")]
        else:
            found.append(path.read_bytes())
    return [content for content in found if len(content) <= MOST]


def lines_of(content):
    """Returns the lines as objects, or as bytes where a line is not an object."""
    out = []
    for line in content.removeprefix(BOM).rstrip(b"\n").split(b"\n"):
        try:
            value = driver.parse(line)
        except ValueError:
            value = None
        out.append(value if isinstance(value, dict) else line)
    return out


class Changes:
    """Ways to change the records of a file; `id` and `parent` are the members that make it a tree."""

    def __init__(self, rng, file, fixed, id, parent):
        self.rng, self.file, self.fixed, self.id, self.parent = rng, file, fixed, id, parent

    def records(self):
        return [line for line in self.file.lines[self.fixed:] if isinstance(line, dict)]

    def names(self):
        return [r[self.id] for r in self.records() if isinstance(r.get(self.id), str)]

    def place(self):
        return self.rng.randrange(self.fixed, len(self.file.lines) + 1)

    def leave_out(self):
        if len(self.file.lines) > self.fixed + 1:
            at = self.rng.randrange(self.fixed, len(self.file.lines))
            del self.file.lines[at:at + self.rng.choice([1, 1, 1, 2, 4])]

    def repeat(self):
        if self.records():
            line = copy.deepcopy(self.rng.choice(self.records()))
            if self.rng.random() < 0.7:
                self.name(line)
            self.file.lines.insert(self.place(), line)

    def name(self, line):
        """Gives a record an id of its own, in place of the id that it has."""
        if isinstance(line.get(self.id), str):
            line[self.id] = f"{self.rng.getrandbits(32):08x}{line[self.id][8:]}"

    def move(self):
        if len(self.file.lines) > self.fixed + 1:
            line = self.file.lines.pop(self.rng.randrange(self.fixed, len(self.file.lines)))
            self.file.lines.insert(self.place(), line)

    def other_parent(self):
        records = [r for r in self.records() if self.parent in r]
        if records and self.names():
            line = self.rng.choice(records)
            line[self.parent] = self.rng.choice(self.names() + [None, f"{self.rng.getrandbits(32):08x}"])

    def other_reference(self):
        """Replaces some id in a record by another one."""
        names = self.names()
        places = [spot for r in self.records() for spot in spots(r) if spot[0][spot[1]] in names and spot[1] != self.id]
        if places:
            holder, key = self.rng.choice(places)
            holder[key] = self.rng.choice(names)

    def member_of_another(self):
        """Gives a member the value that it has in another record."""
        holder, key, path = self.some_member()
        if holder is None:
            return
        # The type of a record decides what its message is.
        kinds = {r.get("type") for r in self.records() if follow(r, path) is holder.get(key)}
        values = [v for v in (follow(r, path) for r in self.records() if path[0] != "message" or r.get("type") in kinds) if v is not files]
        if values:
            holder[key] = copy.deepcopy(self.rng.choice(values))

    def without_a_member(self):
        holder, key, path = self.some_member()
        if holder is not None and path not in ((self.id,), ("type",), ("attachment",)):
            del holder[key]

    def some_member(self):
        """Returns an object within a random record, one of its keys, and the path to the object."""
        if not self.records():
            return None, None, ()
        holder = self.rng.choice(self.records())
        key = self.rng.choice(list(holder) or [None])
        path = (key,)
        while key is not None and isinstance(holder[key], dict) and holder[key] and self.rng.random() < 0.7:
            holder = holder[key]
            key = self.rng.choice(list(holder))
            path += (key,)
        return (holder, key, path) if key is not None and path != (self.id,) else (None, None, ())

    def another_session(self, lines):
        """Adds records of another file below the last one of this file."""
        start = self.rng.randrange(len(lines))
        taken = copy.deepcopy(lines[start:start + self.rng.choice([1, 2, 4, 8])])
        if self.names():
            for line in taken[:1]:
                if isinstance(line, dict) and self.parent in line and self.rng.random() < 0.8:
                    line[self.parent] = self.rng.choice([self.names()[-1], self.rng.choice(self.names())])
        at = self.rng.choice([self.place(), len(self.file.lines)])
        self.file.lines[at:at] = taken

    def some(self, others):
        ways = [self.leave_out, self.leave_out, self.repeat, self.move, self.move, self.other_parent, self.other_parent, self.other_reference,
                self.other_reference, self.member_of_another, self.member_of_another, self.without_a_member,
                lambda: self.another_session(others)]
        for _ in range(self.rng.choice([0, 1, 1, 2, 3, 5])):
            self.rng.choice(ways)()


def spots(value):
    """Yields every (holder, key) inside a value that holds a text."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    out = []
    for key, inner in list(pairs):
        if isinstance(inner, str):
            out.append((value, key))
        elif isinstance(inner, (dict, list)):
            out += spots(inner)
    return out


def follow(record, path):
    """Returns what a path leads to in a record, or this module's mark that nothing is there."""
    for key in path:
        if not isinstance(record, dict) or key not in record:
            return files
        record = record[key]
    return record


def changed(rng, found, id, parent, fixed, file):
    """Fills a file with a changed copy of one of the sources."""
    file.lines = lines_of(rng.choice(found))
    others = lines_of(rng.choice(found))[fixed:] or [b""]
    Changes(rng, file, fixed, id, parent).some(others)
    if not any(isinstance(line, dict) for line in file.lines):      # not a session any more
        file.lines += [line for line in others if isinstance(line, dict)] or lines_of(found[0])
    return file
