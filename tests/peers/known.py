"""
The known and intended differences. Each row of this table is a row of
docs/compat, which gives the reason; `tests/peers/run --rows` compares the
two.

Most differences have a mend: a function that changes the file so that the
peer has no reason to answer differently, after which both answers must be
equal. Only if there is no such change, an excuse looks at the two answers and
decides.
"""
import dataclasses
import datetime
import json
import typing

import driver


@dataclasses.dataclass(frozen=True)
class Known:
    peer: str
    row: str                                        # the first words of a row of docs/compat
    covers: typing.FrozenSet[str] = frozenset()     # the questions that it concerns; none: all
    mend: typing.Optional[typing.Callable] = None   # (file) -> whether it changed anything
    excuses: typing.Optional[typing.Callable] = None    # (file, question, theirs, ours) -> bool

    def concerns(self, questions):
        return {q for q in questions if not self.covers or q.split(" ")[0] in self.covers}


def no_bom(file):
    was, file.bom = file.bom, False
    return was


def no_circles(file):
    """Makes the first entry of each circle of parents in the file a root."""
    by_id = {e["id"]: e for e in file.entries() if isinstance(e.get("id"), str)}
    changed, sure = False, set()
    for entry in file.entries():
        way, at = [], entry
        while at is not None and id(at) not in sure and not any(at is seen for seen in way):
            way.append(at)
            parent = at.get("parentId")
            at = by_id.get(parent) if isinstance(parent, str) else None
        if at is not None and id(at) not in sure:
            circle = way[[seen is at for seen in way].index(True):]
            first = min(circle, key=lambda e: [line is e for line in file.lines].index(True))
            first["parentId"] = None
            changed = True
        sure.update(map(id, way))
    return changed


def last_of_each_id(file):
    """Keeps the last of several entries with the same id, at the place of the first."""
    place, keep = {}, []
    for line in file.lines:
        name = line.get("id") if isinstance(line, dict) and line is not file.lines[0] else None
        if isinstance(name, str) and name in place:
            keep[place[name]] = line
            continue
        if isinstance(name, str):
            place[name] = len(keep)
        keep.append(line)
    changed = len(keep) != len(file.lines)
    file.lines = keep
    return changed


def only_the_last_of_each_id(file):
    """Keeps the last of several entries with the same id at its own place, for answers that
    depend on the end of the file.
    """
    later, keep = set(), []
    for line in reversed(file.lines[1:]):
        name = line.get("id") if isinstance(line, dict) else None
        if isinstance(name, str) and name in later:
            continue
        if isinstance(name, str):
            later.add(name)
        keep.insert(0, line)
    changed = len(keep) + 1 != len(file.lines)
    file.lines[1:] = keep
    return changed


def hides_a_label(file, question, theirs, ours):
    """A label whose id a later entry has, too: it still labels its entry, and cannot be removed."""
    later = set()
    for line in reversed(file.lines[1:]):
        if isinstance(line, dict) and isinstance(line.get("id"), str):
            if line.get("type") == "label" and line["id"] in later:
                return True
            later.add(line["id"])
    return False


def replace(file, wrong, new):
    changed = False
    for at, line in enumerate(file.lines):
        if isinstance(line, dict) and line.get("type") != "session" and wrong(line):
            file.lines[at] = new(line)
            changed = True
    return changed


def silent(entry):
    return {"type": "custom", "customType": "x", **{k: entry[k] for k in ("id", "parentId", "timestamp") if k in entry}}


def no_empty_messages(file):
    return replace(file, lambda e: e.get("type") == "message" and not e.get("message"), silent)


def names_are_texts(file):
    def wrong(e):
        return e.get("type") == "session_info" and not isinstance(e.get("name", ""), (str, type(None)))
    return replace(file, wrong, lambda e: {k: v for k, v in e.items() if k != "name"})


def no_open_edits(file):
    return replace(file, lambda e: e.get("type") == "context_edit" and "replacement" not in e, silent)


def summaries_are_texts(file):
    def wrong(e):
        return e.get("type") in ("compaction", "branch_summary") and isinstance(e.get("summary"), (dict, list))
    return replace(file, wrong, lambda e: {**e, "summary": driver.text(e["summary"])})


def no_stray_end(file):
    """Removes the values that follow the last entry."""
    last = len(file.lines) - 1
    while last > 0 and is_stray(file.lines[last]):
        last -= 1
    kept = [line for at, line in enumerate(file.lines) if at <= last or not is_value(line)]
    changed = len(kept) != len(file.lines)
    file.lines = kept
    return changed


