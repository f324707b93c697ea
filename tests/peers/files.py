"""Random session files: what is common to all dialects."""
import copy
import datetime
import json
import random

import driver

WORDS = ("look at the parser and fix it now please why does this test fail on main tree leaf branch entry "
         "naïve 日本語 日本 emoji 🙂 tab\there quote\"d back\\slash <tag> &amp; `tick` %s").split(" ")
ODD_TEXTS = ("", " ", "\n", "a\nb\r\nc", "\u2028", "\ud83d", "\x7f", "null", "0", "[object Object]",
             "<summary>\n\nx\n</summary>", "```\ncode\n```", "- item\n\n- item", "<command-name>/x</command-name>")
# Long ago, so that times from the test run itself can be distinguished from these.
START = datetime.datetime(2024, 3, 1, 9, 0, tzinfo=datetime.timezone.utc)


def words(rng, most=8):
    if rng.random() < 0.06:
        return rng.choice(ODD_TEXTS)
    return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, most)))


def spoken(rng, most=8):
    """Returns random words that can be given on a command line."""
    return words(rng, most).replace("\ud83d", "").strip() or "x"


def iso(ms):
    return (START + datetime.timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def epoch(ms):
    return int(START.timestamp() * 1000) + ms


def value(rng, depth=2):
    """Returns a random JSON value."""
    kind = rng.randrange(9 if depth else 6)
    if kind == 0:
        return None
    if kind == 1:
        return rng.random() < 0.5
    if kind == 2:
        return rng.choice([0, -1, 3, 1.5, 1e21, 1e-7, 12345678901234567890, 0.1])
    if kind < 6:
        return words(rng)
    if kind == 6:
        return [value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {rng.choice(["a", "b", "10", "2", "text", "type", "é"]): value(rng, depth - 1)
            for _ in range(rng.randrange(3))}


def nested(depth):
    out = 1
    for level in range(depth):
        out = [out] if level % 2 else {"a": out}
    return out


class Clock:
    """Time stamps for a file, mostly in ascending order."""

    def __init__(self, rng):
        self.rng, self.ms = rng, rng.randrange(10 ** 9)

    def next(self):
        step = self.rng.random()
        if step > 0.97:
            self.ms -= self.rng.randrange(10 ** 6)
        elif step > 0.1:
            self.ms += self.rng.randrange(1, 20000)
        return self.ms


class File:
    """
    A session file as a list of lines: objects, or bytes that are written
    unchanged. `odd` names what is unusual in the file, for the table of known
    differences.
    """

    def __init__(self, lines):
        self.lines = lines
        self.end = b"\n"
        self.bom = False
        self.torn = b""
        self.open = False           # the last line has no newline
        self.slot = None            # a line before the first one
        self.spelling = None        # a number that selects another way to write the same JSON
        self.odd = set()

    def copy(self):
        return copy.deepcopy(self)

    def bytes(self):
        out = b"\xef\xbb\xbf" if self.bom else b""
        if self.slot:
            out += self.slot + b"\n"
        for line in self.lines:
            out += (line if isinstance(line, bytes) else self.spelled(line).encode()) + self.end
        return (out[:-len(self.end)] if self.open else out) + self.torn

    def spelled(self, line):
        plain = driver.text(line)
        return plain if self.spelling is None else Spelling(f"{self.spelling}/{plain}").value(line)

    def entries(self):
        return [line for line in self.lines[1:] if isinstance(line, dict)]


class Spelling:
    """Writes JSON as other programs may: blanks, escapes, members named twice, numbers in other forms."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.blanks = self.rng.random() < 0.5
        self.escapes = self.rng.choice([0, 0, 0.05, 0.5])
        self.twice = self.rng.choice([0, 0, 0.1])

    def blank(self):
        return self.rng.choice(["", " ", "  ", "\t"]) if self.blanks else ""

    def character(self, c):
        if self.rng.random() >= self.escapes:
            return json.dumps(c, ensure_ascii=0xD800 <= ord(c) < 0xE000)[1:-1]
        if c == "/":
            return "\\/"
        out = "".join(f"\\u{unit:04x}" for unit in units(c))
        return out.replace("a", "A").replace("d", "D") if self.rng.random() < 0.5 else out

    def text(self, value):
        return '"' + "".join(map(self.character, value)) + '"'

    def number(self, value):
        plain = driver.text(value)
        if self.rng.random() < 0.8 or not plain.lstrip("-").isdigit():
            return plain
        return plain + self.rng.choice([".0", "e0", "E+0", ".00e-0"])

    def member(self, key, value):
        return f"{self.text(key)}{self.blank()}:{self.blank()}{self.value(value)}"

    def members(self, value):
        for key, what in value.items():
            if self.rng.random() < self.twice:
                yield self.member(key, self.rng.choice([None, "other", 5, {"a": [1]}, []]))
        for key, what in value.items():
            yield self.member(key, what)

    def value(self, value):
        if isinstance(value, dict):
            parts, ends = list(self.members(value)), "{}"
        elif isinstance(value, list):
            parts, ends = [self.value(v) for v in value], "[]"
        elif isinstance(value, str):
            return self.text(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            return self.number(value)
        else:
            return driver.text(value)
        between = self.blank() + "," + self.blank()
        return ends[0] + self.blank() + between.join(parts) + self.blank() + ends[1]


def units(c):
    """Returns the UTF-16 code units of a character."""
    data = c.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2)]


def frame(file, rng):
    """Varies how the lines are written to the file."""
    if rng.random() < 0.2:
        file.spelling = rng.getrandbits(32)
    if rng.random() < 0.08:
        file.end = b"\r\n"
    if rng.random() < 0.05:
        file.bom = True
        file.odd.add("bom")
    if rng.random() < 0.08:
        last = file.bytes().rstrip(b"\r\n").rsplit(b"\n", 1)[-1]
        file.torn = last[:rng.randrange(1, len(last))]
        file.odd.add("torn")
    else:
        file.open = rng.random() < 0.06
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        junk = rng.choice([b"", b"   ", b"not json", b'{"type":"message"', b"\x00\x00", b'{"a":1}}', b"\xff\xfe"])
        file.lines.insert(rng.randrange(1, len(file.lines) + 1), junk)


PARTS = ("a", "b-c", "b_c", "x.y", "with blank", "é", "e\u0301", "日本", "🙂", "UPPER", "--", "-", "...", "..x", "a:b", "back\\slash", "tmp", "a,b",
         "'quote\"", "%41", "~", "x" * 60, "é" * 40, "🙂" * 30)


def directory(rng, roots):
    """Returns a random directory that exists below one of these, and a way to name it."""
    at = rng.choice(roots)
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5])):
        at = at / rng.choice(PARTS)
    at.mkdir(parents=True, exist_ok=True)
    if rng.random() < 0.2:
        link = rng.choice(roots) / f"link{rng.getrandbits(32):x}"
        link.symlink_to(at)
        at = link
    name = str(at)
    return name + rng.choice(["", "", "", "/", "/."])


def shrink(file, still_wrong, most=400):
    """Returns `file` with as few lines as possible that still shows the difference: it tries
    to leave out each line but the first.
    """
    asked = 0
    step = max(1, len(file.lines) // 2)
    while True:
        at = 1
        while at < len(file.lines) and asked < most:
            less = file.copy()
            del less.lines[at:at + step]
            asked += 1
            if still_wrong(less):
                file = less
            else:
                at += step
        if step == 1 or asked >= most:
            return file
        step //= 2
