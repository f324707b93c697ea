"""Random transcripts of Claude Code."""
import copy
import uuid

import driver
import files

USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 5}
MODELS = ["claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "claude-haiku-4-5-20251001"]


class Transcript(files.File):
    """A file, and the records in it by uuid while it is being made."""

    def __init__(self, rng, session, cwd):
        super().__init__([])
        self.rng, self.session, self.cwd = rng, session, cwd
        self.clock = files.Clock(rng)
        self.leaf = None
        self.records = []
        self.number = 0

    def copy(self):
        # No random numbers are drawn any more once it is made.
        rng, self.rng = self.rng, None
        out = copy.deepcopy(self)
        self.rng = rng
        return out

    def entries(self):
        return [line for line in self.lines if isinstance(line, dict)]

    def uuid(self):
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def word(self):
        """A text that is nowhere else in the file."""
        self.number += 1
        return f"w{self.number}w " + files.words(self.rng, 5)

    def add(self, kind, parent="leaf", side=False, move=True, **own):
        record = {"parentUuid": self.leaf if parent == "leaf" else parent, "isSidechain": side, "type": kind}
        record.update(own)
        record.setdefault("uuid", self.uuid())
        record.update(timestamp=files.iso(self.clock.next()), userType="external", entrypoint="cli", cwd=self.cwd,
                      sessionId=self.session, version="2.1.325", gitBranch="main")
        self.lines.append(record)
        self.records.append(record)
        if move:
            self.leaf = record["uuid"]
        return record

    def meta(self, kind, **own):
        self.lines.append({"type": kind, **own, "sessionId": self.session})

    # What happens in a session.

    def prompt(self, **own):
        content = self.word() if self.rng.random() < 0.7 else [{"type": "text", "text": self.word()}]
        return self.add("user", message={"role": "user", "content": content}, **own)

    def blocks(self, *contents, **own):
        """A reply: one record a block."""
        name = "msg_" + self.uuid()[:8]
        request = "req_" + self.uuid()[:8]
        model = self.rng.choice(MODELS)
        stop = "tool_use" if contents[-1]["type"] == "tool_use" else "end_turn"
        return [self.add("assistant", message={"id": name, "type": "message", "role": "assistant", "model": model, "content": [c],
                                               "stop_reason": stop, "stop_sequence": None, "usage": USAGE},
                         requestId=request, **own) for c in contents]

    def text(self):
        return {"type": "text", "text": self.word()}

    def call(self):
        return {"type": "tool_use", "id": "toolu_" + self.uuid()[:8], "name": "Bash", "input": {"command": self.word()}}

    def reply(self):
        contents = [self.text() for _ in range(self.rng.randrange(1, 3))]
        if self.rng.random() < 0.3:
            contents.insert(0, {"type": "thinking", "thinking": self.word(), "signature": "c2ln"})
        self.blocks(*contents)

    def tools(self):
        rng = self.rng
        calls = self.blocks(*([self.text()] if rng.random() < 0.5 else []),
                            *[self.call() for _ in range(rng.choice([1, 1, 2, 2, 3]))])
        calls = [c for c in calls if c["message"]["content"][0]["type"] == "tool_use"]
        if rng.random() < 0.2:
            rng.shuffle(calls)
        for call in calls:
            if rng.random() < 0.93:
                self.result(call)
        if rng.random() < 0.8:
            self.reply()

    def result(self, call):
        block = call["message"]["content"][0]
        content = self.word() if self.rng.random() < 0.6 else [self.text()]
        return self.add("user", parent=call["uuid"], message={"role": "user", "content": [
            {"tool_use_id": block["id"], "type": "tool_result", "content": content}]},
            toolUseResult={"stdout": "x"}, sourceToolAssistantUUID=call["uuid"])

    def attachment(self):
        self.add("attachment", attachment={"type": "date", "date": "2024-03-01"})

    def queued(self):
        self.meta("queue-operation", operation="enqueue", timestamp=files.iso(self.clock.ms), content="x")
        attachment = {"type": "queued_command", "prompt": self.word() if self.rng.random() < 0.8 else [self.text()],
                      "commandMode": "prompt"}
        if self.rng.random() < 0.4:
            attachment["source_uuid"] = self.uuid()
        if self.rng.random() < 0.15:
            attachment["isMeta"] = True
        self.add("attachment", attachment=attachment)

    def system(self):
        self.add("system", subtype="informational", content=self.word(), level="info", isMeta=False)

    def meta_user(self):
        self.prompt(isMeta=True)

    def team(self):
        self.prompt(teamName="t", agentName="n")

    def side(self):
        self.prompt(side=True, move=self.rng.random() < 0.2)

    def rewind(self):
        if self.records:
            self.leaf = self.rng.choice(self.records)["uuid"]

    def new_root(self):
        self.leaf = None

    def progress(self):
        self.add("progress", data={"type": "hook"}, move=self.rng.random() < 0.5)

    def way(self):
        """Records from the root to the leaf, by stored parents."""
        by_id = {r["uuid"]: r for r in self.records}
        at, out = by_id.get(self.leaf), []
        while at is not None and at not in out:
            out.append(at)
            at = by_id.get(at["parentUuid"])
        return [r for r in out[::-1] if r["type"] in ("user", "assistant", "attachment")]

    def compaction(self):
        rng, way = self.rng, self.way()
        metadata = {"trigger": rng.choice(["manual", "auto"]), "preTokens": 1000}
        boundary, summary = self.uuid(), self.uuid()
        if way and rng.random() < 0.6:
            start = rng.randrange(len(way))
            kept = way[start:rng.randrange(start + 1, len(way) + 1)] if rng.random() < 0.3 else way[start:]
            names = [r["uuid"] for r in kept]
            anchor = summary if rng.random() < 0.75 else boundary
            if rng.random() < 0.1:
                names[rng.randrange(len(names))] = self.uuid()          # one that is not there
            if rng.random() < 0.6:
                metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": names, "allUuids": names}
            if rng.random() < 0.6:
                metadata["preservedSegment"] = {"headUuid": names[0], "anchorUuid": anchor, "tailUuid": names[-1]}
        self.add("system", parent=None, logicalParentUuid=self.leaf, subtype="compact_boundary", content="Conversation compacted",
                 level="info", isMeta=False, compactMetadata=metadata, uuid=boundary)
        self.add("user", message={"role": "user", "content": self.word()}, isCompactSummary=True,
                 isVisibleInTranscriptOnly=True, uuid=summary)

    def last_prompt(self):
        rng = self.rng
        own = {"lastPrompt": "x"}
        if self.records:
            own["leafUuid"] = rng.choice([self.leaf, rng.choice(self.records)["uuid"], self.uuid()])
        if rng.random() < 0.15:
            own["explicit"] = True
        self.meta("last-prompt", **own)

    def title(self):
        kind = self.rng.choice(["custom-title", "ai-title", "tag", "mode", "summary", "pr-link"])
        own = {"custom-title": {"customTitle": self.word()}, "ai-title": {"aiTitle": self.word()}, "tag": {"tag": "t"},
               "mode": {"mode": "normal"}, "summary": {"summary": self.word(), "leafUuid": self.leaf},
               "pr-link": {"prNumber": 1, "prUrl": "u", "prRepository": "r"}}[kind]
        self.meta(kind, **own)

    def again(self):
        """A line that was written twice, perhaps changed."""
        if not self.records:
            return
        record = copy.deepcopy(self.rng.choice(self.records))
        if self.rng.random() < 0.4 and record["type"] == "user" and isinstance(record["message"]["content"], str):
            record["message"]["content"] = self.word()
        self.lines.append(record)
        self.odd.add("repeated uuid")

    def lost_parent(self):
        self.leaf = self.uuid()
        self.odd.add("missing parent")

    def own_parent(self):
        name = self.uuid()
        self.add("user", parent=name, uuid=name, message={"role": "user", "content": self.word()})
        self.odd.add("circle")


PLAIN = [("prompt", 20), ("reply", 16), ("tools", 12), ("attachment", 5), ("system", 3), ("title", 4), ("rewind", 5),
         ("compaction", 4), ("last_prompt", 3), ("meta_user", 2), ("queued", 3)]
ODD = PLAIN + [("side", 2), ("team", 1), ("progress", 2), ("new_root", 1), ("again", 2), ("lost_parent", 1), ("own_parent", 0.3)]


def transcript(rng, session, cwd, odd, steps=(1, 3, 6, 10, 16, 30), without=()):
    out = Transcript(rng, session, cwd)
    table = [row for row in (ODD if odd else PLAIN) if row[0] not in without]
    names, weights = zip(*table)
    if rng.random() < 0.9:
        out.prompt()
    for _ in range(rng.choice(steps)):
        getattr(out, rng.choices(names, weights)[0])()
    if not out.lines:
        out.prompt()
    if odd:
        frame(out, rng)
    return out


def frame(file, rng):
    if rng.random() < 0.06:
        file.end = b"\r\n"
    if rng.random() < 0.04:
        file.bom = True
        file.odd.add("bom")
    if rng.random() < 0.08:
        last = driver.text(file.entries()[-1]).encode()
        file.torn = last[:rng.randrange(1, len(last))]
        file.odd.add("torn")
    else:
        file.open = rng.random() < 0.06
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        file.lines.insert(rng.randrange(1, len(file.lines) + 1), rng.choice([b"", b"   ", b"not json", b'{"type":"user"', b"null", b"5", b"[1]"]))