def parsed(line):
    """Returns the value of a line; a line that is not JSON is returned unchanged."""
    if isinstance(line, bytes):
        try:
            return json.JSONDecoder().raw_decode(line.decode().lstrip())[0]
        except ValueError:
            return line
    return line


def no_nulls(file):
    kept = [line for line in file.lines if parsed(line) is not None]
    changed = len(kept) != len(file.lines)
    file.lines = kept
    return changed


def objects_alone(file):
    """Removes all values that are not objects, and those that follow the last entry."""
    kept = [line for line in file.lines if isinstance(parsed(line), (dict, bytes, type(None)))]
    changed = len(kept) != len(file.lines)
    file.lines = kept
    return no_stray_end(file) or changed


def is_value(line):
    if isinstance(line, bytes):
        try:
            driver.parse(line)
        except ValueError:
            return False
    return True


def is_stray(line):
    """Returns whether a line is not an entry of a tree: another value, or not JSON."""
    if isinstance(line, bytes):
        try:
            line = driver.parse(line)
        except ValueError:
            return True
    return not isinstance(line, dict) or "id" not in line and "parentId" not in line


def can_be_listed(file):
    """Removes what makes pi leave the session out of its list."""
    def new(e):
        if e["type"] == "session_info":
            return {**e, "name": ""}
        message = e.get("message")
        if not isinstance(message, dict):
            return {**e, "message": {"role": "none"}}
        return {**e, "message": {**message, "content": ""}}

    def unlisted(message):
        content = message.get("content", "") if isinstance(message, dict) else None
        return not isinstance(content, (str, list)) or isinstance(content, list) and None in content

    def wrong(e):
        return (e.get("type") == "session_info" and not isinstance(e.get("name"), str)
                or e.get("type") == "message" and unlisted(e.get("message")))
    return replace(file, wrong, new)


def invalid_time(file, question, theirs, ours):
    """The answers are equal but for the session's time, which is invalid."""
    return isinstance(theirs, dict) and isinstance(theirs.get("modified"), dict) and {**theirs, "modified": None} == {**ours, "modified": None}


def strange_ids(file, question, theirs, ours):
    return "strange id" in file.odd


def ids_are_values(file, question, theirs, ours):
    """An entry without an id or without a parent's id, where the peer compares missing values."""
    return any(not isinstance(e.get("id"), str) or "parentId" not in e or not isinstance(e["parentId"], (str, type(None)))
               for e in file.entries())


def labels_are_texts(file):
    def wrong(e):
        return e.get("type") == "label" and not isinstance(e.get("label", ""), str)
    return replace(file, wrong, lambda e: {**e, "label": ""})


def short_summary_is_title(file):
    """Makes the last short summary the title: oh-my-pi lists the session under it, but does not use it as its name."""
    told = [e["shortSummary"] for e in file.entries() if e.get("type") == "compaction" and e.get("shortSummary")]
    if not told or "title" in file.lines[0]:
        return False
    file.lines[0]["title"] = told[-1]
    return True


def slot_is_right(file):
    """Removes an empty slot, which says nothing about the title in the header."""
    changed = file.slot is not None and file.title == ""
    if changed:
        file.slot = None
    return changed


def nothing_to_show(file, question, theirs, ours):
    return theirs is None and ours is not None and ours["name"] is None and ours["firstMessage"] == "(no messages)"


def no_side_prompts(file):
    return replace(file, lambda e: e.get("type") == "user" and e.get("isSidechain"), lambda e: {**e, "isMeta": True})


def no_session(file, question, theirs, ours):
    return ours is None and not any(e.get("type") in ("user", "assistant") and not e.get("isSidechain") for e in file.entries())


def nothing_to_resume(file, question, theirs, ours):
    return no_session(file, question, theirs, ours or None) and isinstance(theirs, dict) and "No conversation" in theirs.get("error", "")


def plain_spelling(file):
    was, file.spelling = file.spelling, None
    return was is not None


def whole_segments(file):
    """Removes from boundaries the segments whose first or last record does not exist."""
    there = {e.get("uuid") for e in file.entries()}

    def damaged(e):
        segment = (e.get("compactMetadata") or {}).get("preservedSegment")
        return segment and not {segment["headUuid"], segment["tailUuid"]} <= there

    def new(e):
        return {**e, "compactMetadata": {k: v for k, v in e["compactMetadata"].items() if k != "preservedSegment"}}
    return replace(file, damaged, new)


