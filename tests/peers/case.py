"""One comparison, the directories it uses, and the record of all comparisons."""
import collections
import json
import pathlib
import random
import sys
import threading

import driver
import files

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import scratch  # noqa: E402


class Different(Exception):
    """The two answers differ, and no known difference explains it."""

    def __init__(self, question, theirs, ours, file=b""):
        super().__init__(question)
        self.question, self.theirs, self.ours, self.file = question, theirs, ours, file
        self.program = None         # the steps that led there


class Book:
    """Counts what was compared, by peer and kind, and which known differences were found."""

    def __init__(self):
        self.lock = threading.Lock()
        self.cases = collections.Counter()
        self.answers = collections.Counter()
        self.known = collections.Counter()
        self.failed = []

    def add(self, counter, key, nr=1):
        with self.lock:
            counter[key] += nr


class Place:
    """A home that grove uses on one side and a peer on the other."""

    def __init__(self, grove, peer, book, **more):
        self.scratch = scratch.Scratch("peers-" + peer)
        self.program, self.peer, self.book = grove, peer, book
        self.env = self.scratch.environment(**more)
        self.driver = None

    def close(self):
        if self.driver:
            self.driver.close()
        self.scratch.remove()

    def start(self, argv, **more):
        self.driver = driver.Driver(argv, {**self.env, **more}, self.scratch.work)

    def grove(self, *args, stdin=b""):
        return self.scratch.run([self.program, *map(str, args)], self.env, stdin)

    def ask(self, *args, stdin=b""):
        """Returns the output of `grove ARGS --json`, or {"error": exit status}."""
        status, out, err = self.grove(*args, "--json", stdin=stdin)
        if status:
            return {"error": status, "said": err.decode("utf-8", "replace")}
        return driver.parse(out)

    def must(self, *args, stdin=b""):
        """Returns what grove prints; a failure counts as a difference."""
        status, out, err = self.grove(*args, stdin=stdin)
        if status:
            raise Different("grove " + " ".join(map(str, args)), "done",
                            {"exit": status, "said": err.decode("utf-8", "replace"), "stdin": stdin.decode("utf-8", "replace")})
        return out.decode()

    def write(self, path, content):
        self.scratch.write(pathlib.Path(path), content)
        return path

    def peer_did(self, what, answer):
        """Returns the peer's answer, which must not be an error."""
        if isinstance(answer, dict) and "error" in answer:
            raise Different(what, answer, "done")
        return answer


def rng_of(seed, name):
    return random.Random(f"{seed}/{name}")


def equal(theirs, ours):
    """Returns whether two answers are equal. Two errors are equal, whatever their messages."""
    if is_error(theirs) or is_error(ours):
        return is_error(theirs) and is_error(ours)
    return driver.canonical(theirs) == driver.canonical(ours)


def is_error(answer):
    return isinstance(answer, dict) and "error" in answer


def compare_answers(place, kind, file, ask_peer, ask_grove, knowns):
    """
    Asks both about `file` and compares question by question. Where the
    answers differ, the peer is asked again about a file from which everything
    was removed that is known to make a difference: then the two answers must
    be equal.
    """
    ours = ask_grove(file)
    theirs = ask_peer(file)
    place.book.add(place.book.answers, (place.peer, kind), len(ours))
    wrong = differing(theirs, ours)
    if not wrong:
        return
    # A peer that ended or hung gave no answer at all: whatever caused this concerns every question.
    silent = all(is_error(theirs.get(question)) for question in wrong)
    mends = [k for k in knowns if k.mend and (silent or k.concerns(wrong)) and k.mend(file.copy())]
    excuses = [k for k in knowns if k.excuses]
    left = excused(place, file, excuses, wrong, theirs, ours, [])
    # First each mend alone, then all that concern a question: a file may be unusual in several ways.
    together = [[k for k in mends if k.concerns([question])] for question in sorted(left)]
    groups = [[k] for k in mends] + [group for group in together if len(group) > 1]
    if silent and mends:
        groups.append(mends)
    for group in groups:
        concerned = set.intersection(*(set(k.concerns(left)) for k in group))
        if silent and group is mends:
            concerned = set(left)
        if concerned:
            mended = file.copy()
            for known in group:
                known.mend(mended)
            again = ask_peer(mended)
            left = left - concerned | excused(place, mended, excuses, concerned, again, ours, group)
    if left:
        question = sorted(left)[0]
        raise Different(question, theirs.get(question), ours.get(question), file.bytes())


def excused(place, file, excuses, questions, theirs, ours, mended):
    """Returns the questions that still differ; counts the known differences that explain the others."""
    left = set()
    for question in questions:
        used = list(mended)
        if not equal(theirs.get(question), ours.get(question)):
            used = [k for k in excuses if k.concerns([question])
                    and k.excuses(file, question, theirs.get(question), ours.get(question))][:1] + used
            if len(used) == len(mended):
                left.add(question)
                continue
        for known in used:
            place.book.add(place.book.known, (place.peer, known.row))
    return left


def differing(theirs, ours):
    if is_error(theirs) and is_error(ours):
        return set()
    if is_error(theirs):
        return set(ours)
    return {q for q in ours if not equal(theirs.get(q), ours[q])}


def smaller(place, file, compare, wrong):
    """Finds a smaller file with the same difference; questions asked on the way are not counted."""
    book, place.book = place.book, Book()
    found = wrong

    def still(less):
        nonlocal found
        try:
            compare(less)
        except Different as d:
            if d.question == wrong.question:
                found = d
                return True
        return False
    try:
        files.shrink(file, still)
    finally:
        place.book = book
    return found


def told(value, most=600):
    out = json.dumps(value, ensure_ascii=False)
    return out if len(out) <= most else out[:most] + f"… ({len(out)} characters)"