def calls_and_results(record, kind, name):
    content = (record.get("message") or {}).get("content")
    return {b.get(name) for b in content if isinstance(b, dict) and b.get("type") == kind} if isinstance(content, list) else set()


def below_an_open_call(file, question, theirs, ours):
    """The first record after resuming is a result that was made up for a call without one; the call is its parent."""
    answered = set().union(*(calls_and_results(e, "tool_result", "tool_use_id") for e in file.entries()))
    return any(e.get("uuid") == theirs and calls_and_results(e, "tool_use", "id") - answered for e in file.entries())


def known_parents(file):
    """Removes references to parents that a fork does not copy."""
    copied = {e.get("uuid") for e in file.entries()
              if e.get("type") in ("user", "assistant", "attachment", "system") and not e.get("isSidechain")}

    def lost(e):
        return {k: None for k in ("parentUuid", "logicalParentUuid") if e.get(k) is not None and e[k] not in copied}
    return replace(file, lost, lambda e: {**e, **lost(e)})


def no_notes(file):
    """Removes the program's own notes; their children move to the record above."""
    notes = ("system", "progress")
    above = {e["uuid"]: e.get("parentUuid") for e in file.entries() if e.get("type") in notes and "uuid" in e}
    if not above:
        return False
    file.lines = [line for line in file.lines if not (isinstance(line, dict) and line.get("type") in notes)]
    for record in file.entries():
        for _ in range(len(above) + 1):
            if record.get("parentUuid") in above:
                record["parentUuid"] = above[record["parentUuid"]]
    return True


def in_a_long_circle(file, question, theirs, ours):
    """Three or more records form a circle of parents, or two do because of a repeated uuid."""
    parent, lines = {}, 0
    for e in file.entries():
        if e.get("type") in ("user", "assistant", "attachment", "system") and isinstance(e.get("uuid"), str):
            parent[e["uuid"]] = e.get("parentUuid")
            lines += 1
    for start in parent:
        way, at = [], start
        while at in parent and at not in way:
            way.append(at)
            at = parent[at]
        if at in way and (len(way) - way.index(at) > 2 or lines > len(parent)):
            return True
    return False


def queued_in_a_circle(file, question, theirs, ours):
    """A prompt that was typed while the agent was working belongs to such a circle, or is below it."""
    return in_a_long_circle(file, question, theirs, ours) and any(e.get("type") == "attachment" for e in file.entries())


def but_for_nothing(file, question, theirs, ours):
    """The peer also shows records that have no message."""
    bare = {e.get("uuid") for e in file.entries() if e.get("type") in ("user", "assistant") and not e.get("message")}
    return bool(bare) and isinstance(theirs, list) and [m for m in theirs if m is not None and str(m) not in bare] == ours


def types_like_roles(file):
    """Makes the type of each record agree with the role of its message."""
    def wrong(e):
        message = e.get("message")
        return e.get("type") in ("user", "assistant") and isinstance(message, dict) and \
            message.get("role") in ("user", "assistant") and message["role"] != e["type"]
    return replace(file, wrong, lambda e: {**e, "type": e["message"]["role"]})


def no_role(file, question, theirs, ours):
    """The texts are equal, but a message does not have a role."""
    bare = any(isinstance(e.get("message"), dict) and "role" not in e["message"] for e in file.entries())
    return bare and [t.split()[1] for t in theirs] == [t.split()[1] for t in ours] if isinstance(theirs, list) else False


def beside_each_other(file, question, theirs, ours):
    """The peer sends all queued prompts that grove sends, and more; some of them have the same parent."""
    parents = [e.get("parentUuid") for e in file.entries() if e.get("type") == "attachment"]
    return isinstance(theirs, list) and set(ours) <= set(theirs) and len(parents) > len(set(parents))


def not_ended(file):
    return replace(file, lambda e: e.get("type") == "ended-by-model", lambda e: {"type": "mode", "mode": "normal"})


def queued_twice(file, question, theirs, ours):
    names = [e.get("uuid") for e in file.entries() if e.get("type") == "attachment"]
    return len(names) > len(set(names))


def above_a_bare_attachment(file, question, theirs, ours):
    return any(e.get("uuid") == ours and e.get("parentUuid") == theirs and e.get("type") == "attachment" and "attachment" not in e
               for e in file.entries())


def titles_are_texts(file):
    def wrong(e):
        return e.get("type") in ("custom-title", "ai-title") and not isinstance(e.get("customTitle", e.get("aiTitle", "")), str)
    return replace(file, wrong, lambda e: {"type": "mode", "mode": "normal"})


def ends_above_another(file, question, theirs, ours):
    """The last record has a child that comes before it in the file."""
    chain = [e for e in file.entries() if e.get("type") in ("user", "assistant", "attachment", "system") and not e.get("isSidechain")]
    return bool(chain) and any(e.get("parentUuid") == chain[-1].get("uuid") for e in chain[:-1])


def passed_over(file, question, theirs, ours):
    """The program finds no conversation because it does not recognize some records."""
    def odd(e):
        message = e.get("message")
        return not is_time(e.get("timestamp")) or isinstance(message, dict) and "content" not in message or "compactMetadata" in e
    return "No conversation found" in str(theirs) and any(odd(e) for e in file.entries() if "uuid" in e)


def is_time(text):
    try:
        datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (ValueError, AttributeError):
        return False
    return True


def in_far_parts(file, question, theirs, ours):
    """A record of a reply comes after records that are not its own, nor results, nor attachments."""
    last, between, at = {}, 0, None
    for e in file.entries():
        name = (e.get("message") or {}).get("id") if e.get("type") == "assistant" else None
        if name in last and last[name] != between:
            return True
        if e.get("type") == "assistant" and name != at or e.get("type") in ("user", "system") and not calls_and_results(e, "tool_result", "tool_use_id"):
            between += 1
        if e.get("type") == "assistant":
            last[name] = between
            at = name
    return False


def is_silent(record):
    """Returns whether nothing of this record is sent: thoughts, blanks, a note of the program."""
    content = (record.get("message") or {}).get("content")
    if record.get("type") == "system":
        return True
    return record.get("type") == "assistant" and all(
        "thinking" in b.get("type", "") or b.get("type") == "text" and not b.get("text", "").strip()
        for b in content if isinstance(b, dict)) if isinstance(content, list) else False


def below_what_is_sent(file, question, theirs, ours):
    """The last records are not sent, and the next record is added above them."""
    by_id = {e["uuid"]: e for e in file.entries() if "uuid" in e}
    at = by_id.get(ours)
    while at is not None and at["uuid"] != theirs and is_silent(at):
        at = by_id.get(at.get("parentUuid"))
    return at is None and theirs is None or at is not None and at["uuid"] == theirs


CONTEXT = frozenset(["context", "llm"])

PI = [
    Known("pi", "a file begins with a byte order mark", mend=no_bom),
    Known("pi", "parents in a circle", mend=no_circles),
    Known("pi", "two entries with one id", frozenset(["tree"]), mend=last_of_each_id),
    Known("pi", "two entries with one id", CONTEXT | {"leaf"}, mend=only_the_last_of_each_id),
    Known("pi", "two entries with one id", frozenset(["tree"]), excuses=hides_a_label),
    Known("pi", "a `message` entry whose message is null or absent", CONTEXT, mend=no_empty_messages),
    Known("pi", "a `context_edit` without a `replacement`", CONTEXT, mend=no_open_edits),
    Known("pi", "a name that is not a text", mend=names_are_texts),
    Known("pi", "a summary or a bash output that is an object or an array, as text for the model", frozenset(["llm"]),
          mend=summaries_are_texts),
    Known("pi", "the last line is a number, a text, an array, or an object with neither `id` nor `parentId`",
          frozenset(["leaf", "context", "llm"]), mend=no_stray_end),
    Known("pi", "a message whose content is null or contains something that is not a block, an entry without its message, a name that is not a string",
          frozenset(["list", "parentSession"]), mend=can_be_listed),
    Known("pi", "a message time outside the range of a date", frozenset(["list"]), excuses=invalid_time),
    Known("pi", "a label that is not a text", frozenset(["tree"]), mend=labels_are_texts),
    Known("pi", "an entry without an id, or with one that is not a string, and parents that are not strings",
          excuses=strange_ids),
]

SHORT_SUMMARY = Known("omp", "a session without a title whose compaction has a short summary", frozenset(["name"]),
                      mend=short_summary_is_title)
OMP = [
    Known("omp", "parents in a circle", mend=no_circles),
    Known("omp", "two entries with one id", frozenset(["tree"]), mend=last_of_each_id),
    Known("omp", "two entries with one id", CONTEXT | {"leaf", "name"}, mend=only_the_last_of_each_id),
    Known("omp", "a line that is `null`", mend=no_nulls),
    Known("omp", "a value that is not an object; as the last line, also an object with neither `id` nor `parentId`", mend=objects_alone),
    SHORT_SUMMARY,
    Known("omp", "an entry without an id, or with one that is not a string, and parents that are not strings", frozenset(["tree"]),
          excuses=ids_are_values),
    Known("omp", "a reply without `usage`, or a message entry without its message", mend=no_empty_messages),
    Known("omp", "an empty title slot", frozenset(["name"]), mend=slot_is_right),
]

NO_SESSION = "a file without a message of the user or the assistant: snapshots, a title, a summary, a last prompt, side chains alone"
PASSED_OVER = ("nothing but records that the program passes over: a prompt without content or with a time that no clock shows "
               "(`10:00:90`), or what a boundary keeps")
ROLES = "a record whose `type` and role contradict each other, or that has no role"
CIRCLE = "a cycle of three or more, or one that runs through a repeated uuid"
SIDE_PROMPT = Known("sdk", "the first prompt is one of a side chain", frozenset(["list"]), mend=no_side_prompts)
SDK = [
    Known("sdk", "a byte order mark", mend=no_bom),
    Known("sdk", "lines with blanks, escapes or repeated members that the program does not write", frozenset(["list"]),
          mend=plain_spelling),
    Known("sdk", "messages, but no prompt among them", frozenset(["list"]), excuses=nothing_to_show),
    Known("sdk", NO_SESSION, frozenset(["list"]), excuses=no_session),
    Known("sdk", "a boundary that keeps a segment of which an end is missing", frozenset(["messages", "contents"]), mend=whole_segments),
    SIDE_PROMPT,
    Known("sdk", "a `user` or `assistant` record without a message", frozenset(["contents", "messages"]), excuses=but_for_nothing),
    Known("sdk", "a queued prompt that was written twice under one uuid, in other words", frozenset(["contents"]), excuses=queued_twice),
    Known("sdk", CIRCLE, frozenset(["contents", "messages"]), excuses=queued_in_a_circle),
]

AGENT = SDK + [Known("sdk", "a system or progress record in a sub-agent's file", mend=no_notes)]

CLI = [
    Known("cli", "resuming a session", frozenset(["parent"]), excuses=below_an_open_call),
    Known("cli", "records of a reply with other replies between them", excuses=in_far_parts),
    Known("cli", NO_SESSION, excuses=nothing_to_resume),
    Known("cli", CIRCLE, excuses=in_a_long_circle),
    Known("cli", ROLES, mend=types_like_roles),
    Known("cli", ROLES, frozenset(["sent"]), excuses=no_role),
    Known("cli", "several queued prompts, each below the last message and none below another", frozenset(["queued"]),
          excuses=beside_each_other),
    Known("cli", "a conversation that the model ended (`ended-by-model`)", mend=not_ended),
    Known("cli", "an attachment record that lacks its attachment, at the end", frozenset(["parent"]), excuses=above_a_bare_attachment),
    Known("cli", "a title that is not a text", mend=titles_are_texts),
    Known("cli", "a record whose parent comes after it, at the end of the file", excuses=ends_above_another),
    Known("cli", PASSED_OVER, excuses=passed_over),
    Known("cli", "the conversation ends with a reply of nothing but thinking or blanks", frozenset(["parent"]),
          excuses=below_what_is_sent),
]

# Differences in writing, which the comparison itself detects.
SILENT_FORK = Known("pi", "a branched session in which nobody has said anything")
NUMBERS = Known("pi", "a number that a double cannot hold (2^53 + 1, 1e400, thirty digits)")
SYNTHETIC = Known("ccusage", "replies of the model `<synthetic>`")
NO_REQUEST = Known("ccusage", "the lines of a reply without a `requestId`")
BOM_OF_BILL = Known("ccusage", "a line after a byte order mark")
HALF_PAIR = Known("ccusage", "a line with half of a surrogate pair")
COMPOSED = Known("sdk", "a directory whose name is not in Unicode's composed form")
FORK_GAP = Known("sdk", "a fork of a record whose parent is missing", mend=known_parents)
FORK_LEAF = Known("sdk", "a fork of a session that does not end at its last record: its leaf was moved, or a `last-prompt` names another branch")
MOVED_LEAF = Known("pi", "moving the leaf")

ALL = PI + OMP + AGENT + CLI + [SILENT_FORK, NUMBERS, MOVED_LEAF, FORK_LEAF, FORK_GAP, COMPOSED, SYNTHETIC, NO_REQUEST, BOM_OF_BILL, HALF_PAIR]
